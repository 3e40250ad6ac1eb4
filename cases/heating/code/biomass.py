"""Derives biomass.csv from the R package modeldata's file, which R or Python's rdata can read.

pip install rdata        # for this script only
python cases/heating/code/biomass.py modeldata/data/biomass.RData
"""

import csv
import sys
from pathlib import Path

TABLE = Path(__file__).with_name("biomass.csv")
COLUMNS = ("carbon", "hydrogen", "oxygen", "nitrogen", "sulfur", "HHV")


def main() -> None:
    """Write biomass.csv beside this file: names without outer blanks, numbers as they are."""
    import rdata

    biomass = rdata.read_rda(sys.argv[1])["biomass"]
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(("sample", *(column.lower() for column in COLUMNS)))
        for _, row in biomass.iterrows():
            rows.writerow((row["sample"].strip(), *(repr(float(row[c])) for c in COLUMNS)))
    print(f"{TABLE}: {len(biomass)} samples")


if __name__ == "__main__":
    main()

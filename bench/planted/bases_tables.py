"""Tables: heating values of compositions (a regression), and cells that a threshold sorts."""

from pathlib import Path

import numpy as np

from bench.planted.base import NUM_REAL, NUM_SIM, Base
from bench.planted.bases_pictures import code_of, shared_out
from bench.planted.rows import Rows, named

MEASURED = ("radius", "texture", "perimeter", "area", "smoothness")
SHAPED = ("compactness", "concavity", "points", "symmetry", "fractal")
MISSING_SHARE = 0.04


def heating(rng: np.random.Generator) -> tuple[Rows, Rows, Rows]:
    """Draw compositions and apply the formula, with an error of measurement."""
    simulated = code_of("heating", "heating_data").simulate("h", 1400, rng)
    labels = np.round(np.array(simulated.labels) + rng.normal(0, 0.5, 1400), 3)
    groups = [f"lot-{number:03d}" for number in rng.permutation(1400) // 5]
    return shared_out(named(simulated.samples, labels, groups, "h"), rng)


def cells(rng: np.random.Generator) -> tuple[Rows, Rows, Rows]:
    """Deal the cells that scikit-learn ships (UCI, Wisconsin 1995) in trays of four."""
    package = code_of("digits", "digits_data").package
    file = Path(package("sklearn")) / "datasets/data/breast_cancer.csv"
    table = np.loadtxt(file, delimiter=",", skiprows=1)
    order = rng.permutation(len(table))
    samples = table[order, :10].astype(np.float32)
    samples[rng.random(samples.shape) < MISSING_SHARE] = np.nan
    labels = table[order, -1].astype(np.int64)
    groups = [f"tray-{row // 4:03d}" for row in range(len(labels))]
    return shared_out(named(samples, labels, groups, "c"), rng, NUM_SIM - 20, NUM_REAL)


BASES = (
    Base(
        name="heating",
        modality="table",
        make=heating,
        chain="heating_chain",
        steps=("decode", "select", "standardise"),
        raw="decode",
        scaled="standardise",
        axes="C",
        top=100.0,
        net="dense_net",
        shape={"columns": 5, "outputs": 1, "offset": 18.0, "spread": 4.0},
        contract={"dtype": "float32", "shape": [5], "range": [0, 100]},
        columns=("carbon", "hydrogen", "oxygen", "nitrogen", "sulfur"),
        epochs=25,
        rate=1e-2,
    ),
    Base(
        name="cells",
        modality="table",
        make=cells,
        chain="cells_chain",
        steps=("decode", "fill", "standardise"),
        raw="decode",
        scaled="standardise",
        axes="C",
        top=2500.0,
        net="dense_net",
        shape={"columns": 10, "outputs": 2, "offset": 0.0, "spread": 1.0},
        contract={"dtype": "float32", "shape": [10], "finite_share": 0.0},
        classes=2,
        answers=True,
        columns=MEASURED + SHAPED,
        epochs=25,
        rate=5e-3,
    ),
)

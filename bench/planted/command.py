"""`python -m bench planted`: make cases with known faults, have them examined, count.

python -m bench planted                        all that is not examined yet, then the tables
python -m bench planted --only jpeg,blur --dataset signs --limit 5 --verbose
python -m bench planted calibrate              fit the confidence to the part for it
python -m bench planted summary                the tables of what was examined
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
RESULTS = HERE.parent / "results"
TIMEOUT_S = 1200.0
QUICK = 12  # cases of a quick run


def main(words: Sequence[str]) -> int:
    """Run, or summarise; 3 when a case broke."""
    asked = _words(words)
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"  # before numpy is imported
    kept = "dry.jsonl" if asked.dry else "records.jsonl"
    records_file = asked.records or asked.work / kept
    if asked.what == "run":
        broken = _run(asked, records_file)
        _summarise(asked, records_file)
        return 3 if broken else 0
    if asked.what == "calibrate":
        from bench.planted import calibrate

        return calibrate.run(_read(records_file))
    _summarise(asked, records_file)
    return 0


def _words(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench planted",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", nargs="?", default="run", choices=("run", "calibrate", "summary"))
    parser.add_argument("--only", default="", help="kinds, separated by commas")
    parser.add_argument("--group", default="", help="fault, null, double, real, blind")
    parser.add_argument("--component", default="", help="that was planted")
    parser.add_argument("--dataset", default="", help="data sets, separated by commas")
    parser.add_argument("--part", default="", help="calibrate, report or blind")
    parser.add_argument("--seeds", default="", help="seeds, separated by commas")
    parser.add_argument("--limit", type=int, default=0, help="at most so many cases")
    parser.add_argument("--shard", default="1/1", help="2/4: the second of four")
    parser.add_argument("--jobs", type=int, default=1, help="cases at once")
    parser.add_argument("--quick", action="store_true", help="a small sample of all groups")
    parser.add_argument("--again", action="store_true", help="examine also what was examined")
    parser.add_argument("--peers", action="store_true", help="ask the peers too, of a part of them")
    parser.add_argument("--keep", action="store_true", help="keep the cases' folders")
    parser.add_argument("--dry", action="store_true", help="make and measure, examine nothing")
    parser.add_argument("--verbose", action="store_true", help="tell each case")
    parser.add_argument("--write", action="store_true", help="write bench/results/planted.*")
    parser.add_argument("--records", type=Path, help="the file of records, one JSON a line")
    default = SOURCE / ".assay" / "planted"
    parser.add_argument("--work", type=Path, default=default, help="networks and records")
    return parser.parse_args(words)


def _chosen(asked: argparse.Namespace, done: set[str]) -> list[Any]:
    from bench.planted import sources

    specs = sources.every()
    only = set(filter(None, asked.only.split(",")))
    sets = set(filter(None, asked.dataset.split(",")))
    known = sources.kinds()
    unknown = sorted(only - set(known))
    if unknown:
        raise SystemExit(f"no kind {', '.join(unknown)}. One of: {', '.join(sorted(known))}.")
    at, num = (int(word) for word in asked.shard.split("/"))
    fits: list[Callable[[Any], bool]] = [
        lambda s: not only or bool(only & set(s.kinds)),
        lambda s: not sets or s.base in sets,
        lambda s: not asked.group or s.group in asked.group.split(","),
        lambda s: not asked.seeds or str(s.seed) in asked.seeds.split(","),
        lambda s: not asked.part or s.part == asked.part,
        lambda s: not asked.component or known[s.kinds[0]].component == asked.component,
    ]
    found = [spec for spec in specs if all(fit(spec) for fit in fits)]
    if asked.quick:
        found = sources.sample(found, QUICK)
    found = [spec for spec in found if asked.again or spec.id not in done][at - 1 :: num]
    return found[: asked.limit] if asked.limit else found


def _run(asked: argparse.Namespace, records_file: Path) -> int:
    from bench.planted import forks, one, sources
    from bench.planted.examine import open_workspace, warm_up

    asked.work.mkdir(parents=True, exist_ok=True)
    done = {r["id"] for r in _read(records_file) if "broken" not in r}
    specs = _chosen(asked, done)
    print(f"{len(specs)} cases to examine, {len(done)} on record", file=sys.stderr, flush=True)
    if not specs:
        return 0
    broken = 0
    with tempfile.TemporaryDirectory(prefix="workspace-", dir=asked.work) as name:
        root = asked.work / "kept" if asked.keep else Path(name)
        open_workspace(root)
        warm_up(root, ("evidently.presets",) if asked.peers else ())
        sources.prepare(specs, asked.work)
        run = partial(one.run, root=root, work=asked.work, keep=asked.keep, dry=asked.dry)
        asks = [(s.id, partial(run, s, peers=asked.peers and sources.asks_peers(s))) for s in specs]
        answers = forks.in_children(
            asks, asked.work / "answers", jobs=asked.jobs, timeout_s=TIMEOUT_S
        )
        specs_by = {spec.id: spec for spec in specs}
        with records_file.open("a", encoding="utf-8") as file:
            for number, (case, record) in enumerate(answers, 1):
                if "broken" in record:
                    broken += 1
                    spec = specs_by[case]
                    record |= {"id": case, "group": spec.group, "part": spec.part}
                    record["dataset"] = spec.base
                file.write(json.dumps(record) + "\n")
                file.flush()
                if asked.verbose or "broken" in record:
                    print(told(record), flush=True)
                elif number % 25 == 0:
                    print(f"{number} of {len(asks)}", file=sys.stderr, flush=True)
    return broken


def told(record: dict[str, Any]) -> str:
    """Return a case in some lines: planted against said, and what took the time."""
    if "broken" in record:
        return f"{record['id']}: BROKEN {record['broken'][-400:]}"
    low, value, high = record["loss"][1], record["loss"][0], record["loss"][2]
    head = f"{record['id']}: loss {value:.3f} ({low:.3f} to {high:.3f})"
    if "answer" not in record:
        return f"{head}: {'counts' if record['counted'] else 'does not count'}"
    from bench.planted import score

    is_right = score.both_right(record) if record["group"] == "double" else score.right(record)
    said = "; ".join(
        f"{part}/{kind}" + ("" if sure is None else f" {sure:.2f}")
        for part, kind, sure in score.ranked(record)[:3]
    )
    planted = ", ".join(f"{p['component']}/{p['kind']} at {p['step']}" for p in record["planted"])
    top = sorted(record["cpu_s"].items(), key=lambda pair: -pair[1])[:4]
    spent = ", ".join(f"{name} {cpu_s:.2f}" for name, cpu_s in top)
    found = "; ".join("/".join(str(word) for word in f) for f in record["answer"]["findings"][:4])
    return (
        f"{'ok  ' if is_right else 'MISS'} {head}\n     planted {planted}\n     ranked  {said}"
        f"\n     found   {found or 'nothing'}; first step {record['answer']['first_step']}"
        f"\n     CPU {score.cost(record):.2f} s: {spent}"
    )


def _read(path: Path) -> list[dict[str, Any]]:
    """Read records; the last of a case counts, and a line that was cut off does not."""
    found: dict[str, dict[str, Any]] = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                continue
            found[record["id"]] = record
    return list(found.values())


def _summarise(asked: argparse.Namespace, records_file: Path) -> None:
    from bench.planted import peers_labels, table
    from bench.rig import machine

    records = _read(records_file)
    if not records:
        print("No record yet. Run: python -m bench planted")
        return
    from bench.planted import sources

    sources.kinds()  # registers them
    for record in records:
        record.setdefault("peers", {})
    said = peers_labels.ask(asked.work) if any(r["peers"] for r in records) else {}
    for record in records:
        if record["id"] in said:
            record["peers"]["cleanlab"] = said[record["id"]]
    found = table.content(records, machine.describe())
    print(table.markdown(found))
    if asked.write:
        table.write(found, RESULTS)

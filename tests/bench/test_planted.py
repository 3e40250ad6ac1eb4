"""Planted cases tell nothing of what was planted, and records become the right figures."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

from bench.planted import command, draft, loss, peers, score, sources, specs, summary, table
from bench.planted.base import Made
from bench.planted.kind import KINDS
from bench.rig import figures

ROOT = Path(__file__).resolve().parents[2]


def record(group="fault", planted=("preprocessing", "jpeg"), said=(("none", "none", 0.5),), **more):
    return {
        "id": f"{planted}{said}{more}",
        "group": group,
        "dataset": "signs",
        "part": "report",
        "modality": "picture",
        "planted": [{"component": planted[0], "kind": planted[1], "step": "decode"}],
        "loss": [0.2, 0.1, 0.3],
        "counted": True,
        "cpu_s": {"parity": 1.0},
        "peak_mb": 1,
        "answer": {
            "ranked": [list(one) for one in said],
            "first_step": "decode",
            "accused": said[0][0] != "none",
        },
        **more,
    }


def test_there_are_as_many_cases_as_were_promised():
    found = sources.every()
    count = {group: sum(s.group == group for s in found) for group in ("fault", "null", "double")}
    assert len({spec.id for spec in found}) == len(found)
    assert len(specs.kinds_of()) >= 32
    assert len(specs.BASES) >= 5
    assert len({base.modality for base in specs.BASES.values()}) == 3
    assert count["fault"] >= 480
    assert count["null"] >= 400
    assert len(specs.DOUBLES) >= 12


def test_what_is_fitted_to_and_what_is_reported_share_neither_seed_nor_case():
    parts = {}
    for spec in sources.every():
        parts.setdefault(spec.part, set()).add((spec.base, spec.seed))
    assert not parts["calibrate"] & parts["report"]
    assert {base for base, _ in parts["report"]} > {base for base, _ in parts["calibrate"]}


def test_a_quick_run_samples_every_group_and_component():
    chosen = sources.sample(sources.every(), 36)
    assert {spec.group for spec in chosen} >= {"fault", "null", "double"}
    components = {KINDS[spec.kinds[0]].component for spec in chosen}
    assert components == {"preprocessing", "model", "postprocessing", "data", "none"}


def healthy(tmp_path, name="digits"):
    base = specs.BASES[name]
    rng = np.random.default_rng(0)
    train, sim, real = base.make(rng)
    weights = tmp_path / "weights"
    weights.mkdir()
    (weights / "weights.safetensors").write_bytes(b"")
    return draft.drafted(Made(base, 0, train, sim, real, weights))


@pytest.mark.parametrize("key", ["turned", "gamma", "label_permutation", "dropout_on"])
def test_a_case_tells_nothing_of_what_was_planted(tmp_path, key):
    made = healthy(tmp_path)
    KINDS[key].plant(made, 2, np.random.default_rng(1))
    name = draft.write(made, tmp_path, f"{key}/digits/2/0")
    folder = tmp_path / "cases" / name
    texts = [p.read_text() for p in folder.rglob("*") if p.suffix in {".py", ".yaml", ".csv"}]
    texts += [p.relative_to(tmp_path).as_posix() for p in folder.rglob("*")]
    assert not [text for text in texts if key in text or "planted" in text or "severity" in text]
    case = yaml.safe_load((folder / "case.yaml").read_text())
    assert case["candidate"]["like"] == "reference"
    assert len(case["candidate"]) > 1


def test_the_three_sets_share_no_group(tmp_path):
    made = healthy(tmp_path).made
    groups = [set(rows.groups) for rows in (made.train, made.sim, made.real)]
    assert not groups[0] & groups[1] | groups[0] & groups[2] | groups[1] & groups[2]


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    [(0, 100, 0.0, 0.0370), (98, 100, 0.9300, 0.9945), (5, 10, 0.2366, 0.7634)],
)
def test_a_share_has_wilsons_interval(hits, n, low, high):
    assert score.Share(hits, n).bounds == pytest.approx((low, high), abs=1e-4)


@pytest.mark.parametrize(
    ("said", "component", "kind"),
    [
        (("preprocessing", "jpeg", 0.9), True, True),
        (("preprocessing", "blur", 0.9), True, False),
        (("preprocessing", "jpeg+scale", 0.9), True, False),
        (("data", "jpeg", 0.9), False, False),
        (("none", "none", 0.9), False, False),
    ],
)
def test_an_answer_is_right_only_with_its_component_and_all_parts_of_its_kind(
    said, component, kind
):
    one = record(said=(said,))
    assert score.component_right(one) is component
    assert score.kind_right(one) is kind


def test_a_harmless_difference_is_accused_when_anything_stands_first():
    blamed = record("null", ("none", "nothing"), (("data", "unknown", 0.6),))
    quiet = record("null", ("none", "nothing"), (("none", "none", 0.9), ("data", "unknown", 0.1)))
    assert (score.accused(blamed), score.accused(quiet)) == (True, False)
    assert (score.right(blamed), score.right(quiet)) == (False, True)


def test_confidence_that_is_kept_has_no_error_and_that_which_is_not_has():
    right = [record(said=(("preprocessing", "jpeg", 1.0),), n=i) for i in range(20)]
    wrong = [record(said=(("preprocessing", "blur", 1.0),), n=i) for i in range(20)]
    assert score.calibration(right)[0] == pytest.approx(0.0)
    assert score.calibration(wrong)[0] == pytest.approx(1.0)
    assert score.calibration(right)[1].hits == 20


def test_what_does_not_count_is_not_scored():
    idle = record(counted=False)
    assert score.of([idle], "fault") == []
    assert summary.counts([idle])["fault"]["counted"] == 0


def test_the_tables_are_written_in_the_form_of_all_benchmarks(tmp_path):
    sources.kinds()
    said = (("preprocessing", "jpeg", 0.9),)
    records = [record(said=said), record("null", ("none", "nothing")), {"id": "x", "broken": "no"}]
    records[-1] |= {"group": "fault", "part": "report", "dataset": "signs"}
    table.write(table.content(records, {"cores": 2}), tmp_path)
    found = {one.figure: one for one in figures.read(tmp_path / "planted.json")}
    assert found["component right"].value == 1.0
    assert "| jpeg |" in (tmp_path / "planted.md").read_text()
    assert len(json.loads((tmp_path / "planted.json").read_text())["broken"]) == 1


def test_a_record_that_was_cut_off_is_passed_over_and_the_last_of_a_case_counts(tmp_path):
    path = tmp_path / "records.jsonl"
    path.write_text('{"id": "a", "n": 1}\n{"id": "a", "n": 2}\n{"id": "b", "n')
    assert command._read(path) == [{"id": "a", "n": 2}]


def test_an_unknown_kind_is_answered_with_those_that_exist(tmp_path):
    with pytest.raises(SystemExit, match=r"One of: .*jpeg"):
        command.main(["--only", "nope", "--work", str(tmp_path)])


def test_a_loss_of_nothing_is_nothing_and_a_large_one_excludes_it():
    groups = [f"g{row // 5}" for row in range(100)]
    none = loss._bounds(np.zeros(100), groups, np.zeros(1), ["none"])
    large = loss._bounds(np.r_[np.ones(50), np.zeros(50)], groups, np.zeros(1), ["none"])
    assert none == (0.0, 0.0, 0.0)
    assert large[1] > 0.2


def test_peers_see_a_plain_difference_and_not_the_absence_of_one():
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 80, 5))
    assert peers.mmd(first, second + 3) > peers.MMD_BAR
    assert peers.kolmogorov_smirnov(first, second + 3)
    assert peers.mmd(first, second) < 0.05
    pictures = rng.normal(size=(20, 3, 8, 8))
    assert peers._named(pictures, pictures[:, ::-1]) == "channel_order"
    assert peers._named(pictures, 2 * pictures) == "scale"
    assert peers._named(pictures, np.rot90(pictures, 1, (2, 3))) == "rotate_90"


@pytest.mark.slow
def test_faults_are_planted_examined_and_counted(tmp_path):
    words = ["--only", "label_offset,not_loaded,column_order,nothing", "--dataset", "cells"]
    words += ["--group", "fault,null", "--limit", "5", "--work", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "bench", "planted", *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    records = command._read(tmp_path / "records.jsonl")
    assert len(records) == 5
    faults, nulls = score.of(records, "fault"), score.of(records, "null")
    assert faults
    assert score.share(faults, score.component_right).value >= 0.75
    assert not any(score.accused(one) for one in nulls)

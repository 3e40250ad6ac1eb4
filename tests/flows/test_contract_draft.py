"""A drafted contract holds on what it was drawn from, and says what differs."""

from pathlib import Path

import made_sources as made
import numpy as np
import pytest
import yaml

from flows.scaffold.contract_draft import differences, draft
from flows.scaffold.set_facts import SetFacts, set_facts
from stages.contract_terms import DataContract, terms
from stages.sample_table import sample_table
from stages.suites import examine


def folder(root: Path, samples: np.ndarray, labels: list, groups: list | None = None) -> Path:
    root.mkdir(parents=True)
    np.save(root / "samples.npy", samples)
    groups = groups or [""] * len(samples)
    rows = [[f"s{at}", at, "", labels[at], groups[at]] for at in range(len(samples))]
    made.table(root / "manifest.csv", ["id", "row", "path", "label", "group"], rows)
    return root


def facts_of(tmp_path: Path, **sets: tuple) -> dict[str, SetFacts]:
    return {name: set_facts(folder(tmp_path / name, *told), name) for name, told in sets.items()}


def breaches(text: str, root: Path, name: str, classes: int | None) -> list[str]:
    contract = DataContract.model_validate(yaml.safe_load(text))
    listed = terms(getattr(contract, name), classes)
    return [v.term.says for v in examine(sample_table(root), listed) if not v.passed]


def samples(kind: str) -> np.ndarray:
    rng = np.random.default_rng(0)
    if kind == "bytes":
        return rng.integers(0, 256, (60, 4, 4)).astype(np.uint8)
    if kind == "counts":
        return rng.integers(3, 17, (60, 4, 4)).astype(np.int32)
    array = rng.normal(0, {"small": 1e-9, "large": 1e12}.get(kind, 1.0), (60, 5))
    if kind == "holes":
        array[::7, 2] = np.nan
    if kind == "twins":
        array[:8] = array[8:16]
    return array


@pytest.mark.parametrize("kind", ["bytes", "counts", "small", "large", "holes", "twins"])
@pytest.mark.parametrize("groups", [None, [f"g{at // 6}" for at in range(60)]], ids=["no", "g"])
def test_it_holds_on_the_set_that_it_was_drawn_from(kind, groups, tmp_path):
    labels = [str(at % 3) for at in range(60)]
    facts = facts_of(
        tmp_path, sim=(samples(kind), labels, groups), real=(samples(kind)[:20], labels[:20])
    )
    assert breaches(draft(facts, "toy", 3), tmp_path / "sim", "sim", 3) == []


def test_its_bounds_are_near_what_was_seen(tmp_path):
    labels = [str(at % 2) for at in range(60)]
    facts = facts_of(tmp_path, sim=(samples("counts"), labels), real=(samples("counts"), labels))
    sim = yaml.safe_load(draft(facts, "toy", 2))["sim"]
    assert sim["samples"]["range"] == [2, 17]
    assert sim["samples"]["shape"] == [4, 4]
    assert sim["samples"]["dtype"] == "int32"
    assert sim["rows"] == {"min": 48}
    assert sim["labels"] == {"null_share": 0, "every_class": True}


def test_a_real_range_beyond_that_of_sim_is_told_and_stays_a_finding(tmp_path):
    labels = [str(at % 2) for at in range(60)]
    real = samples("counts") * 16
    facts = facts_of(tmp_path, sim=(samples("counts"), labels), real=(real, labels))
    text = draft(facts, "toy", 2)
    assert "# Differs from sim, range: sim 3 to 16; real 48 to 256; 60 of 60 real samples" in text
    assert breaches(text, tmp_path / "real", "real", 2) == [
        "each sample's least number lies in 2 to 17",
        "each sample's greatest number lies in 2 to 17",
    ]


def test_a_bound_that_would_leave_out_most_real_rows_is_their_own(tmp_path):
    labels = [str(at % 2) for at in range(60)]
    real = np.pad(samples("normal"), ((0, 0), (0, 2)))
    real[:, 0] = np.nan
    facts = facts_of(tmp_path, sim=(samples("normal"), labels), real=(real, [""] * 60))
    text = draft(facts, "toy", 2)
    terms_of_real = yaml.safe_load(text)["real"]
    assert terms_of_real["samples"]["shape"] == [None]
    assert terms_of_real["samples"]["finite_share"] == 0.85
    assert terms_of_real["labels"] == {"null_share": 1, "every_class": False}
    told = " ".join(differences(facts["sim"], facts["real"], 2))
    assert "shape: sim 5; real 7" in told
    assert "a real sample has a share of only 0.857" in told


def test_what_leaves_the_bounds_names_whose_they_are(tmp_path):
    labels = [f"{at % 2}" for at in range(60)]
    facts = facts_of(
        tmp_path, sim=(samples("normal"), labels), real=(samples("normal") * 9, labels)
    )
    told = " ".join(differences(facts["sim"], facts["real"], 2))
    assert "real samples leave the contract's bounds" in told


def test_a_quantity_has_no_classes(tmp_path):
    labels = [f"{at / 7:.3f}" for at in range(60)]
    facts = facts_of(tmp_path, sim=(samples("normal"), labels), real=(samples("normal"), labels))
    text = draft(facts, "toy", None)
    assert "every_class: false # the labels are quantities" in text
    assert breaches(text, tmp_path / "sim", "sim", None) == []
    assert "labels" not in " ".join(differences(facts["sim"], facts["real"], None))


def test_a_column_of_a_table_that_leaves_its_span_is_named(tmp_path):
    labels = [str(at % 2) for at in range(60)]
    real = samples("normal")
    real[:, 3] = real[:, 3] * 1.8 + 32
    facts = facts_of(
        tmp_path, sim=(samples("normal") * [1, 1, 1, 1, 1e3], labels), real=(real, labels)
    )
    told = differences(facts["sim"], facts["real"], 2, ["a", "b", "c", "heat", "e"])
    assert [line.split(":")[0] for line in told] == ["Differs from sim, heat"]
    assert "number 3: sim" in draft(facts, "toy", 2)


def test_a_sample_that_cannot_be_read_is_named(tmp_path):
    root = made.listed_files(tmp_path / "files")
    (root / "04.png").write_bytes((root / "04.png").read_bytes()[:40])
    rows = [[f"s{at}", "", f"{at:02d}.png", "0", "g"] for at in range(made.NUM_ROWS)]
    made.table(root / "manifest.csv", ["id", "row", "path", "label", "group"], rows)
    facts = set_facts(root, "sim")
    assert [name for name, _ in facts.unreadable] == ["s4"]
    assert facts.shapes == {(4, 5): 11}
    assert facts.unreadable_text().startswith("s4 (")

"""A planted fault is named, counted and left out; what may be the fault itself is only named."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from stages.contract import ContractParams, Inputs, Outputs, run
from stages.contract_terms import read_contract
from stages.stage import InputFault, to_json

TERMS = """
schema: 1
sim: &both
  rows: {min: 4}
  samples: {dtype: uint8, shape: [8, 8], range: [0, 16], duplicate_share: 0.0}
  groups: {min: 2}
real: *both
"""


def write_dataset(folder: Path, samples, rows=None, columns="id,row,label,group") -> Path:
    folder.mkdir()
    if rows is None:
        rows = [f"{folder.name}{i},{i},{i % 2},g{i % 3}" for i in range(len(samples))]
    (folder / "manifest.csv").write_text("\n".join([columns, *rows]) + "\n")
    if samples is not None:
        np.save(folder / "samples.npy", samples)
    return folder


def clean(seed: int = 0, rows: int = 12) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 17, (rows, 8, 8)).astype(np.uint8)


def examine(tmp_path: Path, real: Path, terms: str = TERMS, classes: int | None = 2) -> Outputs:
    sim = tmp_path / "sim"
    sim = sim if sim.exists() else write_dataset(sim, clean(1))
    contract = tmp_path / "toy.yaml"
    contract.write_text(terms)
    inputs = Inputs(sim=sim, real=real, contract=contract)
    return run(ContractParams(classes=classes), inputs, tmp_path)


def breaches(outputs: Outputs) -> dict[str, list[str]]:
    return {f"{c.dataset}: {c.says}": c.rows for c in outputs.report.checks if not c.passed}


def test_clean_data_pass_and_the_report_is_the_same_bytes_again(tmp_path):
    real = write_dataset(tmp_path / "real", clean(2))
    first, second = examine(tmp_path, real), examine(tmp_path, real)
    assert first.report.passed, breaches(first)
    assert first.left_out == "dataset,id,reason\n"
    assert to_json(first.report) == to_json(second.report)
    json.loads(to_json(first.report))


def test_a_planted_label_a_double_id_and_no_such_row_are_named_and_left_out(tmp_path):
    rows = [f"r{i},{i},{i % 2},g{i % 3}" for i in range(9)]
    rows += ["r9,9,7,g0", "r1,10,1,g1", "r11,99,1,g2"]
    found = examine(tmp_path, write_dataset(tmp_path / "real", clean(2), rows))
    assert breaches(found) == {
        "real: no id stands twice": ["r1", "r1"],
        "real: every sample can be read": ["r11"],
        "real: every sample has a finite number": ["r11"],
        "real: labels are 0 to 1": ["r9"],
    }
    assert found.left_out.splitlines()[1:] == [
        "real,r1,the id stands more than once",
        "real,r9,its label 7 is outside the set",
        "real,r1,the id stands more than once",
        "real,r11,it cannot be read: samples.npy has no row 99",
    ]
    assert found.report.left_out == {"sim": 0, "real": 4}


def test_a_row_with_a_nan_is_left_out_by_its_id(tmp_path):
    samples = clean(2).astype(np.float32)
    samples[3, 0, 0], samples[5] = np.nan, np.inf
    terms = TERMS.replace("uint8", "float32")
    write_dataset(tmp_path / "sim", clean(1).astype(np.float32))
    found = examine(tmp_path, write_dataset(tmp_path / "real", samples), terms)
    assert breaches(found)["real: in each sample a share of 1 of the numbers is finite"] == [
        "real3",
        "real5",
    ]
    assert "real,real5,only a share of 0 of its numbers is finite\n" in found.left_out


def test_a_corrupt_and_a_missing_picture_are_named_without_a_path_of_this_machine(tmp_path):
    real = tmp_path / "real"
    rows = [f"r{i},p{i}.png,{i % 2},g{i % 3}" for i in range(6)]
    write_dataset(real, None, rows, "id,path,label,group")
    for i, sample in enumerate(clean(2, 5)):
        Image.fromarray(sample).save(real / f"p{i}.png")
    whole = (real / "p2.png").read_bytes()
    (real / "p2.png").write_bytes(whole[: len(whole) // 2])
    Image.fromarray(np.zeros((8, 9), np.uint8)).save(real / "p4.png")
    found = examine(tmp_path, real)
    assert breaches(found)["real: every sample can be read"] == ["r2", "r5"]
    lines = found.left_out.splitlines()[1:]
    assert [line.split(",")[1] for line in lines] == ["r2", "r4", "r5"]
    assert lines[1] == "real,r4,its shape is 8x9"
    assert lines[2] == "real,r5,it cannot be read: p5.png is not there"
    assert str(tmp_path) not in found.left_out


def test_what_may_be_the_fault_itself_is_a_finding_and_stays(tmp_path):
    samples = clean(2)
    samples[1] = samples[0]
    samples[4, 0, 0] = 255
    found = examine(tmp_path, write_dataset(tmp_path / "real", samples))
    assert breaches(found) == {
        "real: each sample's greatest number lies in 0 to 16": ["real4"],
        "real: no two rows have exactly the same content": ["real0", "real1"],
    }
    assert found.report.left_out["real"] == 0


@pytest.mark.parametrize(
    ("label", "broken"),
    [
        pytest.param("", "real: every row has a label", id="all labels empty"),
        pytest.param("0", "real: each of the 2 classes occurs", id="one class only"),
    ],
)
def test_nulls_and_missing_classes_are_not_passed_over(tmp_path, label, broken):
    rows = [f"r{i},{i},{label},g{i % 3}" for i in range(12)]
    found = examine(tmp_path, write_dataset(tmp_path / "real", clean(2), rows))
    assert broken in breaches(found)


def test_no_rows_and_no_column_break_the_contract(tmp_path):
    found = examine(tmp_path, write_dataset(tmp_path / "real", clean(2)[:0], [], "id,row,group"))
    broken = breaches(found)
    assert "real: 4 rows or more" in broken
    assert "real: the manifest has a column label" in broken
    assert "real: labels are 0 to 1" in broken


def test_a_contract_names_all_its_faults_at_once(tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text("schema: 1\nsim: {samples: {dtype: 3, size: 2}}\nrael: 1\n")
    with pytest.raises(InputFault) as caught:
        read_contract(path)
    faults = str(caught.value).splitlines()
    assert [fault.split(": ")[1] for fault in faults] == [
        "sim.samples.dtype",
        "sim.samples.size",
        "real",
        "rael",
    ]


def test_without_pictures_rows_go_by_their_place_and_reasons_hold_no_value(tmp_path):
    rows = [f"jane-{i},{i},{i % 2},g{i % 3}" for i in range(9)]
    rows += ["jane-9,9,4711,g0", "jane-11,99,1,g2"]
    real = write_dataset(tmp_path / "real", clean(2), rows)
    sim = write_dataset(tmp_path / "sim", clean(1))
    (tmp_path / "toy.yaml").write_text(TERMS)
    found = run(
        ContractParams(classes=2, pictures="none"),
        Inputs(sim=sim, real=real, contract=tmp_path / "toy.yaml"),
        tmp_path,
    )
    assert breaches(found)["real: labels are 0 to 1"] == ["row 9"]
    assert "jane" not in to_json(found.report)
    # The split needs the ids; the folder is not pushed, and values stand in no reason.
    assert found.left_out.splitlines()[1:] == [
        "real,jane-9,its label is outside the set",
        "real,jane-11,it cannot be read",
    ]


def test_labels_that_are_numbers_are_held_to_a_range(tmp_path):
    terms = TERMS.replace("  groups:", "  labels: {null_share: 0.2, range: [0, 40]}\n  groups:")
    labels = ["18.5", "2e1", "-3", "", "41.5", "about 12", "inf", *["20"] * 5]
    rows = [f"real{i},{i},{label},g{i % 3}" for i, label in enumerate(labels)]
    found = examine(tmp_path, write_dataset(tmp_path / "real", clean(2), rows), terms, None)
    assert breaches(found) == {
        "real: labels are numbers": ["real5", "real6"],
        "real: labels lie in 0 to 40": ["real2", "real4", "real6"],
    }
    assert found.left_out.splitlines()[1:] == [
        "real,real2,its label -3 lies outside the range",
        "real,real4,its label 41.5 lies outside the range",
        "real,real5,its label about 12 is no number",
        "real,real6,its label inf is no number",
    ]

"""Data as people have it becomes a dataset folder: the same samples, labels, groups, in order."""

import tarfile
import tracemalloc
from pathlib import Path

import made_sources as made
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from flows.faults import Faults
from flows.scaffold.intake import Source, take_in_sets
from flows.scaffold.samples import Columns
from stages.dataset import read_manifest
from stages.sample_table import read_sample


def take(path: Path, target: Path, part: str = "", task: str = "classification", **columns: str):
    sources = {"sim": Source(path=path, part=part, told=str(path))}
    named = Columns(**columns)
    return take_in_sets(sources, target, named, task=task, classes=None)


FORMATS = {
    "one folder a class": (made.class_folders, "", {}),
    "files listed in a CSV": (made.listed_files, "", {"group": "session"}),
    "npz": (made.arrays_npz, "", {}),
    "npy": (made.arrays_npy, "", {}),
    "WebDataset": (made.shards, "", {"group": "session"}),
    "Hugging Face, saved": (made.hugging_face, "", {"group": "session"}),
    "Hugging Face, saved in parts": (made.hugging_face_parts, "test", {"group": "session"}),
    "Hugging Face, Parquet": (made.hugging_face_parquet, "test", {"group": "session"}),
    "a dataset folder": (made.dataset_folder, "", {}),
}


@pytest.mark.parametrize("name", FORMATS)
def test_pictures_come_in_with_labels_and_groups(name, tmp_path):
    make, part, columns = FORMATS[name]
    suffix = ".npz" if name == "npz" else ""
    taken, classes = take(make(tmp_path / f"source{suffix}"), tmp_path / "out", part, **columns)
    manifest = read_manifest(tmp_path / "out/sim")
    assert classes.names == ("cat", "dog")
    assert (taken["sim"].rows, taken["sim"].labelled, taken["sim"].groups) == (12, 12, 3)
    assert list(manifest["label_name"]) == [classes.names[int(x)] for x in manifest["label"]]
    assert contents(tmp_path / "out/sim") == expected()


def contents(folder: Path) -> set:
    array = np.load(folder / "samples.npy") if (folder / "samples.npy").is_file() else None
    found = set()
    for row in read_manifest(folder).to_dict("records"):
        sample = array[int(row["row"])] if row["row"] else read_sample(folder, row["path"])
        found.add((sample.astype(np.uint8).tobytes(), row["label"], row["group"]))
    return found


def expected() -> set:
    rows = zip(made.pixels(), made.LABELS, made.GROUPS, strict=True)
    return {(array.tobytes(), str(label), group) for array, label, group in rows}


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_columns_of_numbers_are_the_samples_of_a_table(suffix, tmp_path):
    make = made.features_csv if suffix == "csv" else made.features_parquet
    taken, _ = take(make(tmp_path / f"table.{suffix}"), tmp_path / "out")
    samples = np.load(tmp_path / "out/sim/samples.npy")
    assert samples.tolist() == made.pixels()[:, 0, :3].tolist()
    assert list(read_manifest(tmp_path / "out/sim")["label"]) == [str(x) for x in made.LABELS]
    if suffix == "csv":
        told = "columns with text became free metadata, no features: site"
        assert told in taken["sim"].notes
        assert read_manifest(tmp_path / "out/sim")["site"][1] == "site 1"


def test_real_has_the_features_of_sim_in_their_order(tmp_path):
    sim = made.table(tmp_path / "sim.csv", ["a", "b", "label"], [[1, 2, "x"], [3, 4, "y"]])
    real = made.table(tmp_path / "real.csv", ["b", "extra", "a"], [[20, 0, 10], ["", 0, 30]])
    sources = {"sim": Source(path=sim, told="sim"), "real": Source(path=real, told="real")}
    taken, _ = take_in_sets(
        sources, tmp_path / "out", Columns(), task="classification", classes=None
    )
    samples = np.load(tmp_path / "out/real/samples.npy")
    np.testing.assert_array_equal(samples, [[10, 20], [30, np.nan]])
    assert "columns that sim has not became free metadata: extra" in taken["real"].notes
    assert taken["real"].labelled == 0


def test_arrays_in_columns_keep_their_type_and_shape(tmp_path):
    kind = pa.list_(pa.list_(pa.int16(), 5), 4)
    rows = pa.table({"wave": pa.array(made.pixels().tolist(), kind), "label": made.LABELS})
    parquet.write_table(rows, tmp_path / "waves.parquet")
    take(tmp_path / "waves.parquet", tmp_path / "out")
    samples = np.load(tmp_path / "out/sim/samples.npy")
    assert samples.dtype == np.int16
    np.testing.assert_array_equal(samples, made.pixels())


def test_one_part_of_an_npz_is_chosen_by_its_name(tmp_path):
    half = made.pixels()[:6]
    np.savez(tmp_path / "all.npz", x_test=half, y_test=made.LABELS[:6], x_train=half + 1)
    with pytest.raises(Faults, match="PATH#test"):
        take(tmp_path / "all.npz", tmp_path / "none")
    take(tmp_path / "all.npz", tmp_path / "out", part="test")
    np.testing.assert_array_equal(np.load(tmp_path / "out/sim/samples.npy"), half)


def test_a_quantity_stays_a_number(tmp_path):
    table = made.table(tmp_path / "t.csv", ["a", "y"], [[1, "0.25"], [2, "-3e2"], [3, ""]])
    taken, classes = take(table, tmp_path / "out", task="regression")
    assert classes is None
    assert list(read_manifest(tmp_path / "out/sim")["label"]) == ["0.25", "-3e2", ""]
    assert taken["sim"].labelled == 2


def test_names_have_one_number_in_all_sets(tmp_path):
    sim = made.table(tmp_path / "sim.csv", ["a", "label"], [[1, "cat"], [2, "dog"]])
    real = made.table(tmp_path / "real.csv", ["a", "label"], [[1, "dog"], [2, "bird"]])
    sources = {"sim": Source(path=sim, told=""), "real": Source(path=real, told="")}
    _, classes = take_in_sets(
        sources, tmp_path / "out", Columns(), task="classification", classes=None
    )
    assert classes.names == ("bird", "cat", "dog")
    assert list(read_manifest(tmp_path / "out/real")["label"]) == ["2", "0"]


def test_a_key_of_an_earlier_shard_gets_its_shard_before_it(tmp_path):
    for number in range(2):
        with tarfile.open(tmp_path / f"s-{number}.tar", "w") as shard:
            for at in (0, number + 1):
                made.add(shard, f"{at:03d}.bin", bytes([number, at]))
                made.add(shard, f"{at:03d}.cls", b"0")
    take(tmp_path, tmp_path / "out")
    assert list(read_manifest(tmp_path / "out/sim")["id"]) == ["000", "001", "s-1/000", "002"]


LARGE = [np.random.default_rng(at).bytes(1 << 20) for at in range(48)]


def large_shard(path: Path) -> Path:
    with tarfile.open(path, "w") as shard:
        for at, content in enumerate(LARGE):
            made.add(shard, f"{at:03d}.bin", content)
            made.add(shard, f"{at:03d}.cls", str(at % 2).encode())
    return path


def large_parquet(path: Path) -> Path:
    labels = [at % 2 for at in range(len(LARGE))]
    parquet.write_table(pa.table({"image": LARGE, "label": labels}), path)
    return path


def large_arrow(path: Path) -> Path:
    rows = pa.table({"image": LARGE, "label": [at % 2 for at in range(len(LARGE))]})
    with pa.ipc.new_stream(str(path), rows.schema) as stream:
        stream.write_table(rows)
    return path


@pytest.mark.parametrize(
    ("make", "suffix"),
    [(large_shard, ".tar"), (large_parquet, ".parquet"), (large_arrow, ".arrow")],
    ids=["a shard", "Parquet", "Arrow"],
)
def test_a_large_file_is_never_whole_in_memory(make, suffix, tmp_path):
    path = make(tmp_path / f"large{suffix}")
    held_before = pa.total_allocated_bytes()
    tracemalloc.start()
    taken, _ = take(path, tmp_path / "out")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken["sim"].rows == len(LARGE)
    assert peak < 24 << 20
    assert pa.total_allocated_bytes() - held_before < 8 << 20

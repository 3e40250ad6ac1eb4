"""What cannot be taken in is refused with the file, the row and the next step."""

import json
import os
import tarfile
from pathlib import Path

import made_sources as made
import numpy as np
import pytest

from flows.faults import Faults
from flows.scaffold.intake import Source, take_in_sets
from flows.scaffold.samples import Columns


def refusal(path: Path, tmp_path: Path, **columns: str) -> str:
    sources = {"sim": Source(path=path, told=str(path))}
    with pytest.raises(Faults) as caught:
        take_in_sets(
            sources, tmp_path / "out", Columns(**columns), task="classification", classes=None
        )
    return str(caught.value)


def shard(path: Path, *names: str) -> Path:
    with tarfile.open(path, "w") as made_:
        for name in names:
            made.add(made_, name, b"x")
    return path


@pytest.mark.parametrize("name", ["../out.png", "/etc/out.png", "a/../../out.png"])
def test_a_member_that_leads_out_of_its_archive(name, tmp_path):
    told = refusal(shard(tmp_path / "s.tar", name), tmp_path)
    assert "s.tar" in told
    assert "leads out of its folder" in told
    assert not (tmp_path / "out.png").exists()


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE])
def test_a_member_that_is_no_file(kind, tmp_path):
    with tarfile.open(tmp_path / "s.tar", "w") as made_:
        member = tarfile.TarInfo("000.png")
        member.type, member.linkname = kind, "/etc/passwd"
        made_.addfile(member)
    assert "000.png is a link or a device" in refusal(tmp_path / "s.tar", tmp_path)


def test_a_shard_that_is_cut_off(tmp_path):
    path = shard(tmp_path / "s.tar", "000.png", "000.cls")
    path.write_bytes(path.read_bytes()[:700])
    assert "s.tar: it is cut off" in refusal(path, tmp_path)


def test_a_compressed_shard_that_is_cut_off_names_the_last_good_member(tmp_path):
    path = tmp_path / "s.tar.gz"
    with tarfile.open(path, "w:gz") as made_:
        for at in range(20):
            made.add(made_, f"{at:03d}.png", np.random.default_rng(at).bytes(20_000))
            made.add(made_, f"{at:03d}.cls", b"1")
    path.write_bytes(path.read_bytes()[:200_000])
    assert "it cannot be read beyond 00" in refusal(path, tmp_path)


def test_members_of_one_sample_apart(tmp_path):
    path = shard(tmp_path / "s.tar", "000.png", "001.png", "000.cls")
    assert "members of 000 do not stand one after another" in refusal(path, tmp_path)


def test_two_pictures_in_one_sample(tmp_path):
    told = refusal(shard(tmp_path / "s.tar", "000.left.png", "000.right.png"), tmp_path)
    assert "000" in told
    assert "--sample-column" in told


def test_an_array_of_objects(tmp_path):
    np.savez(tmp_path / "x.npz", x=np.array([{}, []], dtype=object), y=[0, 1])
    told = refusal(tmp_path / "x.npz", tmp_path)
    assert "x.npz: the array x cannot be read" in told


def test_labels_of_another_length(tmp_path):
    np.savez(tmp_path / "x.npz", x=np.zeros((4, 2)), y=[0, 1])
    assert "expected 4 values" in refusal(tmp_path / "x.npz", tmp_path)


def test_a_line_of_a_table_that_is_short(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,label\n1,2,x\n3,y\n")
    assert "line 3: it has 2 cells, the header 3" in refusal(tmp_path / "t.csv", tmp_path)


def test_text_where_sim_has_numbers(tmp_path):
    sim = made.table(tmp_path / "sim.csv", ["a", "label"], [[1, "x"], [2, "y"]])
    real = made.table(tmp_path / "real.csv", ["a", "label"], [[1, "x"], ["3,5", "y"]])
    sources = {"sim": Source(path=sim, told=""), "real": Source(path=real, told="")}
    with pytest.raises(Faults, match=r"real.csv: column a, line 3: '3,5' is no number"):
        take_in_sets(sources, tmp_path / "o", Columns(), task="classification", classes=None)


def test_a_file_that_a_table_names_and_is_not_there(tmp_path):
    root = made.listed_files(tmp_path / "files")
    (root / "03.png").unlink()
    assert r"labels.csv: no such file: line 5 (03.png)" in refusal(root, tmp_path)


def test_a_table_that_names_files_elsewhere(tmp_path):
    root = made.listed_files(tmp_path / "files")
    with (root / "labels.csv").open("a") as file:
        file.write("../../secret.png,cat,day-1,-\n")
    assert "line 14: '../../secret.png' leads out of its folder" in refusal(root, tmp_path)


def test_the_parts_of_a_split_taken_for_classes(tmp_path):
    made.class_folders(tmp_path / "all/train")
    made.class_folders(tmp_path / "all/test")
    told = refusal(tmp_path / "all", tmp_path)
    assert "the parts test, train, no classes" in told
    assert str(tmp_path / "all/test") in told


def test_parts_of_which_none_is_named(tmp_path):
    told = refusal(made.hugging_face_parts(tmp_path / "hf"), tmp_path)
    assert "PATH#test" in told


def test_a_part_of_what_has_none(tmp_path):
    sources = {"sim": Source(path=made.features_csv(tmp_path / "t.csv"), part="test", told="")}
    with pytest.raises(Faults, match=r"t\.csv has no part test"):
        take_in_sets(sources, tmp_path / "o", Columns(), task="classification", classes=None)


def test_rows_that_an_index_chooses(tmp_path):
    root = made.hugging_face(tmp_path / "hf")
    state = json.loads((root / "state.json").read_text())
    (root / "state.json").write_text(json.dumps({**state, "_indices_files": [{"filename": "i"}]}))
    assert "flatten_indices" in refusal(root, tmp_path)


def test_an_arrow_file_that_is_cut_off(tmp_path):
    root = made.hugging_face(tmp_path / "hf")
    file = root / "data-00000-of-00001.arrow"
    file.write_bytes(file.read_bytes()[:-900])
    assert "data-00000-of-00001.arrow: unreadable after row" in refusal(root, tmp_path)


def test_samples_that_differ_in_shape(tmp_path):
    import pyarrow as pa
    from pyarrow import parquet

    rows = pa.table({"wave": [[1, 2], [1, 2, 3]], "label": [0, 1]})
    parquet.write_table(rows, tmp_path / "w.parquet")
    told = refusal(tmp_path / "w.parquet", tmp_path)
    assert "row-000001 is int64 3; the samples before it are int64 2" in told


def test_sets_that_declare_their_classes_in_different_orders(tmp_path):
    sim = made.hugging_face(tmp_path / "sim")
    real = made.hugging_face(tmp_path / "real", names=("dog", "cat"))
    sources = {"sim": Source(path=sim, told=""), "real": Source(path=real, told="")}
    with pytest.raises(Faults, match="different orders"):
        take_in_sets(sources, tmp_path / "o", Columns(), task="classification", classes=None)
    _, classes = take_in_sets(
        sources, tmp_path / "p", Columns(), task="classification", classes="dog,cat"
    )
    assert classes.names == ("dog", "cat")


def test_what_is_of_no_known_kind(tmp_path):
    (tmp_path / "notes.docx").write_text("x")
    assert "Known: a dataset folder (manifest.csv)" in refusal(tmp_path / "notes.docx", tmp_path)


def test_an_id_that_stands_twice(tmp_path):
    table = made.table(tmp_path / "t.csv", ["id", "a", "label"], [["s", 1, "x"], ["s", 2, "y"]])
    told = refusal(table, tmp_path)
    assert "the id s stands twice, again in row 1" in told
    assert "--id-column" in told


def test_a_table_without_rows(tmp_path):
    table = made.table(tmp_path / "t.csv", ["id", "a", "label"], [])
    assert "no column holds numbers only. It has: a (it is empty)" in refusal(table, tmp_path)


def test_saved_data_that_name_no_part(tmp_path):
    (tmp_path / "hf").mkdir()
    (tmp_path / "hf/dataset_dict.json").write_text('{"splits": []}')
    assert "it has the parts (none)" in refusal(tmp_path / "hf", tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read(tmp_path):
    path = made.features_csv(tmp_path / "t.csv")
    path.chmod(0)
    with pytest.raises(PermissionError):
        refusal(path, tmp_path)

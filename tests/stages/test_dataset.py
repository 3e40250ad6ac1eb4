import numpy as np
import pandas as pd
import pytest

from stages.dataset import find_step, groups_of, labels_of, of, read_roles, read_step

ROLES = """dataset,id,row,path,label,group,role
sim,NA,0,,1,g,validation
real,r0,0,,7,g,diagnose
real,r1,1,,,,unlabelled
real,r2,2,,0,h,prove
"""


@pytest.fixture
def roles(tmp_path):
    (tmp_path / "roles.csv").write_text(ROLES)
    return read_roles(tmp_path / "roles.csv")


def test_every_cell_is_the_text_that_stands_there(roles):
    assert isinstance(roles, pd.DataFrame)
    assert roles["id"].tolist() == ["NA", "r0", "r1", "r2"]


def test_positions_count_within_the_dataset(roles):
    assert of(roles, "real", "prove").tolist() == [2]
    assert of(roles, "real", ["diagnose", "unlabelled"]).tolist() == [0, 1]
    assert of(roles, "real").tolist() == [0, 1, 2]


def test_a_missing_label_is_minus_one(roles):
    assert labels_of(roles, "real").tolist() == [7, -1, 0]


def test_a_row_without_a_group_is_its_own(roles):
    assert groups_of(roles, "real").tolist() == ["g", "row r1", "h"]


def test_a_step_is_read_as_one_array_or_row_by_row(tmp_path):
    np.save(tmp_path / "00_a.npy", np.zeros((2, 3)))
    np.savez(tmp_path / "01_b.npz", **{"1": np.ones(2), "0": np.zeros(3)})
    assert read_step(tmp_path, "00_a.npy").shape == (2, 3)
    assert [len(row) for row in read_step(tmp_path, find_step(tmp_path, "01_b"))] == [3, 2]
    assert find_step(tmp_path, "02_c") is None

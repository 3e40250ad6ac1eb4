import numpy as np
import pytest

from sides.tensors import RowReader, RowWriter, save_step


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["u1", "<f4", ">f8", "?"])
def test_rows_are_read_as_numpy_reads_them(tmp_path, order, dtype):
    array = np.asarray(np.arange(60).reshape(5, 3, 4), dtype=dtype, order=order)
    np.save(tmp_path / "a.npy", array)
    rows = RowReader(tmp_path / "a.npy")
    assert len(rows) == 5
    np.testing.assert_array_equal(rows.read(3, 9), array[3:])
    np.testing.assert_array_equal(rows.read(0, 2), array[:2])


def test_what_is_written_is_the_file_that_numpy_would_save(tmp_path):
    array = np.random.default_rng(0).normal(size=(7, 2, 3)).astype(np.float32)
    np.save(tmp_path / "numpy.npy", array)
    writer = RowWriter(tmp_path / "ours.npy", 7)
    for start in range(0, 7, 3):
        writer.write(array[start : start + 3])
    writer.close()
    assert (tmp_path / "ours.npy").read_bytes() == (tmp_path / "numpy.npy").read_bytes()


def test_a_block_of_another_shape_is_refused(tmp_path):
    writer = RowWriter(tmp_path / "a.npy", 2)
    writer.write(np.zeros((1, 3)))
    with pytest.raises(ValueError, match=r"has shape \[4\], the rows before it \[3\]"):
        writer.write(np.zeros((1, 4)))
    writer.drop()
    assert not (tmp_path / "a.npy").exists()


def test_a_number_beyond_float32_is_infinite_without_a_warning(tmp_path):
    writer = RowWriter(tmp_path / "a.npy", 1)
    writer.write(np.array([[1e300]]))
    writer.close()
    assert np.isinf(np.load(tmp_path / "a.npy")).all()


@pytest.mark.parametrize(
    ("rows", "file", "dtype", "shape"),
    [
        pytest.param(
            [np.zeros((2, 3), "u1"), np.ones((2, 3), "u1")], "k.npy", "uint8", [2, 3], id="alike"
        ),
        pytest.param([np.zeros(2), np.zeros(3)], "k.npz", "float64", None, id="two shapes"),
        pytest.param(
            [np.zeros(2, "f4"), np.zeros(2, "u1")], "k.npz", "float32|uint8", [2], id="two types"
        ),
    ],
)
def test_a_steps_outputs_keep_their_types_and_shapes(tmp_path, rows, file, dtype, shape):
    assert save_step(tmp_path, "k", rows) == {"file": file, "dtype": dtype, "shape": shape}

"""Temporary folders of the dead are removed, of the living not."""

import subprocess
import sys
from pathlib import Path

import pytest

from containers import scratch

HOLD = (
    "import sys, time; from containers.scratch import scratch\n"
    "with scratch() as place: print(place, flush=True); time.sleep(60)"
)


@pytest.fixture(autouse=True)
def _tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(scratch.tempfile, "tempdir", str(tmp_path))


def test_a_folder_goes_with_its_process_however_that_ends() -> None:
    with subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE, text=True) as held:
        place = Path(held.stdout.readline().strip())
        scratch.sweep()
        assert place.is_dir()  # its owner lives
        held.kill()
    assert place.is_dir()
    with scratch.scratch() as mine:
        scratch.sweep()
        assert (place.exists(), mine.exists()) == (False, True)
    assert not mine.exists()


@pytest.mark.parametrize(
    ("boot", "space", "left"),
    [("1" * 8, None, False), (None, "1" * 8, True)],
    ids=["before a reboot", "in another container"],
)
def test_whose_number_means_nothing_here_is_judged_by_the_rest(
    tmp_path: Path, boot: str | None, space: str | None, left: bool
) -> None:
    _, its_boot, its_space, *rest = f"assay-{scratch.mark()}".split("-")
    folder = tmp_path / "-".join(("assay", boot or its_boot, space or its_space, *rest, "x"))
    folder.mkdir()
    scratch.sweep()
    assert folder.exists() is left


def test_what_others_put_there_is_left_alone(tmp_path: Path) -> None:
    for name in ("assay-ci.x1", "assay-", "assay-1-2-3", "other"):
        (tmp_path / name).mkdir()
    scratch.sweep()
    assert len(list(tmp_path.iterdir())) == 4

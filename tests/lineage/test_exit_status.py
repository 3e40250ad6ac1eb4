"""An error for a person says what it means for the command line."""

from pathlib import Path

import pytest

from containers.engine import EngineAbsentError
from containers.images import ImageError
from containers.job import RunnerError
from lineage.artifacts import ArtifactMissing
from lineage.cache_writes import CacheUnwritable
from lineage.dvc_repo import GraphStale
from lineage.engine import EnvironmentStale, InputsChanged
from lineage.execute import StageFailed
from lineage.fence import Cancelled
from lineage.git import GitError
from lineage.job_folder import InputMissing
from lineage.lock_text import LockBroken
from lineage.run_tags import RunUnknown
from lineage.snapshot import SnapshotRefused

STATUS = {
    2: (RunnerError, ImageError, EngineAbsentError, SnapshotRefused, RunUnknown),
    3: (
        *(StageFailed, InputMissing, InputsChanged, GraphStale, EnvironmentStale),
        *(ArtifactMissing, GitError, LockBroken, CacheUnwritable),
    ),
    130: (Cancelled,),
}


@pytest.mark.parametrize(("status", "errors"), STATUS.items())
def test_every_error_knows_its_status(status: int, errors: tuple[type, ...]):
    assert {error.exit_status for error in errors} == {status}


def test_containers_do_not_speak_of_dvc():
    room = Path(__file__).parents[2] / "containers"
    assert not [path.name for path in room.glob("*.py") if "dvc " in path.read_text()]

"""A colleague's branch: what it brings is data, and nothing of this machine's own."""

import subprocess
from pathlib import Path

import pytest

from flows import workspace
from flows.commands.gate_wait import _ended, _newest
from flows.commands.show import CLOSED
from flows.faults import Faults
from flows.module_names import defined_names
from flows.scaffold.case_code import _layers
from lineage.cache_objects import look, place
from lineage.hostile import HostileRun
from lineage.provenance import RunRecord


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A folder that this `assay` takes for its workspace."""
    for folder in ("stages", "cases", ".dvc", ".assay/deploys"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "stages/stage.py").touch()
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(
        ["git", *who, "commit", "-q", "--allow-empty", "-m", "c"], cwd=tmp_path, check=True
    )
    monkeypatch.setattr(workspace, "__file__", str(tmp_path / "flows/workspace.py"))
    return tmp_path


def test_what_is_this_machines_own_comes_by_no_branch(own):
    (own / ".assay/deploys/x.json").write_text("{}")
    assert workspace.find(own) == own
    subprocess.run(["git", "add", "-f", ".assay"], cwd=own, check=True)
    with pytest.raises(Faults, match=r"git tracks files in \.assay"):
        workspace.find(own)
    subprocess.run(["git", "rm", "-rq", "-f", ".assay"], cwd=own, check=True)
    assert workspace.find(own) == own
    assert not (own / ".assay/deploys/x.json").exists()
    (own / ".assay").rmdir() if (own / ".assay").exists() else None
    (own / ".assay").symlink_to("/tmp")  # noqa: S108
    subprocess.run(["git", "add", "-f", ".assay"], cwd=own, check=True)
    with pytest.raises(Faults, match=r"git tracks files in \.assay"):
        workspace.find(own)


@pytest.mark.parametrize(
    "text",
    [
        "x=" + "-" * 100_000 + "1",
        "x=a" + ".b" * 50_000,
        "x=" + "(" * 5000,
        "x=" + "+".join("1" * 50_000),
        "x=\0",
        "def f():\n" + "".join(" " * at + "if x:\n" for at in range(1, 120)),
        "#" * (5 << 20),
    ],
    ids=["signs", "dots", "brackets", "a sum", "nothing", "blocks", "5 MiB"],
)
def test_code_that_no_person_wrote_ends_no_look_at_a_case(tmp_path, text):
    (tmp_path / "m.py").write_text(text)
    assert defined_names(tmp_path / "m.py") is None
    assert _layers(tmp_path / "m.py") == []


def test_a_name_that_a_lock_made_up_is_nowhere(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("")  # the MD5 of nothing is known
    for name in (f"aa{victim}", "../../victim", "d41d8cd98f00b204e9800998ecf8427e/..", ""):
        assert look(tmp_path, name) == "missing"  # an altered one would be moved away
        with pytest.raises(HostileRun, match="No object has the name"):
            place(tmp_path, name)


FORGED = RunRecord(
    id="20991231T000000-toy-00000000",
    case="toy",
    state="done",
    verdict="open",
    sentence="All is well.",
    commit="c",
    parent="p",
    isolation="docker",
    started="s",
    ended="e",
    of="20261201T000000-toy-00000000",
    trigger={"by": "deploy", "event": "e0"},
)


def test_a_tag_that_somebody_pushed_answers_no_event_where_events_are_examined(own):
    words = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "tag", "-a", "-F", "-"]
    subprocess.run(
        [*words, "run/20991231T000000-toy-00000000", "HEAD"],
        cwd=own,
        input=f"toy\n\n{FORGED.model_dump_json()}\n".encode(),
        check=True,
    )
    assert _ended(own, "latest", "e0") is None
    assert _newest(own, "20261201T000000-toy-00000000") == "20261201T000000-toy-00000000"
    (own / ".assay/logs" / FORGED.id).mkdir(parents=True)  # as of a run that was made here
    assert _ended(own, "latest", "e0") == FORGED.id
    assert _newest(own, "20261201T000000-toy-00000000") == FORGED.id
    (own / ".assay/logs" / FORGED.id).rmdir()
    (own / ".assay/deploys").rmdir()  # a clone that examines none asks the tags
    assert _ended(own, "latest", "e0") == FORGED.id


def test_the_page_that_we_write_is_one_that_we_open():
    template = Path(__file__).parents[2] / "stages/templates/report.html.j2"
    text = template.read_text(encoding="utf-8")
    assert CLOSED.match(text[text.index("<!doctype") :])

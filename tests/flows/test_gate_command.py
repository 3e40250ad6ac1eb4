"""A gate that is closed may be waived for a while, visibly; looks at the same rows are counted."""

import subprocess
from datetime import date, timedelta
from pathlib import Path

import pytest

from flows import looks_ledger, run_end
from flows.commands import gate as command
from flows.commands import gate_wait
from lineage import run_tags, waivers
from lineage.provenance import RunRecord
from lineage.run_tags import RunUnknown, note_pruned
from lineage.waivers import WaiverRefused

TOMORROW = (waivers.today() + timedelta(days=1)).isoformat()
YESTERDAY = (waivers.today() - timedelta(days=1)).isoformat()
WORDS = {"reason": "the port is mended on Monday", "by": "A. Tester"}


def git(root: Path, *words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=root, capture_output=True, text=True, check=True
    ).stdout


def record(number: int, verdict: str | None = "closed", look=None, **other) -> RunRecord:
    known = {
        "id": f"20261130T16010{number}-toy-ab1{number}",
        "case": "toy",
        "state": "done" if verdict else "failed",
        "verdict": verdict,
        "because": "accuracy 8.8 %" if verdict == "closed" else "",
        "sentence": "It broke.",
        "commit": "c",
        "parent": "p",
        "isolation": "process",
        "started": f"2026-11-30T16:01:0{number}+00:00",
        "ended": "t",
        "look": look,
    }
    return RunRecord(**(known | other))


@pytest.fixture
def workspace(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "config", "user.name", "A Tester")
    git(tmp_path, "config", "user.email", "tester@example.org")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "nothing")
    monkeypatch.setattr(command.workspace, "find", lambda _: tmp_path)
    return tmp_path


def closed(root: Path, *records: RunRecord) -> None:
    head = git(root, "rev-parse", "HEAD").strip()
    for one in records:
        run_tags.tag(root, head, one)


def test_a_waiver_opens_a_closed_gate_and_leaves_the_run_as_it_is(workspace):
    closed(workspace, record(1))
    run = record(1).id
    before = git(workspace, "rev-parse", f"run/{run}")
    _, text, status = command.show(run)
    assert status == 1
    assert "it may not serve" in text
    data, _, status = command.waive(run, until=TOMORROW, **WORDS)
    assert status == 0
    assert data["because"] == "accuracy 8.8 %"
    data, text, status = command.show(run)
    assert (status, data["serves"]) == (0, True)
    assert f"until {TOMORROW} by A. Tester: the port is mended on Monday" in text
    assert git(workspace, "rev-parse", f"run/{run}") == before
    assert git(workspace, "tag", "--list", "waiver/*").split() == [f"waiver/{run}/1"]


def test_an_expired_waiver_is_shown_and_opens_nothing(workspace, monkeypatch):
    closed(workspace, record(1))
    command.waive("latest", until=TOMORROW, **WORDS)
    later = date.fromisoformat(TOMORROW) + timedelta(days=1)
    monkeypatch.setattr(waivers, "today", lambda: later)
    data, text, status = command.show("latest")
    assert status == 1
    assert "(expired)" in text
    assert data["waiver"] is None
    assert len(data["expired"]) == 1


def test_a_gate_may_be_waived_anew(workspace):
    closed(workspace, record(1))
    command.waive("toy", until=TOMORROW, **WORDS)
    command.waive("toy", reason="once more", by="B. Tester", until=TOMORROW)
    assert [one.by for one in waivers.all_of(workspace)].count("B. Tester") == 1
    assert len(waivers.of_run(workspace, record(1).id)) == 2


@pytest.mark.parametrize("reason", ["one\n\ntwo\r\n\r\ngate     open", "a \x1b[2J", "zu früh ☃"])
def test_a_reason_of_any_text_is_one_line_that_is_read_again(workspace, reason):
    closed(workspace, record(1))
    told, text, _ = command.waive("toy", reason=reason, by="A\nB", until=TOMORROW)
    assert command.show("toy")[0]["waiver"] == told
    assert told["by"] == "A B"
    assert told["reason"].isprintable()
    assert len(text.splitlines()) == 3


def test_an_older_waiver_that_holds_is_not_told_as_expired(workspace):
    closed(workspace, record(1))
    for by in ("A", "B"):
        command.waive("toy", reason="r", by=by, until=TOMORROW)
    assert command.show("toy")[0]["expired"] == []


def test_a_tag_that_cannot_be_read_blocks_no_waiver(workspace):
    closed(workspace, record(1))
    git(workspace, "tag", "-a", f"waiver/{record(1).id}/4", "-m", "by hand")
    git(workspace, "tag", "-a", f"waiver/{record(1).id}/mine", "-m", "by hand")
    command.waive("toy", until=TOMORROW, **WORDS)
    assert command.show("toy")[2] == 0
    assert f"waiver/{record(1).id}/5" in git(workspace, "tag", "--list")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"reason": "\udcff no text"}, "--reason: expected text in UTF-8"),
        ({"reason": "\x00\n"}, "--reason: say it"),
        ({"until": "tomorrow"}, "expected a day as in 2027-01-31. Got: tomorrow."),
        ({"until": "2026-02-30"}, "expected a day"),
        ({"until": YESTERDAY}, "has passed"),
        ({"reason": "  "}, "--reason: say it"),
        ({"by": ""}, "--by: say it"),
    ],
)
def test_what_is_no_waiver_is_refused_in_one_sentence(workspace, words, says):
    closed(workspace, record(1))
    with pytest.raises(WaiverRefused, match=says) as refused:
        command.waive("latest", **({"until": TOMORROW} | WORDS | words))
    assert "\n" not in str(refused.value)
    assert waivers.all_of(workspace) == ()


def test_an_open_gate_an_unfinished_run_and_an_unknown_one_are_refused(workspace):
    closed(workspace, record(1, "open"), record(2, None))
    with pytest.raises(WaiverRefused, match="is open"):
        command.waive(record(1).id, until=TOMORROW, **WORDS)
    with pytest.raises(WaiverRefused, match="no gate to waive"):
        command.waive(record(2).id, until=TOMORROW, **WORDS)
    with pytest.raises(RunUnknown, match="Which run"):
        command.waive("nobody", until=TOMORROW, **WORDS)
    assert command.show(record(1).id)[2] == 0
    assert command.show(record(2).id)[2] == 1


def look(answers, number=None, rows="r"):
    return {"rows": rows, "answers": answers, "number": number, "alpha": 0.05, "total": 0.05}


def test_looks_at_the_same_rows_are_counted_by_what_was_answered():
    runs = [
        record(1, look=look("a")),
        record(2, look=look("a")),
        record(3, look=look("b")),
        record(4, look=look("c", rows="others")),
        record(5, look=look("c", number=3)),
        record(6, look=look("")),
        record(7),
    ]
    found = [looks_ledger.counted(one, runs) for one in runs]
    assert [one and one.number for one in found] == [1, 1, 2, 1, 3, None, None]
    assert [one and one.overspends for one in found] == [
        False,
        False,
        True,
        False,
        False,
        None,
        None,
    ]
    assert "params: {gate: {look: 2}}" in found[2].says()
    assert found[4].says().endswith("stated: 3.")
    assert looks_ledger.next_look("r", runs) == 4
    assert looks_ledger.next_look("r", runs, judged=3) == 6  # the best of three: three looks
    assert looks_ledger.next_look("nobody's", runs) == 1


def test_an_open_gate_that_spent_more_than_its_look_may_does_not_serve(workspace):
    closed(workspace, record(1, look=look("a")), record(2, "open", look=look("b")))
    _, text, status = command.show(record(2).id)
    assert status == 1
    assert "It is look 2 at the same held-out rows" in text
    closed(workspace, record(3, "open", look=look("b", number=2)))
    assert command.show(record(3).id)[2] == 0


def test_who_waits_elsewhere_is_told_what_the_gate_tells_also_of_looks_that_were_pruned(
    workspace, monkeypatch
):
    told = []
    monkeypatch.setattr(run_end, "call", lambda _path, events, **_: told.extend(events))
    monkeypatch.setattr(run_end.notify, "tell", lambda *_: None)
    parent = git(workspace, "rev-parse", "HEAD").strip()
    note_pruned(workspace, record(1, look=look("a"), parent=parent))
    closed(workspace, record(2, "open", look=look("b")))
    run_end.tell(workspace, None, record(2, "open", look=look("b")), print)
    assert command.show(record(2).id)[2] == 1
    assert (told[0]["event"], told[0]["payload"]["serves"]) == ("assay.gate.abstained", False)


@pytest.mark.parametrize("which", ["latest", "toy", "20261129"])
def test_who_waits_says_for_what(workspace, which):
    """The newest finished run would answer for what was deployed before."""
    with pytest.raises(gate_wait.NoEvent, match="State --event ID, or a run's whole id"):
        gate_wait.show(which, None, "1s", print)


def test_the_status_and_the_report_mention_a_waiver_that_holds(workspace, monkeypatch):
    from flows.commands import show

    closed(workspace, record(1))
    monkeypatch.setattr(show.workspace, "find", lambda _: workspace)
    monkeypatch.setattr(show.own_server, "status", lambda _: None)
    monkeypatch.setattr(show.runs, "open_artifact", lambda *_: workspace / "report.html")
    template = Path(show.__file__).parents[2] / "stages/templates/report.html.j2"
    page = template.read_text(encoding="utf-8").partition("<!doctype")
    (workspace / "report.html").write_text("".join(page[1:]), encoding="utf-8")
    assert "closed" in show.status(None, 10)[1]
    command.waive("latest", until=TOMORROW, **WORDS)
    data, text, _ = show.status(None, 10)
    assert f"waived to {TOMORROW}" in text
    assert data["waivers"][0]["by"] == "A. Tester"
    data, text, _ = show.report("latest", False, None)
    assert f"waived until {TOMORROW} by A. Tester" in text
    assert data["waived_until"] == TOMORROW

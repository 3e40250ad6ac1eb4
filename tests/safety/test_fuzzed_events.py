"""Anything as an event, a tag's message, a claim or a schedule: one error, or what was meant."""

import json
import os
import stat
import subprocess
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_fuzzed_files import ANY, GOOD, fuzz, refused

from containers.owner import Owner
from flows import deploy_claims
from flows.case import Case
from flows.deploy_event import FORMS, Deploy, NotADeploy
from flows.faults import Faults, validate
from flows.serving import _owner
from lineage import waivers
from lineage.run_tags import find, list_ids, list_runs, read_run

HOOK = Path(__file__).parents[2] / "flows/hooks/post-receive"
PARTS = {
    "case": "toy",
    "model": "1.4",
    "digest": "sha256:" + "0" * 64,
    "commit": "a" * 40,
}
ODD = st.sampled_from(
    [
        "../../x",
        "{{ 7*7 }}",
        "a\nb",
        "toy\n",
        "-rf",
        "$(id)",
        "a" * 9999,
        "\u202etoy",
        "\x00",
        "\uff11",
    ]
)


@given(st.sampled_from(sorted(PARTS)), ANY | ODD | st.text(max_size=80), ANY)
@fuzz
def test_a_deploy_event(part, value, beside):
    told = PARTS | {"beside": beside, part: value}
    with suppress(NotADeploy):
        deploy = Deploy.of(told)
        assert value == getattr(deploy, part)
        assert value.isascii()
        assert not set(value) & set(" \t\n'\"`$\\{}<>;&|*?#")
        assert json.loads(json.dumps(deploy.body(datetime.now(UTC))))["id"] == deploy.id
    with pytest.raises(NotADeploy) as caught:
        Deploy.of({part: value, "case": beside} if beside != "toy" else value)
    assert len(str(caught.value).splitlines()) == 1


WORDS = st.sampled_from(
    [
        "digest: ",
        "model: ",
        PARTS["digest"],
        "1.4",
        "\n",
        '"',
        "'",
        "`id`",
        "$(id)",
        "\\n",
        "}",
        " ",
    ]
)


@pytest.fixture(scope="module")
def pushed_to(tmp_path_factory):
    """A repository with the hook, whose curl writes down what it is to send."""
    root = tmp_path_factory.mktemp("hooked")
    for words in (
        ("init", "-q"),
        ("config", "user.name", "A Person"),
        ("config", "user.email", "a@example.org"),
        ("config", "assay.api", "http://127.0.0.1:1/api"),
        ("commit", "-q", "--allow-empty", "-m", "c"),
    ):
        subprocess.run(["git", *words], cwd=root, check=True)
    curl = root / "bin/curl"
    curl.parent.mkdir()
    curl.write_text(
        '#!/bin/sh\nwhile [ $# -gt 0 ]; do [ "$1" = --data-binary ] && printf "%s" "$2" > sent\n'
        "shift; done\n"
    )
    curl.chmod(curl.stat().st_mode | stat.S_IXUSR)
    return root


@settings(fuzz, max_examples=min(fuzz.max_examples, 300))
@given(
    st.lists(WORDS, max_size=12).map("".join) | st.text(max_size=60),
    st.sampled_from(
        ["deploy/toy/1", "deploy/toy/a/b", "toy#prod#1", "deploy/$(id)/1", "deploy/a'/1"]
    ),
    st.booleans(),
)
@example(f"digest: {PARTS['digest']}\nmodel: 1.4", "toy#prod#1", False)
@example(f"digest: {PARTS['digest']}", "deploy/toy/1", True)  # the tag of no commit
def test_the_message_of_a_pushed_tag(pushed_to, text, name, of_tree):
    target = "HEAD^{tree}" if of_tree else "HEAD"
    message = b"m\n" + text.encode(errors="replace").replace(b"\0", b"")
    words = ["git", "tag", "-f", "-a", "--cleanup=verbatim", "-F", "-", name, target]
    subprocess.run(words, cwd=pushed_to, input=message, check=True, capture_output=True)
    (pushed_to / "sent").unlink(missing_ok=True)
    before = {path.name for path in pushed_to.iterdir()}
    said = subprocess.run(
        ["sh", str(HOOK)],
        cwd=pushed_to,
        input=f"{'0' * 40} {'1' * 40} refs/tags/{name}\n".encode(),
        env={**os.environ, "PATH": f"{pushed_to / 'bin'}:{os.environ['PATH']}"},
        capture_output=True,
        check=True,
    )
    sent = pushed_to / "sent"
    if sent.exists():
        [event] = json.loads(sent.read_bytes())
        assert event["id"] == Deploy.of(event["payload"]).id
        assert set(event["payload"]) == set(FORMS)
        assert event["resource"] == {"prefect.resource.id": "assay.case.toy"}
    else:
        assert b"NOT raised" in said.stderr
    assert {path.name for path in pushed_to.iterdir()} - {"sent"} == before


@given(st.sampled_from(["notify", "schedule", "release", "reproduce"]), ANY, st.text(max_size=9))
@fuzz
def test_when_a_case_is_examined_and_who_is_told(section, value, word):
    keys = ("cron", "timezone", "budget", "webhook", "command", "on", "isolation")
    for part in (value, *({key: inner} for key in keys for inner in (value, word))):
        content = {**GOOD, section: part}
        with refused(Faults, f"case.yaml: {section}"):
            validate(Case, content, content, "case.yaml")


CLAIM = {"event": "", "deploy": PARTS, "flow_run_id": "f", "owner": str(Owner.me())}


@given(st.sampled_from([*CLAIM, "run", "ended", "error", "odd"]), ANY, st.binary(max_size=40))
@fuzz
def test_a_claim_and_a_note_of_who_runs_what(tmp_path_factory, key, value, raw):
    root = tmp_path_factory.mktemp("claims")
    event = Deploy(**PARTS).id
    file = root / ".assay/deploys" / f"{event}.json"
    file.parent.mkdir(parents=True)
    for content in (json.dumps({**CLAIM, "event": event, key: value}).encode(), raw):
        file.write_bytes(content)
        claim = deploy_claims.read(root, event)
        assert claim is None or claim.is_open() in (True, False)
        assert isinstance(_owner(file), Owner | None)


@settings(fuzz, max_examples=min(fuzz.max_examples, 300))
@given(ANY | st.text(max_size=40), st.sampled_from(["run", "waiver/20261201T000000-toy-ab"]))
def test_the_tag_of_a_run_or_a_waiver(pushed_to, value, kind):
    name = f"{kind}/20261201T000000-toy-ab"
    words = ["git", "tag", "-f", "-a", "--cleanup=verbatim", "-F", "-", name]
    text = f"toy\n\n{json.dumps(value)}\n".encode(errors="replace")
    subprocess.run(words, cwd=pushed_to, input=text, check=True, capture_output=True)
    assert list_runs(pushed_to) == []
    assert waivers.all_of(pushed_to) == ()
    for one in list_ids(pushed_to):
        with pytest.raises(Exception, match="holds no record"):
            read_run(pushed_to, find(pushed_to, one))

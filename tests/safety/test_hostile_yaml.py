"""A YAML file of somebody else's: one fault that names it, in bounded time, and nothing is made."""

import pytest
import yaml

from flows.faults import Faults, plain, read_yaml
from lineage import yaml12
from stages.contract_terms import read_contract
from stages.stage import InputFault
from stages.yaml_nesting import is_too_deep

LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "\n".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]"
    for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
HOSTILE = {
    "aliases of aliases": LAUGHS,
    "deep lists": "a: " + "[" * 3000 + "]" * 3000,
    "deeper than a person writes": "a: " + "[" * 60 + "]" * 60,
    "deep maps": "a: " + "{a: " * 3000 + "}" * 3000,
    "deep blocks": "\n".join(" " * at + "a:" for at in range(1500)),
    "no such number": 'a: !!int "x"',
    "no such day": "a: 2001-99-99",
    "a number of 5000 digits": f"a: {'9' * 5000}",
    "a number of no digits": 'a: !!float ""',
    "one text of several lines": '"\\e[2J\\nno fault"',
    "python": 'a: !!python/object/apply:os.mkdir ["canary"]\nb: !!int "x"',
    "another encoding": "\x00",
    "two documents": "a: 1\n---\nb: 2",
    "too much": "a: b\n" * (1 << 18),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_case_or_params_is_one_fault(tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "case.yaml").write_text(text)
    with pytest.raises(Faults, match=r"^cases/a/case\.yaml") as caught:
        plain(read_yaml(tmp_path / "case.yaml", "cases/a/case.yaml"), "cases/a/case.yaml")
    assert caught.value.exit_status == 2
    assert len(caught.value.faults) == 1
    assert len(str(caught.value).splitlines()) == 1
    assert str(caught.value).isprintable()
    assert not (tmp_path / "canary").exists()


@pytest.mark.parametrize("text", list(HOSTILE.values())[:-1], ids=list(HOSTILE)[:-1])
def test_a_contract_is_one_fault(tmp_path, text):
    (tmp_path / "c.yaml").write_text(text)
    with pytest.raises(InputFault, match=r"data_contracts/c\.yaml"):
        read_contract(tmp_path / "c.yaml")


def test_what_a_person_nests_is_not_too_deep(tmp_path):
    text = "a: " + "[" * 45 + "1" + "]" * 45
    (tmp_path / "case.yaml").write_text(text)
    assert plain(read_yaml(tmp_path / "case.yaml", "case.yaml"))["a"]
    assert is_too_deep(text.replace("[1]", "[[[[[[1]]]]]]"))
    # Where libyaml gives up before it tells how deep it is: ruamel would go on for half a minute.
    assert is_too_deep("a: " + "[" * 3000 + "]" * 3000)
    assert not is_too_deep("a: [1, 2\n" * 40)


@pytest.mark.parametrize(
    "text", ["a: !!int x", "a: 2001-99-99", 'a: !!float ""', f"a: {'9' * 5000}", "[" * 9999]
)
def test_a_lock_that_lies_is_no_lock(text):
    with pytest.raises(yaml.YAMLError):
        yaml12.load(text)


@pytest.mark.parametrize("name", [".", "missing"])
def test_a_file_that_cannot_be_read_is_named(tmp_path, name):
    with pytest.raises(Faults, match=r"^case\.yaml "):
        read_yaml(tmp_path / name, "case.yaml")

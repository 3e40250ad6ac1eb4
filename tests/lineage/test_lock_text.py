"""The lock's text is DVC's own, byte for byte."""

import io
from collections import OrderedDict
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage import lock_text, yaml12

WORDS = st.sampled_from(
    ["a/b.py", "../../x.py", "yes", "NO", "123e4567", "1e5", "0o17", "0x1f", "12:30", "true", "~"]
) | st.text("abe01.:/_- '#é", min_size=1, max_size=12)
HASH = st.text("0123456789abcdef", min_size=32, max_size=32)
ITEM = st.fixed_dictionaries(
    {"path": WORDS, "hash": st.just("md5"), "md5": HASH, "size": st.integers(0, 10**9)}
)
# Few floats: DVC itself rounds long ones (-1.9656384020704283e+170) each time it rewrites the file.
VALUE = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([0.5, 1e-06, 3.0, -2.25, 1e16])
    | WORDS
)
ENTRY = st.fixed_dictionaries(
    {
        "cmd": st.text("assay stge-", min_size=1, max_size=120).filter(str.strip),
        "deps": st.lists(ITEM, min_size=1, max_size=3),
        "params": st.dictionaries(WORDS, st.dictionaries(WORDS, VALUE, min_size=1), max_size=2),
        "outs": st.lists(ITEM, min_size=1, max_size=1),
    }
)


def as_dvc(path: Path, entries: list[tuple[str, dict]]) -> str:
    from dvc.utils.serialize import modify_yaml

    for name, entry in entries:
        with modify_yaml(str(path)) as data:
            if not data:
                data.update({"schema": "2.0"})
            data["stages"] = data.get("stages", {})
            data["stages"].update({name: OrderedDict(entry)})
    return path.read_text()


@settings(deadline=None, max_examples=30)
@given(
    entries=st.lists(
        st.tuples(st.sampled_from(["a", "b-c", "on", "d"]), ENTRY), min_size=1, max_size=4
    )
)
def test_any_sequence_of_entries_reads_as_dvc_writes_it(tmp_path_factory, entries):
    theirs = as_dvc(tmp_path_factory.mktemp("lock") / "dvc.lock", entries)
    ours = ""
    for name, entry in entries:
        ours = lock_text.splice(ours, name, entry)
    assert ours == theirs


@settings(deadline=None, max_examples=100)
@given(content=st.dictionaries(WORDS, VALUE, max_size=5))
def test_yaml_is_read_as_dvc_reads_it(content):
    from ruamel.yaml import YAML

    out = io.StringIO()
    YAML().dump(content, out)
    assert yaml12.load(out.getvalue()) == YAML(typ="safe", pure=True).load(out.getvalue())


@pytest.mark.parametrize(
    ("text", "value"),
    [("yes", "yes"), ("12:30", "12:30"), ("010", 10), ("1e3", 1000.0), ("0o17", 15), ("~", None)],
)
def test_plain_words_are_those_of_yaml_1_2(text: str, value: object):
    assert yaml12.load(f"a: {text}\n") == {"a": value}


def test_a_broken_lock_without_a_journal_says_what_to_do(tmp_path: Path):
    (tmp_path / "dvc.lock").write_text("")
    with pytest.raises(lock_text.LockBroken, match=r"git checkout -- dvc\.lock"):
        lock_text.read(tmp_path / "dvc.lock", tmp_path / "journal")

"""The form of a figure, its file and its table; never a time."""

import json
import re
from pathlib import Path

import pytest

from bench import __main__ as command
from bench.rig import clock, figures
from bench.rig.figures import Figure

ROOT = Path(__file__).resolve().parents[2]
FIELDS = {"figure", "value", "unit", "target", "n", "low", "high"}
RESULTS = sorted((ROOT / "bench/results").glob("*.json"))


@pytest.mark.parametrize(
    ("value", "target", "met"),
    [
        pytest.param(0.2, "<= 0.3", True, id="under"),
        pytest.param(0.3, "<= 0.3", True, id="on the line"),
        pytest.param(0.4, "<= 0.3", False, id="over"),
        pytest.param(2.1, ">= 2", True, id="at least"),
        pytest.param(1.9, ">= 2", False, id="less than at least"),
        pytest.param(1.9, None, None, id="nothing promised"),
    ],
)
def test_a_figure_keeps_its_target_or_not(value, target, met):
    assert Figure(figure="it", value=value, unit="s", target=target).is_met() is met


def test_a_target_that_cannot_be_read_is_told():
    with pytest.raises(ValueError, match="Got: about 3"):
        Figure(figure="it", value=1.0, unit="s", target="about 3").is_met()


def test_repeated_measurements_become_a_median_with_its_range():
    found = figures.median("it", "s", [3.0, 1.0, 2.0], "<= 2.5")
    assert (found.value, found.low, found.high, found.n) == (2.0, 1.0, 3.0, 3)


def test_what_is_written_is_read_back(tmp_path):
    made = [figures.median("it", "s", [1.0, 2.0], "<= 3"), Figure(figure="n", value=1, unit="x")]
    figures.write(tmp_path / "results/it.json", {"cores": 2}, made)
    assert figures.read(tmp_path / "results/it.json") == made
    content = json.loads((tmp_path / "results/it.json").read_text())
    assert set(content) == {"machine", "figures"}
    assert all(set(figure) == FIELDS for figure in content["figures"])


def test_the_table_stands_beside_its_targets():
    lines = figures.table(
        [
            figures.median("quick enough", "s", [0.1, 0.2, 0.3], "<= 0.3"),
            Figure(figure="slow", value=9.0, unit="x", target="<= 1.0"),
            Figure(figure="told only", value=5.0, unit="MB"),
        ]
    ).splitlines()
    cells = [re.split(r"\s{2,}", line) for line in lines]
    assert cells[1] == ["quick enough", "0.2 s", "0.1..0.3", "3", "<= 0.3", "met"]
    assert cells[2] == ["slow", "9 x", "1", "<= 1.0", "MISSED"]
    assert cells[3] == ["told only", "5 MB", "1"]


def test_contestants_take_turns_and_the_first_round_does_not_count():
    order = []
    times = clock.in_turn(
        {"a": lambda: order.append("a"), "b": lambda: order.append("b")},
        rounds=2,
        before_round=order.append,
    )
    assert order == [0, "a", "b", 1, "a", "b", 2, "a", "b"]
    assert [len(found) for found in times.values()] == [2, 2]


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_a_committed_result_is_of_a_benchmark_and_in_its_form(path):
    assert path.stem in command.NAMES
    content = json.loads(path.read_text())
    assert {"cpu", "cores", "memory_gib", "python", "load_average"} <= set(content["machine"])
    for figure in figures.read(path):
        figure.is_met()
        assert figure.low is None or figure.low <= figure.value <= figure.high


def test_an_unknown_benchmark_is_answered_with_those_that_exist(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["bench", "nope"])
    with pytest.raises(SystemExit) as left:
        command.main()
    assert left.value.code == 2
    assert "One of: cli, engine" in capsys.readouterr().err

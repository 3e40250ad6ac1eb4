"""The page draws the plan of its case, from what was there before to the verdict."""

import json
import re
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest

from stages.sections.lineage import view

PLAN = {
    "data": {"reads": [], "given": {"code": "code"}},
    "split": {"reads": ["data"], "given": {"code": "code"}},
    "gate": {"reads": ["data", "split"], "given": {"data_contracts/toy.yaml": "contract"}},
    "report": {"reads": ["gate"], "given": {}},
}
ANSWER = SimpleNamespace(case="toy", gate=SimpleNamespace(verdict="closed"))


def told(tmp_path, plan=PLAN):
    (tmp_path / "graph.json").write_text(json.dumps({"stages": plan}))
    return view(ANSWER, {"graph": tmp_path / "graph.json"}, True)


def test_every_stage_and_what_was_there_before_has_a_box(tmp_path):
    found = told(tmp_path)
    titles = re.findall(r'font-size="12"[^>]*>([^<]+)<', found["picture"])
    assert sorted(titles) == ["code", "data", "gate", "gate closed", "report", "split", "toy.yaml"]
    assert found["given"] == [
        ("code", "code", ["data", "split"]),
        ("data_contracts/toy.yaml", "contract", ["gate"]),
    ]
    assert found["reads"] == {
        "data": ["code"],
        "split": ["data"],
        "gate": ["data_contracts/toy.yaml", "split"],
        "report": ["gate"],
    }


def test_an_arrow_that_follows_from_others_is_left_out(tmp_path):
    # code -> data -> split -> gate -> report and the verdict, and the contract -> gate.
    assert told(tmp_path)["picture"].count("<path ") == 6


def test_names_of_a_case_cannot_break_the_page(tmp_path):
    plan = {"</text><script>x": {"reads": [], "given": {"<script>y": "data"}}}
    picture = told(tmp_path, plan)["picture"]
    assert "<script" not in picture
    ET.fromstring(picture)  # noqa: S314 - our own


def test_a_plan_without_stages_is_no_section(tmp_path):
    assert told(tmp_path, {}) is None


CASES = sorted(Path(__file__).parents[2].glob("cases/*/graph.json"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.parent.name)
def test_the_letters_are_legible_in_a_page_and_names_are_whole(path):
    found = view(ANSWER, {"graph": path}, True)
    width = float(re.search(r'viewBox="0 0 (\d+)', found["picture"])[1])
    assert 12 * min(1, 1000 / width) > 11  # a page is 1000 px wide within its card
    texts = re.findall(r'font-size="12"[^>]*>([^<]+)<', found["picture"])
    stages = json.loads(path.read_text())["stages"]
    assert not stages.keys() - {*texts, *map("".join, pairwise(texts))}

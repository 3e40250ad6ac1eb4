"""The page draws the plan of its case, from what was there before to the verdict."""

import json
import re
import xml.etree.ElementTree as ET
from types import SimpleNamespace

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

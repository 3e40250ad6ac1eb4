"""From a closed gate to a case with the mitigation in it, and its own gate."""

import json

import pytest
from clone import Clone

pytestmark = pytest.mark.slow


def test_an_offer_is_put_into_a_case_of_its_own_and_held_to_the_gate(clone: Clone) -> None:
    refused = clone.assay("mitigate", "toy", status=2)
    assert "toy has no finished run" in refused.stderr
    clone.edit("params.yaml", "min_rows: 20", "min_rows: 10")
    first = clone.run()
    listed = json.loads(clone.assay("mitigate", "toy", "--json", status=0).stdout)
    accepted = [one["kind"] for one in listed["mitigate"]["offers"] if one["accepted"]]
    assert "reference_steps" in accepted
    refused = clone.assay("mitigate", "toy", "--apply", "nonsense", status=2)
    assert "there is no mitigation nonsense" in refused.stderr

    words = ("mitigate", "toy", "--apply", "reference-steps", "--isolation", "process", "--json")
    done = clone.assay(*words)
    assert done.returncode in (0, 1), done.stderr
    answer = json.loads(done.stdout)
    assert answer["before"] == first["run"]
    passed = {
        when: {one["name"]: one["passed"] for one in answer[f"gate_{when}"]["criteria"]}
        for when in ("before", "after")
    }
    assert passed["before"]["parity"] is False
    assert passed["after"]["parity"] is True
    figures = {one["name"]: one["figure"] for one in answer["gate_after"]["criteria"]}
    assert figures["agreement"] == 1
    judged = sum(one["acts_on"] != "confidence" for one in listed["mitigate"]["offers"])
    stated = answer["gate_after"]["look"]["number"]
    assert stated == 1 + judged  # it was picked as the best of these, on the same rows
    assert (
        "nothing is wrong with its files" in clone.assay("check", answer["case"], status=0).stdout
    )
    again = clone.assay(*words, status=2)
    assert "is there already" in again.stderr

    gate = json.loads(clone.assay("gate", answer["run"], "--json").stdout)
    assert gate["look"] == {"number": 2, "stated": stated}

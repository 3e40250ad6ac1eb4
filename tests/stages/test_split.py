import io
import json

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

from stages.split import Inputs, SplitParams, run
from stages.stage import InputFault

PURPOSES = ["diagnose", "fit", "prove"]


def manifest(folder, name, labels, groups):
    folder.mkdir()
    lines = pd.DataFrame(
        {"id": [f"{name}-{i}" for i in range(len(labels))], "row": "0", "path": ""}
    )
    lines["label"], lines["group"] = labels, groups
    lines.to_csv(folder / "manifest.csv", index=False)
    return folder


def split(tmp_path, labels, groups, left_out="", **params):
    (tmp_path / "left_out.csv").write_text("dataset,id,reason\n" + left_out)
    inputs = Inputs(
        sim=manifest(tmp_path / "sim", "sim", ["0", "1", ""], ["g"] * 3),
        real=manifest(tmp_path / "real", "real", labels, groups),
        left_out=tmp_path / "left_out.csv",
        recorded=tmp_path / "recorded",
    )
    outputs = run(SplitParams(**params), inputs, tmp_path)
    roles = pd.read_csv(io.StringIO(outputs.roles), dtype=str, keep_default_na=False)
    return outputs.report, roles


def test_no_group_has_two_roles_and_labels_keep_their_shares(tmp_path):
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 5, 600).astype(str).tolist()
    groups = [f"g{i // 10}" for i in range(600)]
    report, roles = split(tmp_path, labels, groups)
    real = roles[roles["dataset"] == "real"]
    assert len(real[["group", "role"]].drop_duplicates()) == 60
    shares = pd.crosstab(real["label"], real["role"], normalize="index")
    assert np.abs(shares - [0.34, 0.33, 0.33]).to_numpy().max() < 0.06
    assert sum(report.rows[name] for name in PURPOSES) == 600
    assert sum(report.groups[name] for name in PURPOSES) == 60


def test_the_order_is_that_of_the_manifests_sim_first(tmp_path):
    _, roles = split(tmp_path, ["0"] * 4, list("abcd"))
    assert roles["id"].tolist() == ["sim-0", "sim-1", "sim-2", *(f"real-{i}" for i in range(4))]
    assert roles["role"].tolist()[:3] == ["validation", "validation", "unlabelled"]


def test_rows_without_a_label_are_unlabelled(tmp_path):
    report, roles = split(tmp_path, ["", "", ""], ["a", "a", "b"])
    assert set(roles.loc[roles["dataset"] == "real", "role"]) == {"unlabelled"}
    assert report.rows["unlabelled"] == 4  # one of sim


def test_rows_that_the_contract_left_out_have_no_role(tmp_path):
    _, roles = split(tmp_path, ["0", "x", "1"], list("abc"), left_out="real,real-1,label\n")
    assert roles.loc[roles["dataset"] == "real", "id"].tolist() == ["real-0", "real-2"]


def test_the_same_seed_gives_the_same_roles_and_another_seed_others(tmp_path):
    labels, groups = [str(i % 3) for i in range(60)], [f"g{i // 2}" for i in range(60)]
    texts = []
    for number, seed in enumerate((1, 1, 2)):
        place = tmp_path / str(number)
        place.mkdir()
        texts.append(split(place, labels, groups, seed=seed)[1].to_csv())
    assert texts[0] == texts[1] != texts[2]


def test_rows_without_a_group_are_groups_of_their_own(tmp_path):
    report, _ = split(tmp_path, [str(i % 2) for i in range(60)], [""] * 60)
    assert min(report.rows[name] for name in PURPOSES) >= 18


def test_a_share_of_nothing_gets_nothing(tmp_path):
    shares = {"diagnose": 1.0, "fit": 0.0, "prove": 1.0}
    report, _ = split(tmp_path, ["0"] * 10, [str(i) for i in range(10)], roles=shares)
    assert (report.rows["diagnose"], report.rows["fit"], report.rows["prove"]) == (5, 0, 5)


def test_a_label_that_is_no_class_number_is_named(tmp_path):
    with pytest.raises(InputFault, match="real: the label of real-1 is 'cat'"):
        split(tmp_path, ["0", "cat"], list("ab"))


def test_nothing_left_by_the_contract_is_named(tmp_path):
    with pytest.raises(InputFault, match="real: the contract left out all 1 rows"):
        split(tmp_path, ["0"], ["a"], left_out="real,real-0,NaN\n")


@pytest.mark.parametrize(
    "roles",
    [{"diagnose": 1.0}, {"diagnose": -1.0, "fit": 1, "prove": 1}, dict.fromkeys(PURPOSES, 0.0)],
)
def test_shares_that_make_no_sense_are_refused(roles):
    with pytest.raises(ValidationError, match="expected a share for each of"):
        SplitParams(roles=roles)


def log(tmp_path, ids):
    (tmp_path / "recorded/candidate").mkdir(parents=True)
    (tmp_path / "recorded/candidate/ids.json").write_text(json.dumps(ids))


def test_real_rows_that_were_not_logged_are_left_out_and_counted(tmp_path):
    log(tmp_path, ["real-4", "real-0", "another"])
    report, roles = split(tmp_path, ["0"] * 5, list("abcde"))
    assert report.not_recorded == 3
    assert roles.loc[roles["dataset"] == "real", "id"].tolist() == ["real-0", "real-4"]


def test_a_recording_of_other_rows_is_refused_with_ids_of_both(tmp_path):
    log(tmp_path, ["frame-1", "frame-2"])
    with pytest.raises(InputFault, match=r"ids are like real-0; the recording's like frame-1, fr"):
        split(tmp_path, ["0"], ["a"])


def test_targets_of_a_regression_keep_their_shares_over_their_range(tmp_path):
    rng = np.random.default_rng(0)
    labels = [f"{value:.3f}" for value in rng.normal(size=300)]
    report, roles = split(tmp_path, labels, [""] * 300, task="regression")
    real = roles[roles["role"].isin(["diagnose", "fit", "prove"])]
    assert min(report.rows[name] for name in ("diagnose", "fit", "prove")) > 90
    means = real["label"].astype(float).groupby(real["role"]).mean()
    assert means.max() - means.min() < 0.1


def test_a_target_that_is_no_number_is_named(tmp_path):
    with pytest.raises(InputFault, match=r"real-1 is 'warm', no number\. State the target's range"):
        split(tmp_path, ["-1.5e-3", "warm"], list("ab"), task="regression")

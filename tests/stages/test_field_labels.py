"""A map of labels is claimed only where other rows than those that judge it asked for it."""

import numpy as np
import pytest

from stages.answers import rows_of
from stages.field_labels import Answers, confusions


def world(folder, labels, answers, num_fit):
    """Write real rows of which the last `num_fit` fit and the others diagnose."""
    lines = ["dataset,id,row,path,label,group,role"]
    for at, label in enumerate(labels):
        role = "fit" if at >= len(labels) - num_fit else "diagnose"
        lines.append(f"real,r{at},{at},,{label},g{at % 10},{role}")
    (folder / "roles.csv").write_text("\n".join(lines) + "\n")
    (folder / "outputs").mkdir()
    np.save(folder / "outputs/real-reference.labels.npy", np.asarray(answers))
    nowhere = folder / "nowhere"
    found = Answers(
        roles=folder / "roles.csv",
        outputs=folder / "outputs",
        layers=nowhere,
        sim_tensors=nowhere,
        real_tensors=nowhere,
    )
    return confusions(found, rows_of(found.roles, "real", "diagnose"))


@pytest.mark.parametrize(("num_fit", "is_found"), [(40, True), (5, False)])
def test_a_map_is_learnt_of_rows_that_do_not_judge_it(tmp_path, num_fit, is_found):
    labels = np.arange(80) % 4
    found = world(tmp_path, labels, (labels + 1) % 4, num_fit)
    assert (found.regained is not None) == is_found
    assert found.named[0].kind == "off_by_one"

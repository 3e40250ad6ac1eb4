"""Class names and class numbers: one mapping, stable, that loses nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.faults import Faults
from flows.scaffold.class_names import regression_label, settle
from flows.scaffold.samples import is_number

names = st.text(st.characters(categories=("L", "N", "P", "Zs")), min_size=1, max_size=8)
words = names.filter(lambda name: not is_number(name) and name == name.strip())
sets = st.dictionaries(st.sampled_from(["sim", "real", "train"]), st.lists(words), min_size=1)


@given(sets)
def test_every_name_has_one_number_and_comes_back(labels):
    known = {label for listed in labels.values() for label in listed}
    if not known:
        with pytest.raises(Faults, match="No set has a label"):
            settle(labels)
        return
    classes = settle(labels)
    assert {classes.names[int(classes.number(name))] for name in known} == known
    assert sorted(int(classes.number(name)) for name in known) == list(range(len(known)))
    assert classes.names == tuple(sorted(known))


@given(sets, st.randoms())
def test_the_order_of_sets_and_rows_changes_nothing(labels, random):
    if not any(labels.values()):
        return
    turned = {key: random.sample(listed, len(listed)) for key, listed in reversed(labels.items())}
    assert settle(turned) == settle(labels)


@given(st.lists(st.integers(0, 30), min_size=1))
def test_class_numbers_from_0_stay_what_they_are(numbers):
    classes = settle({"sim": [str(number) for number in [0, *numbers]]})
    assert not classes.renamed
    assert all(classes.number(f"{number}.0") == str(number) for number in numbers)


@pytest.mark.parametrize(
    ("labels", "stated", "names"),
    [
        pytest.param(["1", "2", "3"], None, ("1", "2", "3"), id="numbers from 1"),
        pytest.param(["1", "2"], "3", ("0", "1", "2"), id="numbers from 1, and class 0 is known"),
        pytest.param(["0", "-1", ""], "2", ("0", "1"), id="-1 and nothing are no labels"),
        pytest.param(["cat", "dog"], "dog,cat", ("dog", "cat"), id="names in the model's order"),
        pytest.param(["1", "0"], "dog,cat", ("dog", "cat"), id="numbers of named classes"),
        pytest.param(["True", "False"], None, ("False", "True"), id="truth values"),
    ],
)
def test_classes_of(labels, stated, names):
    assert settle({"sim": labels}, stated).names == names


@pytest.mark.parametrize(
    ("labels", "stated", "says"),
    [
        pytest.param(["0", "7"], "5", "labels are 0 to 7", id="a number beyond the stated"),
        pytest.param(["cat", "1"], None, "partly numbers", id="names and numbers"),
        pytest.param(["cat", "cow"], "cat,dog", "no class of the order of --classes", id="unknown"),
        pytest.param(["cat"], "3", "1 different labels", id="fewer names than stated"),
        pytest.param(["cat"], "cat,cat", "different names", id="a name twice"),
        pytest.param(["0", "2000000000"], None, "2000000001 classes", id="an id as a class"),
        pytest.param(["0", "1"], "2000000000", "2000000000 classes", id="too many stated"),
        pytest.param(["0.5", "1"], None, "--task regression", id="quantities"),
    ],
)
def test_classes_are_refused(labels, stated, says):
    with pytest.raises(Faults, match=says):
        settle({"sim": labels}, stated)


@pytest.mark.parametrize("text", ["cat", "inf", "1_000"])
def test_what_is_no_quantity_is_refused(text):
    with pytest.raises(Faults, match="no finite number"):
        regression_label(text)

"""A side's postprocessing: raw outputs in, one label a row out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sides.case_code import CaseCodeError, calling, load

if TYPE_CHECKING:
    from typing import Optional

    from numpy.typing import NDArray

NO_ANSWER = -1  # as a recording has it where none was logged
LABEL_TYPES = {"classification": ("<i8", "biu"), "regression": ("<f8", "biuf")}


class Rule(NamedTuple):
    """What turns raw outputs into labels."""

    task: str
    function: Any  # None: the largest output wins, of a regression the only one
    what: str  # the key that states it: candidate.postprocess
    model: str  # whose outputs, for messages

    @property
    def dtype(self) -> str:
        """The type in which labels are written."""
        return LABEL_TYPES[self.task][0]

    def label(self, raw: NDArray[Any]) -> NDArray[Any]:
        """Return one label a row; -1 where outputs that are no numbers say no class.

        The largest output of a row that holds a NaN is unknown. A rule of the case's own may know
        what to do with some NaN in a row; of nothing but NaN it can know nothing either.

        Raises:
            CaseCodeError: it failed, or made no labels.
        """
        if self.function is None:
            return default_labels(self.task, raw, self.model, self.what)
        with calling(self.what):
            made = np.asarray(self.function(np.array(raw)))
        kinds = LABEL_TYPES[self.task][1]
        if made.shape != (len(raw),) or made.dtype.kind not in kinds:
            wanted = "numbers" if "f" in kinds else "whole numbers"
            text = "%s made %s %s of %d rows; expected %s (rows,)."
            got = (self.what, made.dtype, list(made.shape), len(raw), wanted)
            raise CaseCodeError(text % got)
        return answered(made, np.isnan(raw).all(axis=1)) if self.task == "classification" else made


def rule_of(postprocess: Optional[str], task: str, side: str, model: str) -> Rule:
    """Load a side's rule."""
    what = f"{side}.postprocess"
    return Rule(task, load(postprocess, what) if postprocess else None, what, model)


def default_labels(task: str, raw: NDArray[Any], what: str, key: str) -> NDArray[Any]:
    """Return the largest output's class; of a regression, the only output.

    Raises:
        CaseCodeError: the outputs alone do not say it.
    """
    width = raw.shape[1]
    if task == "regression":
        if width != 1:
            raise CaseCodeError(f"{what} has {width} outputs a row: state {key}.")
        only: NDArray[Any] = raw[:, 0]
        return only
    if width == 1:
        raise CaseCodeError(f"{what} has one output a row: state {key}.")
    return largest(raw)


def largest(raw: NDArray[Any]) -> NDArray[Any]:
    """Return the class of each row's largest output; -1 where a NaN keeps it unknown.

    numpy takes the first NaN for the largest: a model that answers nothing but NaN would be scored
    as if it answered class 0.
    """
    return answered(np.argmax(raw, axis=1), np.isnan(raw).any(axis=1))


def answered(labels: NDArray[Any], lost: NDArray[Any]) -> NDArray[Any]:
    """Return labels with -1 on the lost rows."""
    if not lost.any():
        return labels
    signed = labels.astype(np.int64)
    signed[lost] = NO_ANSWER
    return signed

"""What a run says while it is under way."""

from flows.investigation import Investigation
from sides.privacy import NOT_KEPT


def test_that_nothing_printed_is_kept_is_said_once_a_run() -> None:
    said: list[str] = []
    run = Investigation(None, (), None, None, None, "", said.append, None, None)  # type: ignore[arg-type]
    for name in ("preprocess-reference", "predict-reference"):
        run._pass_on(name, NOT_KEPT + "\n")
        run._pass_on(name, "another line")
    assert said == [
        "what stages print is not kept: case.yaml says `pictures: none`",
        "preprocess-reference | another line",
        "predict-reference | another line",
    ]

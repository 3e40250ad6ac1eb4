"""What only the owner of the data can answer, and what would decide the most."""

from assay.causes import OF_VALIDATION, UNNAMED, Cause
from stages.scene import Scene

MOST = 6
REST = (
    "What does the sensor see in the field that was never simulated: objects, places, weather?",
    "Was anything about the sensor, its mounting or its driver changed since simulation was made?",
)


def questions(causes: tuple[Cause, ...], scene: Scene) -> list[str]:
    """Ask first about what costs most; what is harmless needs no answer."""
    guilty = [cause for cause in causes if not cause.harmless]
    asked: list[str] = []
    for cause in guilty:
        suspect = scene.suspect(cause)
        asked += suspect.questions if suspect is not None else []
        if cause.component == "data" and cause.kind in UNNAMED:
            asked += REST
    if not scene.labelled:
        asked.append("Can some real rows be labelled? Without labels no loss can be seen.")
    elif any(cause.undecided and cause.kind not in OF_VALIDATION for cause in guilty):
        asked.append(
            "Can more real rows be labelled, from more groups? They would decide what is left open."
        )
    return list(dict.fromkeys(asked))[:MOST]

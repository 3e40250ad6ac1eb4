"""What the causes are called and what the verdict says of them."""

from assay.causes import Cause
from assay.shares import NOTHING, PREPROCESSING
from stages.actions import action, can_roll_back, is_data, roll_back
from stages.answers import why_unknown
from stages.evidence import changes, together
from stages.figures import percent
from stages.labels_needed import would
from stages.scene import Scene
from stages.stage import NotApplicable

NEVER = (
    "Rows that nobody logged: what a sensor, a filter or a person dropped before it was stored.",
    "Cues that simulation has and the field lacks, beyond what was altered one at a time.",
)

TOO_GOOD = {  # the field is as good as it was: what it is held against was not
    "leakage": "Validation looks {} better by it than it is",
    "replay": "What was reported lies {} above validation",
}


def title(cause: Cause, scene: Scene) -> str:
    """Name a cause in one line."""
    if cause.component == "preprocessing":
        own = scene.own_difference(cause)
        if own and own.transform:
            return f"Step `{own.step}`: {own.transform.name}"
        where = f"Step `{cause.step}`" if cause.step else "The preprocessing"
        return f"{where} differs, and no explanation fits"
    suspect = scene.suspect(cause)
    if suspect is not None:
        return suspect.title.rstrip(".")
    what = "labels" if scene.own.is_share else "answers"
    if cause.component == "data":
        if cause.kind == "unknown":
            return "The reference itself does worse on real rows; nothing examined says why"
        return "Simulation and reality differ: the reference itself does worse on real rows"
    return {
        "model": "The two models answer differently on the same tensors",
        "postprocessing": (
            f"Equal raw outputs become different {what}: the postprocessing differs"
        ),
        "deployment": "The sides answer differently, by their preprocessing or by their model",
    }[cause.component]


def verdict(causes: tuple[Cause, ...], scene: Scene, *, quiet: bool = False) -> str:
    """Say in a few sentences what broke, what mending brings, and what to do now.

    A fault of the deployment leads even where the data cost more: it is what can be mended today.

    Args:
        causes: as ranked.
        scene: what the sentences may speak of.
        quiet: that nothing broke is the likeliest answer.
    """
    guilty = [cause for cause in causes if not cause.harmless]
    num_spared = len(causes) - len(guilty)
    if not guilty:
        said = [_nothing_broke(scene), _before(scene)]
        return _joined(*said, _harmless(num_spared), _unknown(scene), _labels(scene))
    clear = sorted((cause for cause in guilty if _is_clear(cause)), key=is_data)
    undecided = [_undecided(cause, scene) for cause in guilty[1:] if cause.undecided]
    end = [*undecided, _harmless(num_spared, " beside it"), _unknown(scene), _labels(scene)]
    if not clear:
        first = guilty[0]
        said = [f"{title(first, scene)}.", _unclear(first, scene), _before(scene)]
        said[2:2] = [changes(first), together(scene)]
        said[:0] = ["Nothing is shown to be broken."] if quiet else []
        return _joined(*said, action(first, scene), *end)
    first, *others = clear
    said = [f"{title(first, scene)}.", _after(clear, causes, scene), _cost(first, scene)]
    said += [*(_also(cause, scene) for cause in others), _one_at_a_time(guilty, scene)]
    said.append(_before(scene))
    return _joined(*said, action(first, scene), *end)


def gap(scene: Scene) -> str:
    """Say what the gap is measured in, before its parts are shown."""
    found, metric = scene.shares.gap, scene.metric
    if found is not None:
        known = scene.shares.candidate is not None
        end = "the field" if known else "what is known of the field"
        return (
            f"In {_of(scene, '') or metric.word} {end} is "
            f"{metric.beside(found, 'validation')}. Each part is {_what_is_lost(scene)} when "
            f"that part alone is exchanged."
        )
    if scene.labelled:
        return "Validation has no labels: what lies between it and the field is not known."
    return "No real row has a label: what is measured is agreement with the reference."


def parts(scene: Scene) -> str:
    """Say how the parts of the gap were told apart."""
    return {
        "three factors": (
            "Preprocessing, model and postprocessing are exact Shapley shares over paired rows, "
            "from all eight ways to combine them."
        ),
        "shapley": "Preprocessing and model are exact Shapley shares over paired rows.",
        "in order": (
            "The preprocessing was exchanged first, over paired rows: in another order the shares "
            "of preprocessing and model could differ."
        ),
        "as a whole": "Preprocessing and model cannot be told apart: no tensors were recorded.",
        "preprocessing alone": (
            "The candidate's preprocessing in front of the reference's model; what the candidate's "
            "model answers was not recorded."
        ),
        "nothing": "Nothing of the candidate could be exchanged.",
    }[scene.shares.attribution]


def not_examined(scene: Scene) -> list[str]:
    """List what would have to be looked at before "nothing else" could be said."""
    said = []
    for what, answer in (
        ("Preprocessing step by step", scene.parity),
        ("Exchange of single steps", scene.swap),
        ("Raw samples, figure by figure", scene.inputs),
        ("Layer by layer", scene.features),
        ("Few-shot fine-tuning", scene.probe),
    ):
        if isinstance(answer, NotApplicable):
            said.append(f"{what}: {answer.not_applicable}")
    said += _not_recorded(scene)
    for where, deviation in zip(("validation", "real"), scene.deviations or (), strict=False):
        if deviation == 0:
            said.append(
                f"R² on {where} rows: their targets are all equal, and it has no meaning there "
                f"(told as 1 where every answer is exact, else 0). State metric: mae."
            )
    if not scene.labelled:
        said.append(
            f"{_capital(scene.own.word)} on real rows: none of them has a label. "
            f"{_would_show(scene)}".strip()
        )
    return [*said, *scene.unexamined, *NEVER]


def _joined(*said: str) -> str:
    return " ".join(sentence for sentence in said if sentence)


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _is_clear(cause: Cause) -> bool:
    return cause.explains is not None and cause.explains.low > 0


def _value(cause: Cause) -> float:
    return cause.explains.value if cause.explains else 0.0


def _of(scene: Scene, before: str = " of ") -> str:
    """Name the metric beside a figure that does not name it itself."""
    names = {"r2": "R²", "agreement": "agreement"}
    if before and scene.metric.name == "r2":
        return ""
    return before + names.get(scene.metric.name, scene.metric.word)


def _what_is_lost(scene: Scene) -> str:
    if scene.metric.less_is_better:
        return "by how much the error grows"
    return f"what {_of(scene, '')} loses"


def _after(clear: list[Cause], causes: tuple[Cause, ...], scene: Scene) -> str:
    """Say what the deployment does now and what it does once its own causes are mended."""
    metric, now = scene.metric, scene.shares.candidate
    deployment = [cause for cause in clear if not is_data(cause)]
    same = not any(cause.component in ("model", "postprocessing") for cause in causes)
    mended = scene.mended(deployment, same_model=same) if deployment else None
    if now is None or mended is None:
        return ""
    now, mended = metric.shown(now), metric.shown(mended)
    what = "R² " if metric.name == "r2" else ""
    rows = f"{now.n} real rows that diagnose" if scene.labelled else f"{now.n} real rows"
    where = f"On {rows}: {what}" if scene.labelled else f"Agreement with the reference on {rows}: "
    before, after = metric.level(now.value), metric.level(mended.value)
    return f"{where}{before} now, {after} with {_mended(deployment, scene)} mended."


def _mended(deployment: list[Cause], scene: Scene) -> str:
    """Name all that the level rests on: parts are exchanged as a whole, not a step of several."""
    parts = {one.component for one in deployment}
    if "deployment" in parts:
        return "all of the deployment"
    steps = scene.num_differing
    if parts == {"preprocessing"}:
        return "that" if steps <= 1 else f"all {steps} steps that differ"
    others = [f"the {name}" for name in ("model", "postprocessing") if name in parts]
    if "preprocessing" in parts:
        others.append("that step" if steps <= 1 else f"all {steps} differing steps")
    if len(others) == 1:
        return "that"
    *some, last = others
    return f"{'' if some[1:] else 'both '}{', '.join(some)} and {last}"


def _cost(cause: Cause, scene: Scene) -> str:
    metric, found, whole = scene.metric, cause.explains, scene.shares.gap
    if found is None:
        return ""
    loss = metric.loss(found.value)
    evidence = f"{metric.interval(found, rows=False)}, {cause.strength} evidence"
    if cause.kind in TOO_GOOD:
        return f"{TOO_GOOD[cause.kind].format(loss + _of(scene))} ({evidence})."
    if whole is None or scene.shares.candidate is None:
        return f"It costs {loss}{_of(scene)} ({evidence})."
    if loss == metric.loss(whole.value):
        return f"That is all of the {loss} between validation and the field ({evidence})."
    apart = metric.loss(whole.value)
    return f"It costs {loss} ({evidence}); validation and the field are {apart} apart."


def _also(cause: Cause, scene: Scene) -> str:
    cost = _cost_in_short(cause, scene)
    suspect = scene.suspect(cause)
    if suspect is not None:
        named = suspect.title.rstrip(".")
        return f"Beside it: {named[0].lower()}{named[1:]} ({_cost_in_short(cause, scene)})."
    if is_data(cause):
        if scene.metric.less_is_better:
            return f"The reference itself errs by {cost} more on real rows than on validation."
        return f"The reference itself loses {cost} from validation to real rows."
    names = {"model": "The model", "postprocessing": "The postprocessing"}
    step = f"Step `{cause.step}`" if cause.step else "The rest of the preprocessing"
    return f"{names.get(cause.component, step)} costs {cost} more."


def _cost_in_short(cause: Cause, scene: Scene) -> str:
    return scene.metric.loss(_value(cause)) + ("" if scene.labelled else _of(scene))


def _one_at_a_time(guilty: list[Cause], scene: Scene) -> str:
    if sum(one.key in scene.shares.steps for one in guilty) <= 1:
        return ""
    return "Steps are exchanged one at a time in the reference's chain: costs need not add up."


def rows(scene: Scene) -> str:
    """Say which rows the levels rest on, as the gate's and the evaluation's are others."""
    n = scene.shares.furthest.n
    if not scene.labelled:
        return f"Real: all {n} real rows, by their agreement with the reference."
    return (
        f"Real: the {n} labelled rows that diagnose. The gate is held to other rows, those that "
        f"prove; the evaluation takes all labelled rows but those that prove."
    )


def paired(causes: tuple[Cause, ...], scene: Scene) -> str:
    """Compare the sides as they are deployed, row by row, where a difference may cost something.

    Numbers are compared by the paired bootstrap, whose interval stands by each loss: only labels
    that are right or wrong have McNemar's pairs.
    """
    found = scene.shares.paired
    guilty = any(not cause.harmless and not is_data(cause) for cause in causes)
    if not guilty or not scene.labelled or found is None:
        return ""
    p = "p < 0.0001" if found.p_value < 1e-4 else f"p = {found.p_value:.2g}"  # noqa: PLR2004
    return (
        f"As deployed, with all that differs together, the reference is right and the candidate "
        f"wrong on {found.lost} real rows, the reverse on {found.gained} (exact McNemar {p}, rows "
        f"taken as independent)."
    )


def _before(scene: Scene) -> str:
    """Say how what worked before does on the same rows."""
    since, metric = scene.shares.since, scene.metric
    if since is None:
        return ""
    if can_roll_back(scene):
        return roll_back(scene)
    found = metric.interval(since)
    if since.high < 0:
        return f"What last worked does worse on the same rows ({found} of the difference)."
    return f"Whether what last worked does better on the same rows is undecided ({found})."


def _unclear(cause: Cause, scene: Scene) -> str:
    rows = f"{scene.shares.furthest.n} real rows do not show"
    if not cause.undecided or cause.explains is None:
        return f"{rows} what it costs."
    found = scene.metric.interval(cause.explains)
    return f"{rows} whether it costs anything: undecided ({found})."


def _undecided(cause: Cause, scene: Scene) -> str:
    measured = scene.metric.interval(cause.explains) if cause.explains else None
    named = title(cause, scene)
    about = measured or "it could not be measured"
    return f"Undecided beside it: {named[0].lower()}{named[1:]} ({about})."


def _harmless(number: int, where: str = "") -> str:
    if not number:
        return ""
    words = {1: "One", 2: "Two", 3: "Three", 4: "Four"}
    many = number > 1
    noun, verb = ("differences", "are") if many else ("difference", "is")
    return f"{words.get(number, number)} {noun}{where} {verb} harmless."


def _unknown(scene: Scene) -> str:
    """Say what a recording leaves open."""
    return {
        "three factors": "",
        "shapley": "",
        "in order": "The shares of preprocessing and model depend on their order here.",
        "as a whole": (
            "Preprocessing and model cannot be told apart: log the model's input next time."
        ),
        "preprocessing alone": (
            "What the candidate answers is not known: log its predictions next time."
        ),
        "nothing": "Of the candidate nothing was recorded that could be compared.",
    }[scene.shares.attribution]


def _labels(scene: Scene) -> str:
    """Say what labels would decide, where they are too few."""
    found = scene.shares.gap
    if not scene.labelled:
        return f"Without labels nothing can be said about the data. {_would_show(scene)}".strip()
    if found is None or found.low > 0 or found.high <= max(scene.margin, scene.drop):
        return ""
    open_ = f"Whether the field is worse than validation is undecided ({_interval(scene)})."
    return f"{open_} {_would_show(scene)}".strip()


def _would_show(scene: Scene) -> str:
    loss = scene.own.loss(scene.drop)
    if scene.sim is None:
        return ""
    if scene.needed is None:
        return f"Validation is too small for any number of labels to show a loss of {loss}."
    return would(scene.needed, f"show a loss of {loss}", scene.at_hand)


def _interval(scene: Scene) -> str:
    found = scene.shares.gap
    return "" if found is None else scene.metric.interval(found)


def _not_recorded(scene: Scene) -> list[str]:
    """Say what a recorded candidate could not be asked, and what to log next time."""
    shares, said = scene.shares, []
    if shares.attribution == "in order":
        said.append(
            "The candidate's model on the reference's tensors: a recording cannot be asked. "
            "The model in a form that runs would make the shares independent of their order."
        )
    elif shares.attribution == "as a whole":
        said.append(
            "Preprocessing apart from the model: the recording holds no tensors, so that the two "
            "cannot be told apart. Log the model's input beside its predictions next time."
        )
    elif shares.candidate is None:
        said.append(
            "The candidate's answers: the recording holds none. Log its predictions next time."
        )
    said += [
        f"The candidate on {what}: {why}"
        for name, what in _NAMES.items()
        if (why := why_unknown(scene.candidate, name))
    ]
    return said


_NAMES = {"sim": "validation", "real-reference": "the reference's tensors"}


def _nothing_broke(scene: Scene) -> str:
    shares, metric = scene.shares, scene.metric
    if shares.candidate is None:
        known = "its preprocessing" if PREPROCESSING in shares.last else "it"
        last = "" if shares.last == NOTHING else f" that {known} costs anything"
        return f"No fault was found{last}, as far as it was recorded."
    level = metric.shown(shares.candidate)
    if not scene.labelled:
        return (
            f"No fault was found between the sides: they agree on {percent(level.value)} of "
            f"{level.n} real rows."
        )
    found = shares.gap
    against = "."
    if found is not None:
        against = f", {metric.beside(found, 'validation')}."
    return f"No fault was found: the candidate {metric.stands(level.value)} real rows{against}"

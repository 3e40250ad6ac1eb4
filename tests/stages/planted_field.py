"""Small worlds of pictures, signals and tables with one fault in the field's data, examined."""

import json
import sys

import numpy as np

from sides import ask_altered as asking
from sides import case_code
from stages import alter, field
from stages.reports.alter import AlterReport, AskAlteredReport
from stages.reports.predict import PredictReport
from stages.stage import NotApplicable, read_report

MODEL = """
import numpy as np

def build(folder):
    weights = np.load(folder / "weights.npz")
    def model(batch):
        flat = batch.reshape(len(batch), -1).astype(np.float64)
        flat = (flat - weights["mean"]) / weights["std"]
        waves = np.cos(flat @ weights["bases"] + weights["phases"])
        return waves @ weights["slopes"] + weights["offset"]
    return model
"""
NO_FEATURES = NotApplicable(not_applicable="The case names no layers.")
CLASSES = 4
ROWS = {"train": 1200, "sim": 300, "real": 600}
GROUPS = 30


def pictures(generator, labels):
    """Blobs on one side of a picture with three channels, of a class's own colour and place."""
    rows, columns = np.indices((12, 12))
    places = np.array([[3, 3], [3, 8], [8, 3], [7, 8]])[labels]
    places = places + generator.normal(0, 0.5, places.shape)
    squared = (rows - places[:, :1, None]) ** 2 + (columns - places[:, 1:, None]) ** 2
    blob = np.exp(-squared / 6.0)[:, None]
    colours = np.array([[1.0, 0.5, 0.2], [0.3, 1.0, 0.4], [0.9, 0.4, 0.5], [0.4, 0.6, 1.0]])
    made = 0.2 + 0.6 * blob * colours[labels][:, :, None, None]
    return np.clip(made + generator.normal(0, 0.02, made.shape), 0, 1)


def signals(generator, labels):
    """Six channels: two sensors of three axes, with a class's own rhythm and pose."""
    time = np.arange(48)
    rhythm = np.array([0.05, 0.08, 0.12, 0.17])[labels][:, None]
    phase = generator.uniform(-0.4, 0.4, (len(labels), 1))
    wave = np.sin(2 * np.pi * rhythm * time + phase)
    pose = np.array([[1.0, -0.5, 0.2], [0.2, 1.0, -0.6], [-0.8, 0.3, 0.9], [0.4, -0.9, -0.3]])
    parts = [1.0 * pose[labels][:, at, None] + (0.4 + 0.2 * at) * wave for at in range(3)]
    parts += [np.roll(wave, 2 * at, axis=1) * (1 + 0.3 * at) for at in range(3)]
    made = np.stack(parts, axis=1)
    return made + generator.normal(0, 0.05, made.shape)


def table(generator, labels):
    """Six columns, correlated, of unlike size."""
    centres = np.random.default_rng(5).normal(0, 1.6, (CLASSES, 6))
    mixing = np.eye(6) + 0.3 * np.random.default_rng(6).normal(size=(6, 6))
    made = (centres[labels] + 0.6 * generator.normal(size=(len(labels), 6))) @ mixing
    return made * np.array([1, 2, 0.5, 1, 3, 1]) + np.array([0, 5, 1, -2, 8, 3])


def phases(generator, labels):
    """Three channels of one rhythm; the class is by how much the second follows the first."""
    time = np.arange(48)
    start = generator.uniform(-0.3, 0.3, (len(labels), 1))
    angle = 2 * np.pi * 0.06 * time + start
    follows = (np.pi / 2) * labels[:, None]
    made = np.stack([np.sin(angle), np.sin(angle - follows), np.cos(2 * angle)], axis=1)
    return made + generator.normal(0, 0.05, made.shape)


KINDS = {"pictures": pictures, "signals": signals, "table": table, "phases": phases}


def examine(
    folder, kind, fault=None, *, labels=None, shares=None, regression=False, novel=0.0, seed=0
):
    """Plant `fault(tensors, generator)` in the real tensors, or `labels(labels, generator)`."""
    generator = np.random.default_rng(seed)
    made = {}
    for name, rows in ROWS.items():
        share = shares if name == "real" else None
        truth = generator.choice(CLASSES, size=rows, p=share)
        values = KINDS[kind](generator, truth)
        target = truth if not regression else _target(values)
        made[name] = (values, target)
    values, truth = made["real"]
    if novel:
        values = _novel(values, truth, novel, generator)
    values = values if fault is None else fault(values, generator)
    given = truth if labels is None else labels(truth.copy(), generator)
    made["real"] = values, given
    _write(folder, made, regression=regression)
    return _run(folder, regression=regression)


def _target(values):
    flat = values.reshape(len(values), -1)
    return flat[:, :: max(1, flat.shape[1] // 5)].sum(axis=1)


def _novel(values, truth, share, generator):
    """Give rows much of a row of the next class: what no statistic over all rows tells back."""
    made = values.copy()
    for at in np.flatnonzero(generator.random(len(values)) < share):
        other = generator.choice(np.flatnonzero(truth == (truth[at] + 1) % CLASSES))
        made[at] = 0.3 * values[at] + 0.7 * values[other]
    return made


def _write(folder, made, *, regression):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "code").mkdir()
    (folder / "code/field_model.py").write_text(MODEL)
    (folder / "weights").mkdir()
    _train(folder / "weights", *made["train"], regression=regression)
    lines = ["dataset,id,row,path,label,group,role"]
    roles = ("diagnose", "fit", "unlabelled")
    for name in ("sim", "real"):
        values, truth = made[name]
        np.save(folder / f"{name}.npy", values.astype(np.float32))
        for at, label in enumerate(truth):
            group = at % GROUPS
            role = "validation" if name == "sim" else roles[group % 3]
            shown = "" if role == "unlabelled" else label
            lines.append(f"{name},{name}{at},{at},,{shown},g{group},{role}")
    (folder / "roles.csv").write_text("\n".join(lines) + "\n")
    (folder / "layers").mkdir()
    why = {"why_not": "none", "layers": [], "files": {}, "sim": [], "real": []}
    (folder / "layers/layers.json").write_text(json.dumps(why))


def _train(folder, values, truth, *, regression):
    generator = np.random.default_rng(1)
    flat = values.reshape(len(values), -1)
    mean, std = flat.mean(axis=0), flat.std(axis=0) + 1e-9
    scaled = (flat - mean) / std
    bases = generator.normal(0, 1.2 / np.sqrt(flat.shape[1]), (flat.shape[1], 300))
    phases = generator.uniform(0, 2 * np.pi, 300)
    waves = np.cos(scaled @ bases + phases)
    wanted = truth[:, None] - truth.mean() if regression else 8 * np.eye(CLASSES)[truth] - 2
    slopes = np.linalg.solve(waves.T @ waves + 0.1 * np.eye(300), waves.T @ wanted)
    offset = np.array(truth.mean() if regression else 0.0)
    np.savez(
        folder / "weights.npz",
        mean=mean,
        std=std,
        bases=bases,
        phases=phases,
        slopes=slopes,
        offset=offset,
    )


def _run(folder, *, regression):
    task = "regression" if regression else "classification"
    metric = "r2" if regression else "accuracy"
    case_code.look_in([str(folder / "code")])
    sys.modules.pop("field_model", None)
    try:
        _answer(folder, regression=regression)
        shared = {"roles": folder / "roles.csv", "outputs": folder / "outputs"}
        tensors = {"sim": folder / "sim.npy", "real": folder / "real.npy"}
        reference = PredictReport(side="reference", model="field_model:build", sets={}, errors={})
        into = folder / "alter"
        into.mkdir()
        altered = alter.run(
            alter.AlterParams(metric=metric, resamples=300),
            alter.Inputs(**shared, **tensors, reference=reference),
            into,
        )
        asked = folder / "asked"
        asked.mkdir()
        params = {"model": "field_model:build", "postprocess": None, "task": task, "batch": 256}
        inputs = {"model": folder / "weights", "weights": None, "tensors": altered.tensors}
        asking.run(params, inputs, asked, "reference")
    finally:
        sys.path[:] = [path for path in sys.path if path != str(folder / "code")]
    report = read_report(AskAlteredReport, asked / "report.json")
    given = field.Inputs(
        **shared,
        **tensors,
        alter=altered.report,
        asked=report,
        asked_outputs=asked / "outputs",
        layers=folder / "layers",
        features=NO_FEATURES,
    )
    if isinstance(altered.report, AlterReport):
        assert set(report.sets) == {one.key for one in altered.report.plan}
    return field.run(field.FieldParams(metric=metric), given, folder).report


def _answer(folder, *, regression):
    from field_model import build

    model = build(folder / "weights")
    (folder / "outputs").mkdir()
    for name in ("sim", "real"):
        raw = model(np.load(folder / f"{name}.npy"))
        stem = "sim" if name == "sim" else "real-reference"
        said = raw[:, 0] if regression else raw.argmax(axis=1)
        np.save(folder / "outputs" / f"{stem}.npy", raw.astype(np.float32))
        np.save(folder / "outputs" / f"{stem}.labels.npy", said)

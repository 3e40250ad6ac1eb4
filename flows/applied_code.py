"""The small module that applies a mitigation's file inside a case: a step, an answer, a model."""

from flows.case import Side
from stages.reports.mitigate import Offer

IN_FRONT = ("tensors",)  # what it acts on; a step before the model
BEHIND = ("outputs", "labels")  # a postprocess
INSIDE = ("refresh_statistics", "last_layer")  # kinds; weights of the model

HEAD = '''"""{title}."""

from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
'''

STEP = '''{opened}


def adapt(tensor):
    """Change one tensor, the last step before the model."""
    tensors = np.asarray(tensor, dtype=np.float32)[np.newaxis]
    {use}
    return answer[0]
'''

OUTPUTS = '''{opened}


def answer(outputs):
    """Turn raw outputs (rows, outputs) into labels (rows,)."""
    {use}
    return answer
'''

LABELS = '''{opened}


def answer(outputs):
    """Turn raw outputs (rows, outputs) into labels (rows,)."""
    {labels}
    {use}
    return answer
'''

WEIGHTS = '''

def build(folder):
    """Load the model as the candidate does, then put these weights in."""
    import torch
    from safetensors.numpy import load_file

    import {module}

    model = {module}.{function}(folder)
    made = load_file(HERE / "{file}")
    state = {{name: torch.from_numpy(array) for name, array in made.items()}}
    model.load_state_dict(state, strict=False)
    return model.eval()
'''


def module_text(offer: Offer, candidate: Side, task: str) -> str:
    """Return the module's text.

    Args:
        offer: with the lines that load its file.
        candidate: whose postprocess or model it stands around.
        task: of the case.
    """
    head = HEAD.format(title=offer.title.replace("`", ""))
    file, use = offer.files[0].name, offer.load[1]
    if offer.kind in INSIDE:
        module, _, function = str(candidate.model).partition(":")
        return head + WEIGHTS.format(module=module, function=function, file=file)
    opened = f'made = np.load(HERE / "{file}")'
    if file.endswith(".json"):
        head = head.replace("from pathlib", "import json\nfrom pathlib")
        opened = f'made = json.loads((HERE / "{file}").read_text(encoding="utf-8"))'
    if offer.acts_on in IN_FRONT:
        return head + STEP.format(opened=opened, use=use)
    if offer.acts_on == "outputs":
        return head + OUTPUTS.format(opened=opened, use=use)
    return head + LABELS.format(opened=opened, use=use, labels=_labels(candidate, task))


def _labels(candidate: Side, task: str) -> str:
    """Return the line that makes the candidate's own labels."""
    if candidate.postprocess:
        module, _, function = candidate.postprocess.partition(":")
        return f"import {module}\n\n    labels = {module}.{function}(outputs)"
    plain = "outputs.argmax(axis=1)" if task == "classification" else "outputs[:, 0]"
    return f"labels = {plain}"

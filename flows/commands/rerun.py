"""`assay rerun`: a run once more from its own commit; only what is needed runs."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from flows import workspace
from flows.begin_again import begin_again
from flows.cli_words import USAGE, Answer
from flows.commands.run import run_begun
from flows.investigation import Say
from flows.repeat import Repeat, compare, repeat_of
from lineage import runs


def rerun(which: str, asked: Mapping[str, Any], say: Say) -> Answer:
    """Repeat a run: what is cached is restored; `stage` and all after it run again.

    Args:
        which: as for `run_tags.find`.
        asked: `stage`, `only_failed`, `isolation` and `budget`, as of the command line.
        say: takes progress.
    """
    root = workspace.find(Path.cwd())
    runs.reconcile(root, say)
    repeat = repeat_of(root, which, asked["stage"], only_failed=asked["only_failed"])
    begin = partial(begin_again, root, repeat, asked["isolation"], say, asked["budget"])
    data, text, status = run_begun(root, begin, say)
    # Whoever resumes it asks for the same again.
    plain = f"assay rerun {repeat.of.id}"
    text = text.replace(plain, f"{plain}{_asked(repeat)}")
    return _answer(root, repeat, data, text, status)


def _asked(repeat: Repeat) -> str:
    stage = f" --from {repeat.stage}" if repeat.stage else ""
    return f"{stage} --only-failed" if repeat.only_failed else stage


def _answer(root: Path, repeat: Repeat, data: dict[str, Any], text: str, status: int) -> Answer:
    record = runs.read_run(root, data["run"])
    ran = [stage.name for stage in record.stages if stage.how == "ran"]
    compared = compare(repeat.of, record, ran)
    data |= {"of": repeat.of.id, "ran": ran, "differs": compared}
    return data, text if status >= USAGE else f"{text}\n{_told(repeat, ran, compared)}", status


def _told(repeat: Repeat, ran: list[str], compared: dict[str, list[str]]) -> str:
    lines = [f"of       {repeat.of.id}", f"ran      {', '.join(ran) or 'nothing: all is cached'}"]
    same = [name for name, differing in compared.items() if not differing]
    if same:
        lines.append(f"same     {', '.join(same)}: every output to the byte")
    lines += [
        f"differs  {name}: {', '.join(differing)}"
        for name, differing in compared.items()
        if differing
    ]
    return "\n".join(lines)

"""A case whose candidate has one mitigation put in: the same data, the same reference, new code.

It stands beside the case that it was made of and uses its code and data from there. Its own `code`
folder holds the mitigation's file and a small module that applies it, with numpy (and torch where
it holds weights) and nothing of ours.
"""

import io
import posixpath
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flows.applied_code import BEHIND, IN_FRONT, INSIDE, module_text
from flows.case import LoadedCase
from flows.faults import Faults
from lineage import atomic
from stages.reports.mitigate import Offer

DATA_PATHS = ("train", "sim", "real")
SIDE_PATHS = ("weights", "recorded")
LONGEST = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """A mitigation, and the case that it goes into."""

    loaded: LoadedCase
    offer: Offer
    files: Path  # the folder of its files
    look: int  # which look at the held-out rows its run will be
    run: str  # whose offer it is

    @property
    def name(self) -> str:
        """What the new case is called."""
        return f"{self.loaded.name}-{self.offer.kind.replace('_', '-')}"

    @property
    def module(self) -> str:
        """The module of its own code; another name than that of any case it is put beside."""
        return f"mitigation_{self.name.replace('-', '_')}"

    def write(self) -> Path:
        """Write the case folder.

        Raises:
            Faults: there is one of this name, or the mitigation has nowhere to go.
        """
        folder = self.loaded.workspace / "cases" / self.name
        if len(self.name) > LONGEST:
            raise Faults(
                f"{self.name}: a case's name has at most {LONGEST} letters. Rename the case."
            )
        if folder.exists():
            raise Faults(
                f"cases/{self.name} is there already: assay run {self.name}, or remove it."
            )
        stated = self._case()
        try:
            self._write(folder, stated)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return folder

    def _write(self, folder: Path, stated: Mapping[str, Any]) -> None:
        (folder / "code").mkdir(parents=True)
        for file in self.offer.files:
            shutil.copyfile(self.files / file.name, folder / "code" / file.name)
        if self._coded:
            text = module_text(self.offer, self.loaded.case.candidate, self.loaded.case.task)
            atomic.write(folder / "code" / f"{self.module}.py", text)
        atomic.write(folder / "case.yaml", self._head() + _yaml(stated))
        atomic.write(folder / "README.md", self._readme())

    @property
    def _coded(self) -> bool:
        return self.offer.acts_on in {*IN_FRONT, *BEHIND} or self.offer.kind in INSIDE

    def _case(self) -> dict[str, Any]:
        """Return what case.yaml says."""
        case = self.loaded.case.model_dump(mode="json", by_alias=True, exclude_unset=True)
        sides = {
            name: side
            for name in ("reference", "candidate", "last_good")
            if (side := case.get(name))
        }
        made = {**case, **{name: self._moved(side) for name, side in sides.items()}}
        made["title"] = f"{self.loaded.case.title}; {self.offer.kind.replace('_', ' ')}"
        own = "code" if self._coded or self.offer.files else None
        roots = [self._from_here(root) for root in self.loaded.case.code]
        made["code"] = [*roots, own] if own else roots
        made["data"] = {
            key: self._from_here(value) if key in DATA_PATHS and value else value
            for key, value in case["data"].items()
        }
        made["candidate"] = self._candidate(made)
        params = {**case.get("params", {})}
        params["gate"] = {**params.get("gate", {}), "look": self.look}
        made["params"] = params
        return {"schema": made["schema"], **made}

    def _candidate(self, made: Mapping[str, Any]) -> dict[str, Any]:
        """Return the candidate with the mitigation in it."""
        kind, candidate = self.offer.kind, dict(made["candidate"])
        reference = made["reference"]
        if kind in ("reference_side", "last_good"):
            return {"like": "reference" if kind == "reference_side" else "last_good"}
        if candidate.get("recorded"):
            raise Faults(
                f"The candidate of {self.loaded.name} is a recording, which {kind} cannot be put "
                f"into: take its file where the candidate is deployed."
            )
        if kind == "reference_steps":
            return {**candidate, "steps": reference["steps"]}
        if kind == "reference_model":
            keys = ("image", "model", "weights", "postprocess", "layers")
            kept = {key: value for key, value in candidate.items() if key not in keys}
            return kept | {key: reference[key] for key in keys if key in reference}
        if self.offer.acts_on in IN_FRONT:
            step = {"name": "mitigation", "call": f"{self.module}:adapt"}
            return {**candidate, "steps": [*candidate["steps"], step]}
        if self.offer.acts_on in BEHIND:
            return {**candidate, "postprocess": f"{self.module}:answer"}
        return {**candidate, "model": f"{self.module}:build"}

    def _moved(self, side: Mapping[str, Any]) -> dict[str, Any]:
        return {
            key: self._from_here(value) if key in SIDE_PATHS and value else value
            for key, value in side.items()
        }

    def _from_here(self, path: str) -> str:
        return posixpath.normpath(f"../{self.loaded.name}/{path}")

    def _head(self) -> str:
        command = f"assay mitigate {self.loaded.name} --apply {self.offer.kind}"
        return f"# Made by `{command}`, of run {self.run}.\n"

    def _readme(self) -> str:
        offer = self.offer
        gain = f"{offer.gain.value:.4g} (95 % CI {offer.gain.low:.4g} to {offer.gain.high:.4g})"
        return (
            f"# {self.name}\n\n"
            f"[{self.loaded.name}](../{self.loaded.name}) with one mitigation in its candidate: "
            f"{offer.title}.\n\n"
            f"Run `{self.run}` measured a gain of {gain} on held-out real rows. This case holds it "
            f"to the gate: `assay run {self.name}`.\n"
        )


def _yaml(content: Mapping[str, Any]) -> str:
    from ruamel.yaml import YAML

    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.width = 100
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    out = io.StringIO()
    yaml.dump(dict(content), out)
    return out.getvalue()

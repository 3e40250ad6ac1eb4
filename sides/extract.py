"""Reads a model's layers on several devices at once, each process a share of the batches.

`torchrun --nproc-per-node N -m sides.extract JOB` does one job (`launch` writes it and runs this).
Each rank takes whole batches, the very ones that a single process would ask, and writes them into
a folder of its own; rank 0 joins the folders in order. The arrays are `sides.layers.record`'s.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, Sequence, Tuple

from sides import case_code, layers, privacy
from sides.case_code import CaseCodeError
from sides.model import Stated, opened
from sides.tensors import RowReader, RowWriter

BLOCK = 4096  # rows that are joined at once
JOB, ERROR = "extract.json", "error.txt"
NO_LAYERS = 3  # a rank's exit status


def num_devices(wanted: str, model: Any) -> int:
    """Return how many GPUs can share the work on a torch module, where `auto` asks; else 1."""
    torch = sys.modules.get("torch")
    if wanted != "auto" or torch is None or not torch.cuda.is_available():
        return 1
    if not isinstance(model, torch.nn.Module) or isinstance(model, torch.jit.ScriptModule):
        return 1
    return max(1, int(torch.cuda.device_count()))


def launch(
    folder: Path,
    model: Dict[str, Any],
    names: Sequence[str],
    sets: Dict[str, Tuple[Path, List[int]]],
    *,
    batch: int,
    ranks: int,
) -> None:
    """Write the layers' answers to the chosen rows by so many processes, as `record` would.

    Args:
        folder: is there already.
        model: {stated, where, weights, device}, as `sides.model.opened` takes them.
        names: of the layers.
        sets: {sim or real: (file of the tensors, positions of the rows that are read)}.
        batch: rows in one pass.
        ranks: processes; rank i asks GPU i where `device` is auto and there is one.

    Raises:
        CaseCodeError: the model failed, or has no such layer.
        NoLayers: this kind of model does not show them.
    """
    job = {
        "model": {**model, "weights": str(model["weights"])},
        "layers": list(names),
        "sets": {name: [str(path), rows] for name, (path, rows) in sets.items()},
        "batch": batch,
        "code": list(case_code.FOLDERS),
        "private": privacy.is_private(),
    }
    (folder / JOB).write_text(json.dumps(job), encoding="utf-8")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc-per-node", str(ranks), "-m", "sides.extract", str(folder / JOB)]
    try:
        done = subprocess.run(command, env=_environment(), check=False)
        if done.returncode or (folder / ERROR).exists():
            raise _failure(folder)
    finally:
        (folder / JOB).unlink()
        (folder / ERROR).unlink(missing_ok=True)
        for rank in range(ranks):
            shutil.rmtree(str(_shard(folder, rank)), ignore_errors=True)


def _environment() -> Dict[str, str]:
    torch = sys.modules.get("torch")
    threads = 1 if torch is None else torch.get_num_threads()
    return {
        "GLOO_SOCKET_IFNAME": "lo",  # one host: nothing leaves it, and no network is needed
        **os.environ,
        "OMP_NUM_THREADS": str(threads),  # as here: another number gives other last bits
        "PYTHONPATH": os.pathsep.join(entry or os.getcwd() for entry in sys.path),
    }


def _failure(folder: Path) -> Exception:
    path = folder / ERROR
    if not path.exists():
        text = "layers: a process that reads them ended without a word; see the lines above."
        return CaseCodeError(text)
    kind, _, text = path.read_text(encoding="utf-8").partition("\n")
    return layers.NoLayers(text) if kind == "NoLayers" else CaseCodeError(text)


def main(job_file: str) -> int:
    """Do this rank's share; rank 0 joins all of them."""
    rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    folder = Path(job_file).parent
    job = json.loads(Path(job_file).read_text(encoding="utf-8"))
    privacy.begin(bool(job["private"]), prints=bool(job["code"]))
    case_code.look_in(job["code"])
    _take_device(job["model"]["device"])
    try:
        _read_share(job, _shard(folder, rank), rank, world)
    except (CaseCodeError, layers.NoLayers) as error:
        (folder / ERROR).write_text(f"{type(error).__name__}\n{error}", encoding="utf-8")
        return NO_LAYERS if isinstance(error, layers.NoLayers) else 1
    _wait_for_all(world)
    if rank == 0:
        _join(folder, job, world)
    return 0


def _take_device(wanted: str) -> None:
    if wanted != "auto":
        return
    import torch

    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")) % torch.cuda.device_count())


def _wait_for_all(world: int) -> None:
    if world == 1:
        return
    import torch.distributed

    torch.distributed.init_process_group("gloo")  # ranks meet here only; no tensor is exchanged
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def share(num_rows: int, batch: int, rank: int, world: int) -> Tuple[int, int]:
    """Return where a rank's rows begin and end: whole batches, the same that one process asks."""
    num_batches = -(-num_rows // batch)
    first, last = (num_batches * at // world * batch for at in (rank, rank + 1))
    return min(first, num_rows), min(last, num_rows)


def _read_share(job: Dict[str, Any], folder: Path, rank: int, world: int) -> None:
    folder.mkdir()
    stated: Stated = job["model"]["stated"]
    sets = {}
    for name, (path, rows) in job["sets"].items():
        start, stop = share(len(rows), job["batch"], rank, world)
        sets[name] = (RowReader(Path(path)), rows[start:stop])
    weights, where = Path(job["model"]["weights"]), job["model"]["where"]
    with opened(stated, where, weights, job["model"]["device"]) as model:
        what = model.what
        layers.record(folder, model.reading, job["layers"], sets, batch=job["batch"], what=what)


def _join(folder: Path, job: Dict[str, Any], world: int) -> None:
    names = [layers.INPUT, *job["layers"]]
    for name, (_, rows) in job["sets"].items():
        for stem in layers.files(names).values():
            file = f"{stem}.{name}.npy"
            shards = [RowReader(_shard(folder, rank) / file) for rank in range(world)]
            # A rank without rows knows no width: its file counts only where all are like it.
            filled = [shard for shard in shards if len(shard)] or shards[:1]
            with RowWriter(folder / file, len(rows)) as writer:
                for shard in filled:
                    for start in range(0, max(1, len(shard)), BLOCK):
                        writer.write(shard.read(start, start + BLOCK))
    rows_of = {name: rows for name, (_, rows) in job["sets"].items()}
    layers.save_list(folder, names, rows_of, None)


def _shard(folder: Path, rank: int) -> Path:
    return folder / f"rank-{rank:03d}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

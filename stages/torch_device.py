"""Torch set up so that the same run gives the same numbers."""

import os


def prepare(wanted: str, threads: int) -> str:
    """Fix threads and algorithms; return `cuda` where `auto` finds one, else `cpu`."""
    # cuBLAS is deterministic only with a fixed workspace, and reads this before its first call.
    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
    import torch

    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(mode=True)
    torch.backends.cudnn.benchmark = False
    return "cuda" if wanted == "auto" and torch.cuda.is_available() else "cpu"

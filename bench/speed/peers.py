"""What a user would pick for each task. Imported in a side environment, never in ours."""

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import numpy as np

Rows = np.ndarray[Any, Any]


def alibi(left: Rows, right: Rows, *, warm: bool, arrangements: int, bandwidth: float) -> Any:
    """Alibi-detect's MMDDrift on torch, its kernel at the stated bandwidth."""
    from alibi_detect.cd import MMDDrift

    found = MMDDrift(
        left,
        backend="pytorch",
        sigma=np.array([bandwidth], dtype=np.float32),
        configure_kernel_from_x_ref=False,
        n_permutations=2 if warm else arrangements,
        device="cpu",
    ).predict(right)["data"]
    return {"mmd2": float(found["distance"]), "p": float(found["p_val"])}


def torchdrift(left: Rows, right: Rows, *, warm: bool, arrangements: int, bandwidth: float) -> Any:
    """TorchDrift's kernel_mmd; the diagonals, which it keeps, are taken off afterwards."""
    import torch
    from torchdrift.detectors.mmd import GaussianKernel, kernel_mmd

    value, p_value = kernel_mmd(
        torch.from_numpy(left),
        torch.from_numpy(right),
        n_perm=2 if warm else arrangements,
        kernel=GaussianKernel(bandwidth),
    )
    diagonals = 1 / (len(left) - 1) + 1 / (len(right) - 1)
    return {"mmd2": float(value) - diagonals, "p": float(p_value)}


def fidelity_frechet(left: Rows, right: Rows, *, warm: bool) -> Any:
    """torch-fidelity's FID of given features."""
    _stand_in_for_torchvision()
    import torch
    from torch_fidelity import metric_fid

    if warm:
        left, right = left[:, :WARM_WIDTH], right[:, :WARM_WIDTH]
    moments = [
        metric_fid.fid_features_to_statistics(torch.from_numpy(side)) for side in (left, right)
    ]
    found = metric_fid.fid_statistics_to_metric(*moments, verbose=False)
    return {"distance": found[metric_fid.KEY_METRIC_FID]}


def fidelity_kid(left: Rows, right: Rows, *, warm: bool, subsets: int, size: int) -> Any:
    """torch-fidelity's KID of given features."""
    _stand_in_for_torchvision()
    import torch
    from torch_fidelity import metric_kid

    found = metric_kid.kid_features_to_metric(
        torch.from_numpy(left),
        torch.from_numpy(right),
        kid_subsets=1 if warm else subsets,
        kid_subset_size=len(left) if warm else size,
        verbose=False,
    )
    spread = found[metric_kid.KEY_METRIC_KID_STD]
    return {"distance": found[metric_kid.KEY_METRIC_KID_MEAN], "error": spread / subsets**0.5}


def prdc(left: Rows, right: Rows, *, warm: bool, nearest: int) -> Any:  # noqa: ARG001  one form for all
    """The authors' prdc; it prints a line of its own."""
    from contextlib import redirect_stdout

    from prdc import compute_prdc

    with redirect_stdout(sys.stderr):
        found = compute_prdc(left, right, nearest)
    return {name: float(value) for name, value in found.items()}


def scipy_loop(left: Rows, right: Rows, *, warm: bool) -> Any:  # noqa: ARG001  one form for all
    """Scipy, column by column."""
    from scipy.stats import ks_2samp

    found = [ks_2samp(left[:, at], right[:, at], method="asymp") for at in range(left.shape[1])]
    return {
        "distances": [float(one.statistic) for one in found],
        "p": [float(one.pvalue) for one in found],
    }


def scipy_axis(left: Rows, right: Rows, *, warm: bool) -> Any:  # noqa: ARG001  one form for all
    """Scipy, all columns in one call."""
    from scipy.stats import ks_2samp

    found = ks_2samp(left, right, axis=0, method="asymp")
    return {"distances": found.statistic.tolist(), "p": found.pvalue.tolist()}


WARM_WIDTH = 32


class _StandIn(ModuleType):
    """Any name that is asked of it is an empty class."""

    __path__: list[str] = []  # noqa: RUF012  what makes a module a package

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


class _Finder(MetaPathFinder, Loader):
    def find_spec(self, fullname: str, *_: Any) -> Any:
        if fullname.partition(".")[0] == "torchvision":
            return ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Leave it empty."""


def _stand_in_for_torchvision() -> None:
    """torch-fidelity imports torchvision to read pictures; its figures of features call none."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())

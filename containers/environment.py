"""The scrubbed environment of a job: nothing of the caller's but what is named here."""

import os
from collections.abc import Mapping
from typing import Final

PASSED_ON: Final = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
"""What a host sets to make OpenBLAS choose the kernels of another CPU class: bytes depend on it."""

THREAD_COUNTS: Final = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMEXPR_MAX_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "BLIS_NUM_THREADS",
)

FIXED: Final = {
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONNOUSERSITE": "1",
    "PYTHONUNBUFFERED": "1",  # a line is seen when it is printed, and none is lost to a kill
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "SOURCE_DATE_EPOCH": "315532800",  # 1980-01-01, the first day that a zip file can hold
    "USER": "assay",  # getpass.getuser() asks here first; the uid has no passwd entry
    "LOGNAME": "assay",
    "DO_NOT_TRACK": "1",
    "GX_ANALYTICS_ENABLED": "false",
}


def scrubbed(*, threads: int, scratch: str, extra: Mapping[str, str]) -> dict[str, str]:
    """Return a job's environment.

    Args:
        threads: of every numeric library.
        scratch: a writable folder, as the job sees it; HOME and all caches go there.
        extra: the job's own variables; they win.
    """
    environment = {
        **FIXED,
        "HOME": scratch,
        "TMPDIR": scratch,
        "MPLCONFIGDIR": f"{scratch}/matplotlib",
        "XDG_CACHE_HOME": f"{scratch}/cache",
    }
    environment.update(dict.fromkeys(THREAD_COUNTS, str(threads)))
    environment.update({name: os.environ[name] for name in PASSED_ON if os.environ.get(name)})
    environment.update(extra)
    return environment

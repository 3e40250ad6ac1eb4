"""A headless chromium of Debian's packages, and a page of planted figures to open in it."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

CHROMIUM, DRIVER = Path("/usr/bin/chromium"), Path("/usr/bin/chromedriver")
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)
PAGES = {
    "everything": {
        "real": 0.62,
        "steps": {"scale": (0.0, "scale"), "turn": (0.6, "transpose")},
        "rich": True,
    },
    "nothing applies": {"labelled": False, "model": 0.2},
}


def absent() -> str | None:
    """Say what is missing; None when the tests can run."""
    missing = [str(path) for path in (CHROMIUM, DRIVER) if not path.exists()]
    try:
        import axe_core_python  # noqa: F401
        import selenium  # noqa: F401
    except ImportError as error:
        missing.append(str(error.name))
    if not missing:
        return None
    return (
        f"{', '.join(missing)} absent: apt install chromium chromium-driver; pip install -e .[dev]"
    )


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    reason = absent()
    if reason and os.environ.get("ASSAY_REQUIRE_BROWSER") == "1":
        pytest.fail(reason)
    if reason:
        pytest.skip(reason)
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(str(DRIVER)))
    yield driver
    driver.quit()


@pytest.fixture(scope="session", params=PAGES.values(), ids=PAGES.keys())
def page(request, tmp_path_factory):
    sys.path.insert(0, str(Path(__file__).parents[1] / "stages"))
    from planted_world import gap_in_features, report_inputs, scratch_wins

    from stages.parity_picture import draw
    from stages.report import Inputs, PageParams, run
    from stages.step_pairs import Pair

    folder = tmp_path_factory.mktemp("page")
    planted = dict(request.param)
    if planted.get("rich"):
        planted |= {"features": gap_in_features(), "probe": scratch_wins()}
    inputs = Inputs(**report_inputs(folder, **planted))
    samples = np.arange(3 * 8 * 8).reshape(3, 8, 8) % 17
    pair = Pair("01_turn", "turn", samples, samples.transpose(0, 2, 1))
    inputs.worst.write_bytes(draw(pair, [0, 2], ["real_3", "real_4", "real_5"]))
    made = run(PageParams(case="digits", title="Digits, <served>"), inputs, folder)
    path = folder / "report.html"
    path.write_text(made.page, encoding="utf-8")
    return path

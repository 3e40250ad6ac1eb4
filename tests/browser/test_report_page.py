import importlib.resources
import json
import os

import pytest

from stages.parity_picture import DPI, POINTS

pytestmark = pytest.mark.browser

WIDTHS = (390, 1440)
SCHEMES = ("light", "dark")
LEAST_TEXT_PX = 9.0
LEAST_CONTRAST = 4.5

SMALLEST_CHART_TEXT = """
return Math.min(...[...document.querySelectorAll('figure > svg text')].map(text => {
  const svg = text.ownerSVGElement;
  const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
  return parseFloat(getComputedStyle(text).fontSize) * scale;
}), Infinity);
"""

# Colours of texts in charts, which axe does not judge, against the card that they stand on.
CHART_CONTRASTS = """
const probe = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
const rgb = colour => { probe.fillStyle = colour; probe.fillRect(0, 0, 1, 1);
  return [...probe.getImageData(0, 0, 1, 1).data].slice(0, 3); };
const light = colour => { const [r, g, b] = rgb(colour).map(v => v / 255)
  .map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
  return .2126 * r + .7152 * g + .0722 * b; };
return [...document.querySelectorAll('figure > svg text')].map(text => {
  const card = getComputedStyle(text.closest('.card')).backgroundColor;
  const [a, b] = [light(getComputedStyle(text).fill), light(card)].sort((x, y) => y - x);
  return (a + .05) / (b + .05);
});
"""


def shown(browser, page, width, scheme="light"):
    """Open a page at a width; return what was logged meanwhile."""
    screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    browser.get_log("browser")
    browser.get_log("performance")
    browser.get(page.as_uri())


def requested(browser):
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
    return [event["request"]["url"] for event in sent]


def test_no_request_leaves_the_page(browser, page):
    shown(browser, page, 1440)
    urls = requested(browser)
    assert page.as_uri() in urls
    assert all(url.startswith(("file:", "data:")) for url in urls), urls


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_console_stays_silent(browser, page, scheme):
    shown(browser, page, 1440, scheme)
    assert browser.get_log("browser") == []


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_scrolls_sideways(browser, page, width):
    shown(browser, page, width)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width


def test_chart_text_is_legible_on_a_phone(browser, page):
    shown(browser, page, 390)
    smallest = browser.execute_script(SMALLEST_CHART_TEXT)
    assert smallest is None or smallest >= LEAST_TEXT_PX


@pytest.mark.parametrize("width", WIDTHS)
def test_text_in_the_picture_of_samples_is_legible(browser, page, width):
    shown(browser, page, width)
    scales = browser.execute_script(
        "return [...document.querySelectorAll('.scroll img')].map(i => i.width / i.naturalWidth)"
    )
    assert len(scales) == ("differs most" in page.read_text(encoding="utf-8"))
    assert all(POINTS / 72 * DPI * scale >= LEAST_TEXT_PX for scale in scales), scales


@pytest.mark.parametrize("width", WIDTHS)
def test_no_chart_text_is_cut(browser, page, width):
    shown(browser, page, width)
    cut = browser.execute_script("""
      return [...document.querySelectorAll('figure > svg text')].filter(text => {
        const [t, s] = [text, text.ownerSVGElement].map(e => e.getBoundingClientRect());
        return t.left < s.left - 1 || t.right > s.right + 1
          || t.top < s.top - 1 || t.bottom > s.bottom + 1;
      }).map(text => text.textContent);
    """)
    assert cut == []


@pytest.mark.parametrize("scheme", SCHEMES)
def test_chart_text_stands_out_by_day_and_night(browser, page, scheme):
    shown(browser, page, 390, scheme)
    contrasts = browser.execute_script(CHART_CONTRASTS)
    assert contrasts
    assert min(contrasts) >= LEAST_CONTRAST


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_axe_finds_nothing_serious(browser, page, width, scheme):
    shown(browser, page, width, scheme)
    named = os.environ.get("ASSAY_AXE_JS")
    script = named or importlib.resources.files("axe_core_python") / "axe.min.js"
    with open(script, encoding="utf-8") as file:  # noqa: PTH123  a Traversable or a path
        browser.execute_script(file.read())
    found = browser.execute_async_script(
        "const done = arguments[0]; axe.run(document).then(r => done(r.violations));"
    )
    grave = [one for one in found if one["impact"] in ("serious", "critical")]
    assert [(one["id"], one["nodes"][0]["html"]) for one in grave] == []
    assert [one["id"] for one in found] == []


def test_it_prints_by_day_even_at_night(browser, page):
    shown(browser, page, 1440, "dark")
    media = {"media": "print", "features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    colour = "return getComputedStyle(document.querySelector('.card')).backgroundColor"
    assert browser.execute_script(colour) == "rgb(255, 255, 255)"

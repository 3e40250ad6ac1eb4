"""A page of which every text that somebody else chose is an attack, opened in a browser."""

import http.server
import json
import sys
import threading
from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError
from test_report_page import requested, shown

pytestmark = pytest.mark.browser

OWNED = "document.title='owned';new Image().src='{url}/js'"
ATTACKS = (
    "<script>{js}</script>",
    '\'"><img src={url}/img onerror="{js}">',
    '</title></style></svg></text><svg onload="{js}"><use href="{url}/svg#a"/></svg>',
    "<style>@import url({url}/css);*{{background:url({url}/bg)}}</style>",
    '<meta http-equiv=refresh content="0;url={url}/meta"><base href="{url}/">',
    '<iframe srcdoc="<script>parent.{js}</script>"></iframe><form action={url}/form>',
    "javascript:{js}//{{{{7*7}}}}{{% raise %}}]]>--><!--",
)
STEERS = ("reference", "candidate", "simulation", "last_good")
"""By these words a page is put together."""
ODD = "script, iframe, base, form, object, embed, [onerror], [onload], img:not([src^='data:'])"


@pytest.fixture
def listener():
    """A web server that notes who asks."""
    asked: list[str] = []

    class Note(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(204)
            self.end_headers()

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Note) as web:
        threading.Thread(target=web.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{web.server_port}", asked
        web.shutdown()


def leaves(value, path=()):
    """The places of all texts."""
    if isinstance(value, str):
        yield path
    inner = enumerate(value) if isinstance(value, list) else ()
    for key, part in value.items() if isinstance(value, dict) else inner:
        yield from leaves(part, (*path, key))


def poisoned(report: BaseModel, attacks: list[str]) -> BaseModel:
    """Add an attack to a text of each kind that a report holds, where it may be any text."""
    content = report.model_dump(mode="json")
    kinds = {
        tuple("*" if isinstance(key, int) else key for key in path): path
        for path in leaves(content)
    }
    for number, path in enumerate(kinds.values()):
        *way, last = path
        here = content
        for key in way:
            here = here[key]
        if here[last] in STEERS:
            continue
        before = here[last]
        here[last] += attacks[number % len(attacks)]
        try:
            type(report).model_validate(content)
        except ValidationError:  # it is one of a few words, and no text
            here[last] = before
    return type(report).model_validate(content)


def rendered(folder: Path, title: str, attacks: list[str]) -> str:
    sys.path.insert(0, str(Path(__file__).parents[1] / "stages"))
    from planted_world import gap_in_features, report_inputs, scratch_wins

    from stages.report import Inputs, PageParams, run

    told = {"real": 0.6, "steps": {"scale": (0.0, "scale"), "turn": (0.6, "transpose")}}
    told |= {"features": gap_in_features(), "probe": scratch_wins(), "rich": True}
    inputs = report_inputs(folder, **told)
    if attacks:
        inputs = {
            name: poisoned(report, attacks) if isinstance(report, BaseModel) else report
            for name, report in inputs.items()
        }
    return run(PageParams(case="digits", title=title), Inputs(**inputs), folder).page


def test_no_text_of_somebody_else_is_obeyed(browser, listener, tmp_path):
    url, asked = listener
    js = OWNED.format(url=url)
    attacks = [attack.format(js=js, url=url) for attack in ATTACKS]
    page = rendered(tmp_path, "".join(attacks), attacks)
    assert page.count(url) > 99  # they are there, as text
    path = tmp_path / "report.html"
    path.write_text(page, encoding="utf-8")
    shown(browser, path, 1440)
    assert "".join(attacks) in browser.title
    assert browser.execute_script(f'return document.querySelectorAll("{ODD}").length') == 0
    assert [one for one in requested(browser) if not one.startswith(("data:", path.as_uri()))] == []
    assert asked == []


def test_the_policy_holds_if_a_text_were_obeyed(browser, listener, tmp_path):
    """The second wall: markup that got through would run nothing and ask nobody."""
    url, asked = listener
    js = OWNED.format(url=url)
    page = rendered(tmp_path, "Digits", [])
    live = "".join(attack.format(js=js, url=url) for attack in ATTACKS[:4])
    path = tmp_path / "report.html"
    path.write_text(page.replace("</body>", f"{live}</body>"), encoding="utf-8")
    shown(browser, path, 1440)
    assert browser.execute_script(f'return document.querySelectorAll("{ODD}").length') > 0
    assert "owned" not in browser.title
    refused = [json.dumps(line) for line in browser.get_log("browser")]
    assert any("Content Security Policy" in line for line in refused)
    assert asked == []

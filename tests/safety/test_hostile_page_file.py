"""A page that came with somebody else's run is opened if nothing in it can be obeyed."""

import pytest

from flows.commands.show import OpenPage, _refuse_open

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
HEAD = (
    '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    '<meta http-equiv="Content-Security-Policy" content="{}">\n'
)


def test_what_begins_with_the_policy_is_opened(tmp_path):
    page = tmp_path / "report.html"
    page.write_text(HEAD.format(POLICY) + "<script>1</script>")  # which no browser runs
    _refuse_open(page, "x")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<script>1</script>" + HEAD.format(POLICY),
        "<!-- -->" + HEAD.format(POLICY),
        HEAD.format("default-src *"),
        HEAD.format(f"{POLICY}; script-src 'unsafe-inline'"),
        HEAD.format("default-src 'none'").replace("<head>", "<head><base href=//a.b>"),
        HEAD.format(POLICY).replace('"en"', '"en" onclick=x'),
        "\ufeff" + HEAD.format(POLICY).replace("<meta charset", "<meta http-equiv=refresh charset"),
    ],
)
def test_what_does_not_is_refused(tmp_path, text):
    page = tmp_path / "report.html"
    page.write_text(text, encoding="utf-8")
    with pytest.raises(OpenPage, match="may run scripts"):
        _refuse_open(page, "x")

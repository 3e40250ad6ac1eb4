import json
import os
import sys

import pytest

from sides.inside import describe


def test_a_process_describes_itself_in_json():
    facts = describe()
    assert json.loads(json.dumps(facts)) == facts
    assert facts["uid"] == os.getuid()
    assert facts["peak_rss_bytes"] > 1 << 20


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_what_linux_tells_is_told():
    facts = describe()
    assert int(facts["capabilities"], 16) >= 0
    assert facts["no_new_privileges"] in (True, False)
    assert facts["root_read_only"] in (True, False)
    assert "lo" in facts["network"]


def test_a_system_that_hides_everything_is_described_all_the_same(monkeypatch):
    monkeypatch.setattr("sides.inside._lines", lambda path: [])
    facts = describe()
    assert facts["capabilities"] is None
    assert facts["cpu_class"] is None

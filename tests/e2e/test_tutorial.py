"""The tutorial holds as it is written."""

import doctest

import as_written
import pytest
from clone import SOURCE, Clone


def test_the_tutorial_runs_as_it_is_written(clone: Clone):
    outputs = as_written.run_page(SOURCE / "docs/tutorial.md", clone.root, clone.environment)
    assert len(clone.git("tag", "--list", "run/*").splitlines()) == 4
    assert outputs[-1].count("-slides-") == 4


def test_a_line_is_looked_for_as_it_stands():
    assert doctest.testmod(as_written).failed == 0


@pytest.mark.parametrize("said", ["```sh\nfalse\n```\n", "```sh\necho a\n```\n\n```text\nb\n```\n"])
def test_a_page_that_does_not_hold_fails(tmp_path, said):
    page = tmp_path / "page.md"
    page.write_text(said)
    with pytest.raises(AssertionError, match=r"page\.md"):
        as_written.run_page(page, tmp_path, {"PATH": "/usr/bin:/bin"})

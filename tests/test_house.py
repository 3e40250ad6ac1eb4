"""Habits that hold for the whole tree."""

import functools
import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("assay", "containers", "flows", "lineage", "sides", "stages")
HERE = Path(__file__).relative_to(ROOT)


@functools.cache
def tracked() -> list[Path]:
    """What git holds, and what would be added: a habit is broken before it is committed."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("not a git repository")
    names = (Path(name) for name in done.stdout.split("\0") if name)
    return [name for name in names if (ROOT / name).is_file() and name != HERE]


def text(name: Path) -> str:
    content = (ROOT / name).read_bytes()
    return "" if b"\0" in content[:4096] else content.decode("utf-8", errors="replace")


def python() -> list[Path]:
    return [name for name in tracked() if name.suffix == ".py"]


def project() -> dict:
    return tomllib.loads(text(Path("pyproject.toml")))["project"]


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def dependencies() -> list[str]:
    declared = project()
    groups = [declared["dependencies"], *declared["optional-dependencies"].values()]
    return sorted(normal(re.match(r"[\w.-]+", need)[0]) for group in groups for need in group)


def pins() -> dict[str, str]:
    lines = text(Path("constraints.txt")).splitlines()
    split = (line.partition("==") for line in lines if "==" in line and not line.startswith("#"))
    return {normal(name): version for name, _, version in split}


def test_no_python_file_is_longer_than_one_idea():
    assert [f"{n}: {text(n).count(chr(10))}" for n in python() if text(n).count("\n") > 400] == []


def test_a_module_is_named_for_what_it_holds():
    banned = {"utils", "util", "common", "helpers", "helper", "manager", "misc"}
    assert [str(name) for name in tracked() if {*name.parts[:-1], name.stem} & banned] == []


def test_no_two_files_of_tests_have_one_name():
    """Folders of tests are no packages: pytest would import one in place of the other."""
    names = [name.name for name in python() if name.parts[0] == "tests" and len(name.parts) > 2]
    twice = {name for name in names if names.count(name) > 1} - {"conftest.py", "__init__.py"}
    assert not twice, sorted(twice)


def test_only_tests_read_what_lies_beside_the_repository():
    beside = re.compile(r"\.\./shared\b|/shared/")
    outside = [name for name in tracked() if name.parts[0] != "tests"]
    assert [str(name) for name in outside if beside.search(text(name))] == []


def test_every_stage_asks_a_question():
    from stages.catalog import CATALOG

    assert [s.module for s in CATALOG if not s.question.endswith("?")] == []


def test_stages_import_no_stage():
    from stages.catalog import CATALOG

    modules = {stage.name for stage in CATALOG}
    imports = re.compile(
        r"^\s*(?:from|import) stages\.(\w+)|^\s*from stages import (\w+)", re.MULTILINE
    )
    for name in modules:
        source = text(Path("stages", f"{name}.py"))
        found = {one or two for one, two in imports.findall(source)}
        assert not found & (modules - {name}), name


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_says_what_it_is_for(room):
    assert text(Path(room, "__init__.py")).startswith('"""')


def test_every_dependency_stands_in_the_table_of_licences_at_its_pinned_version():
    rows = re.findall(
        r"^\| ([\w.-]+) \| ([^|]+?) \| ([^|]+?) \|", text(Path("docs/licences.md")), re.MULTILINE
    )
    listed = {normal(name): version for name, version, _ in rows if name != "package"}
    assert sorted(listed) == dependencies()
    assert listed == {name: pins()[name] for name in listed}


def test_no_direct_dependency_has_a_licence_that_binds_its_users():
    rows = re.findall(
        r"^\| [\w.-]+ \| [^|]+ \| ([^|]+?) \|", text(Path("docs/licences.md")), re.MULTILINE
    )
    assert [row for row in rows if re.search(r"\bA?GPL|BUSL|BSL-1\.1|SSPL", row)] == []


def test_the_pins_fit_both_a_machine_with_a_gpu_and_one_without():
    assert [name for name in pins() if name.startswith(("nvidia-", "triton", "cuda-"))] == []
    assert [name for name, version in pins().items() if "+" in version] == []


def test_the_images_hold_the_versions_that_the_host_holds():
    host = pins()
    for file in sorted(ROOT.glob("containers/*/requirements.txt")):
        lines = [line.split("==") for line in file.read_text("utf-8").splitlines() if "==" in line]
        shared = {normal(n): v for n, v in lines if normal(n) in host and not n.startswith("#")}
        assert shared == {name: host[name] for name in shared}, file


def test_continuous_integration_can_be_started():
    scripts = sorted((ROOT / ".ci").iterdir())
    assert ROOT / ".ci" / "run" in scripts
    assert [s.name for s in scripts if not os.access(s, os.X_OK)] == []
    for script in scripts:
        subprocess.run(["bash", "-n", script], check=True)


def test_the_changelog_has_a_place_for_what_is_new():
    assert re.search(r"^## \[?Unreleased", text(Path("CHANGELOG.md")), re.MULTILINE | re.IGNORECASE)


def test_nothing_names_where_packages_or_images_come_from():
    # Each user's own configuration says that; Debian's package docker.io is no host.
    hosts = re.compile(
        r"index-url|trusted-host|pythonhosted|pypi\.(org|io)|/simple/|registry-1"
        r"|\b(ghcr|quay|gcr|mcr|docker)\.(io|microsoft\.com)/|deb\.debian\.org"
    )
    assert [str(name) for name in tracked() if hosts.search(text(name))] == []


def test_every_target_of_the_makefile_explains_itself():
    told = subprocess.run(
        ["make", "-C", ROOT, "help"], capture_output=True, text=True, check=True
    ).stdout
    phony = re.search(r"^\.PHONY: (.*)$", text(Path("Makefile")), re.MULTILINE)[1].split()
    assert [target for target in phony if f"make {target} " not in told] == []

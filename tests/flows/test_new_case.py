"""From pictures or a table and a model to a case that `assay check` takes, whole or not at all."""

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import made_sources as made
import numpy as np
import pytest
import yaml

from flows.faults import Faults
from flows.scaffold import new_case
from flows.scaffold.asked import Asked

SOURCE = Path(__file__).resolve().parents[2]
ROOMS = ("assay", "containers", "flows", "lineage", "sides", "stages", "data_contracts")

MODEL = """\
import numpy as np


def decode(row):
    return row.astype(np.float32)


def swapped(row):
    return row[::-1].astype(np.float32)


def build(folder):
    weights = np.load(folder / "weights.npy")
    return lambda batch: batch.reshape(len(batch), -1) @ weights
"""


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace without cases."""
    root = tmp_path_factory.mktemp("new") / "workspace"
    for room in ROOMS:
        shutil.copytree(SOURCE / room, root / room, ignore=shutil.ignore_patterns("__pycache__"))
    for name in (".gitignore", ".dvcignore", "params.yaml"):
        shutil.copy(SOURCE / name, root / name)
    (root / ".dvc").mkdir()
    shutil.copy(SOURCE / ".dvc/config", root / ".dvc/config")
    (root / "cases").mkdir()
    (root / "cases/.keep").touch()
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], [*WHO, "commit", "-qm", "Begin"]):
        subprocess.run(["git", *words], cwd=root, check=True)
    return root


WHO = ["-c", "user.name=A Tester", "-c", "user.email=tester@example.org"]


@pytest.fixture(autouse=True)
def clean(clone: Path):
    yield
    subprocess.run(["git", "clean", "-qfdx", "cases", "data_contracts"], cwd=clone, check=True)


def assay(clone: Path, *words: str, status: int = 0) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "flows", *map(str, words)],
        cwd=clone,
        env={**os.environ, "PYTHONPATH": str(clone), "DVC_SITE_CACHE_DIR": str(clone / ".site")},
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout if status == 0 else done.stderr


def untracked(clone: Path) -> str:
    words = ["git", "status", "--porcelain", "--untracked-files=all", "cases", "data_contracts"]
    return subprocess.run(words, cwd=clone, capture_output=True, text=True, check=True).stdout


def nothing_left(clone: Path) -> bool:
    return [path.name for path in (clone / "cases").iterdir()] == [".keep"]


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A person's folder with a model's code and weights."""
    (tmp_path / "code").mkdir()
    (tmp_path / "code/net.py").write_text(MODEL)
    np.save(tmp_path / "weights.npy", np.eye(3, 2))
    return tmp_path


def test_pictures_with_nothing_else_become_a_case_that_works(clone, tmp_path):
    root = made.class_folders(tmp_path / "pictures")
    words = ["new", "pets", "--train", root, "--sim", root, "--real", root, "--json"]
    told = json.loads(assay(clone, *words))
    assert told["classes"] == ["cat", "dog"]
    assert told["sets"]["sim"]["shapes"] == [[4, 5]]
    assert "nothing is wrong" in assay(clone, "check", "pets")
    case = clone / "cases/pets"
    assert "WIDTH, HEIGHT = 5, 4" in (case / "code/pets_steps.py").read_text()
    assert "| 1 | dog |" in (case / "README.md").read_text()
    code = (
        "import sys; sys.path.insert(0, 'code'); from pathlib import Path; import pets_model as m;"
        "m.train(Path('data/train'), Path('.'), 0); rows, labels = m.read(Path('data/sim'));"
        "print((m.build(Path('.'))(rows).argmax(1) == [int(x) for x in labels]).mean() > 0.5)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=case, capture_output=True, text=True, check=False
    )
    assert done.stdout == "True\n", done.stderr


def test_a_table_with_its_own_model_and_a_changed_step(clone, own):
    table = made.features_csv(own / "table.csv")
    assay(
        clone, "new", "pets-2", "--sim", table, "--real", table, "--code", own / "code",
        "--weights", own / "weights.npy", "--model", "net:build", "--step", "decode=net:decode",
        "--candidate-step", "decode=net:swapped", "--title", "Pets: again",
    )  # fmt: skip
    assert "nothing is wrong" in assay(clone, "check", "pets-2")
    stated = yaml.safe_load((clone / "cases/pets-2/case.yaml").read_text())
    assert stated["title"] == "Pets: again"
    assert "in this order: a, b, c." in (clone / "cases/pets-2/README.md").read_text()
    assert stated["reference"]["image"] == "base"
    assert stated["data"]["columns"] == ["a", "b", "c"]
    steps = [{"name": "decode", "call": "net:swapped"}]
    assert stated["candidate"] == {"like": "reference", "steps": steps}
    assert (clone / "cases/pets-2/weights/weights.npy").is_file()
    assert (clone / "data_contracts/pets_2.yaml").is_file()
    assay(clone, "contract", "draft", "pets-2", "--write", status=2)
    text = (clone / "data_contracts/pets_2.yaml").read_text()
    assert assay(clone, "contract", "draft", "pets-2") == text
    (clone / "data_contracts/pets_2.yaml").unlink()
    assert "written" in assay(clone, "contract", "draft", "pets-2", "--write")


def test_a_quantity_of_a_table_and_a_deployment_that_only_logged(clone, own):
    rows = [[at / 7, at % 5, at * 1.5] for at in range(30)]
    table = made.table(own / "table.csv", ["a", "b", "y"], rows)
    (own / "log").mkdir()
    ids = np.array([f"row-{at:06d}" for at in range(30)])
    values = np.zeros((30, 2), np.float32)
    np.savez(own / "log/tensors.npz", ids=ids, input=values, step_as_float=values)
    assay(
        clone, "new", "heat", "--task", "regression", "--unit", "MJ/kg", "--metric", "mae",
        "--train", table, "--sim", table, "--real", table, "--recorded", own / "log",
    )  # fmt: skip
    stated = yaml.safe_load((clone / "cases/heat/case.yaml").read_text())
    assert (stated["metric"], stated["unit"], "classes" in stated) == ("mae", "MJ/kg", False)
    assert stated["candidate"] == {"recorded": "recorded", "steps": [{"name": "as_float"}]}
    assert "#   gate: {max_mae: 1.0}" in (clone / "cases/heat/case.yaml").read_text()
    assert "nothing is wrong" in assay(clone, "check", "heat")
    code = (
        "import sys; sys.path.insert(0, 'code'); from pathlib import Path; import heat_model as m;"
        "print(m.train(Path('data/train'), Path('.'), 0)['train_mae'] < 0.1)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=clone / "cases/heat", capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout == "True\n", done.stderr


def test_the_last_logged_step_is_the_one_whose_output_is_the_input(clone, own):
    table = made.features_csv(own / "table.csv")
    (own / "log").mkdir()
    ids = np.array(["s0", "s1", "s2"])
    values = np.zeros((3, 3), np.float32)
    np.savez(own / "log/tensors.npz", ids=ids, input=values, step_read=values)
    words = [
        "--sim", table, "--real", table, "--code", own / "code", "--model", "net:build",
        "--weights", own / "weights.npy", "--recorded", own / "log", "--step", "read=net:decode",
    ]  # fmt: skip
    assay(clone, "new", "cells", *words, "--step", "standardise=net:swapped")
    stated = yaml.safe_load((clone / "cases/cells/case.yaml").read_text())
    assert [step["name"] for step in stated["candidate"]["steps"]] == ["read", "standardise"]
    more = ["--step", "fill=net:swapped", "--step", "standardise=net:swapped"]
    assay(clone, "new", "fewer", *words, *more)
    assert "steps" not in yaml.safe_load((clone / "cases/fewer/case.yaml").read_text())["candidate"]


def test_the_names_of_columns_are_written_whatever_they_hold(clone, own):
    names = [
        "yes",
        "a, b",
        "mean [mm]",
        "1",
        "# no",
        *(f"a rather long name {at}" for at in range(9)),
    ]
    rows = [[at + place for place in range(14)] + [at % 2] for at in range(9)]
    table = made.table(own / "table.csv", [*names, "y"], rows)
    words = ["--train", table, "--sim", table, "--real", table, "--label-column", "y"]
    assay(clone, "new", "wide", *words)
    text = (clone / "cases/wide/case.yaml").read_text()
    assert yaml.safe_load(text)["data"]["columns"] == names
    assert max(map(len, text.splitlines())) <= 100
    assert "nothing is wrong" in assay(clone, "check", "wide")


def test_the_layers_of_a_torch_module_are_offered(clone, own):
    (own / "code/torch_net.py").write_text(
        "import torch\nfrom torch import nn\nclass Net(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.first = nn.Linear(3, 8)\n        self.size = 8\n"
        "        self.last = torch.nn.Linear(8, 2)\n\ndef build(folder):\n    return Net()\n"
    )
    table = made.features_csv(own / "table.csv")
    words = ["--sim", table, "--real", table, "--code", own / "code", "--step", "decode=net:decode"]
    words += ["--weights", own / "weights.npy", "--model"]
    for case, model, layers in (
        ("own", "torch_net", "first, last"),
        ("other", "net", "conv1, fc1"),
    ):
        assay(clone, "new", case, *words, f"{model}:build")
        assert f"# layers: [{layers}]" in (clone / f"cases/{case}/case.yaml").read_text()


def test_a_package_keeps_its_name(clone, own):
    package = own / "mynet"
    (own / "code").rename(package)
    (package / "__init__.py").touch()
    table = made.features_csv(own / "table.csv")
    assay(
        clone, "new", "pets", "--sim", table, "--real", table, "--code", package, "--model",
        "mynet.net:build", "--weights", own / "weights.npy", "--step", "decode=mynet.net:decode",
    )  # fmt: skip
    assert (clone / "cases/pets/code/mynet/net.py").is_file()


def test_what_is_missing_is_listed_at_once(clone):
    told = assay(clone, "new", "Pets", status=2)
    for text in ("Pets: a case's name", "--sim: not given", "--real: not given", "--weights"):
        assert text in told
    assert untracked(clone) == ""


def test_a_case_is_never_overwritten(clone, tmp_path):
    root = made.class_folders(tmp_path / "pictures")
    words = ["new", "pets", "--train", root, "--sim", root, "--real", root]
    assay(clone, *words)
    before = untracked(clone)
    assert "cases/pets is there already" in assay(clone, *words, status=2)
    assert untracked(clone) == before


def test_a_dry_run_leaves_nothing(clone, tmp_path):
    root = made.class_folders(tmp_path / "pictures")
    words = ["new", "pets", "--train", root, "--sim", root, "--real", root, "--dry-run"]
    assert "planned  cases/pets/case.yaml" in assay(clone, *words)
    assert untracked(clone) == ""
    assert nothing_left(clone)


@pytest.mark.parametrize(
    ("old", "says"),
    [
        pytest.param("net:build", "net has no function builds. Did you mean build?", id="function"),
        pytest.param("table.csv", "there is no", id="source"),
    ],
)
def test_a_failure_leaves_nothing(old, says, clone, own):
    table = made.features_csv(own / "table.csv")
    words = [
        "new", "pets", "--sim", table, "--real", own / "table.csv", "--code", own / "code",
        "--weights", own / "weights.npy", "--model", "net:build", "--step", "decode=net:decode",
    ]  # fmt: skip
    wrong = [str(word).replace(old, f"{old}s") for word in words]
    assert says in assay(clone, *wrong, status=2)
    assert untracked(clone) == ""
    assert nothing_left(clone)


def test_a_recording_that_is_no_npz_is_refused(clone, own):
    table = made.features_csv(own / "table.csv")
    (own / "log").mkdir()
    (own / "log/tensors.npz").write_bytes(b"PK, and nothing more")
    words = ["new", "pets", "--train", table, "--sim", table, "--real", table]
    told = assay(clone, *words, "--recorded", own / "log", status=2)
    assert "tensors.npz is no .npz, or is cut off" in told
    assert nothing_left(clone)


def test_a_full_disk_is_told_and_leaves_nothing(clone, own, monkeypatch):
    def fill(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(new_case, "copy_weights", fill)
    asked = Asked(name="pets", sim="x", real="x", weights=str(own / "weights.npy"), model="onnx")
    with pytest.raises(Faults, match="No space left on device"):
        new_case.make(asked, clone, lambda _line: None)
    assert nothing_left(clone)


def test_large_data_go_to_dvc_and_what_cannot_be_read_leaves_train(clone, tmp_path):
    root = made.class_folders(tmp_path / "pictures")
    noise = np.random.default_rng(0).integers(0, 255, (700, 700, 3)).astype(np.uint8)
    (root / "cat/day-0/large.png").write_bytes(made.png(noise))
    broken = made.class_folders(tmp_path / "broken")
    (broken / "cat/day-0/00.png").write_bytes(b"\x89PNG nothing")
    words = ["new", "pets", "--train", broken, "--sim", root, "--real", root, "--json"]
    told = json.loads(assay(clone, *words))
    assert told["in_dvc"] == ["data/sim", "data/real"]
    assert told["sets"]["train"]["rows"] == 11
    assert "cat/day-0/00.png" in told["sets"]["train"]["notes"][-1]
    listed = untracked(clone)
    assert "cases/pets/data/sim.dvc" in listed
    assert "large.png" not in listed
    shutil.rmtree(clone / "cases/pets/data/sim")
    subprocess.run(
        [sys.executable, "-m", "dvc", "checkout", "-q", "cases/pets/data/sim.dvc"],
        cwd=clone, check=True,
    )  # fmt: skip
    assert (clone / "cases/pets/data/sim/cat/day-0/large.png").is_file()


def test_samples_of_a_private_case_stay_on_this_machine(clone, tmp_path):
    root = made.class_folders(tmp_path / "pictures")
    (root / "cat/day-0/a person.png").write_bytes(b"nothing")
    words = ["new", "pets", "--train", root, "--sim", root, "--real", root, "--private"]
    told = assay(clone, *words)
    code = (
        "from pathlib import Path; from flows.case import load_case;"
        "from flows.case_privacy import exposed_samples;"
        "print(exposed_samples(load_case(Path.cwd(), 'pets')))"
    )
    environment = {**os.environ, "PYTHONPATH": str(clone)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=clone, env=environment, capture_output=True, check=True
    )
    assert done.stdout == b"[]\n"
    assert ".png" not in untracked(clone)
    assert "a person" not in told + (clone / "cases/pets/README.md").read_text()


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """A DVC repository of somebody else: a dataset folder and a table, tagged v1."""
    root = tmp_path / "elsewhere"
    root.mkdir()
    samples = made.pixels()[:, 0, :3].astype(np.float64)
    (root / "field").mkdir()
    np.save(root / "field/samples.npy", samples)
    rows = [[f"s{at}", at, made.LABELS[at], made.GROUPS[at]] for at in range(made.NUM_ROWS)]
    made.table(root / "field/manifest.csv", ["id", "row", "label", "group"], rows)
    made.features_csv(root / "table.csv")
    for words in (
        ["git", "init", "-q", "-b", "main"],
        [sys.executable, "-m", "dvc", "init", "-q"],
        [sys.executable, "-m", "dvc", "add", "-q", "field", "table.csv"],
        ["git", "add", "-A"],
        ["git", *WHO, "commit", "-qm", "Data"],
        ["git", "tag", "v1"],
    ):
        subprocess.run(words, cwd=root, check=True)
    return root


def test_data_of_another_dvc_repository_keep_their_lineage(clone, own, elsewhere):
    assay(
        clone, "new", "pets", "--sim", f"dvc:{elsewhere}#table.csv", "--code", own / "code",
        "--real", f"dvc:{elsewhere}#field@v1", "--step", "decode=net:decode", "--model",
        "net:build", "--weights", own / "weights.npy", "--classes", "cat,dog",
    )  # fmt: skip
    data = clone / "cases/pets/data"
    origin = yaml.safe_load((data / "source-sim.csv.dvc").read_text())["deps"][0]
    assert origin["path"] == "table.csv"
    assert len(origin["repo"]["rev_lock"]) == 40
    assert yaml.safe_load((data / "source-real.dvc").read_text())["deps"][0]["repo"]["rev"] == "v1"
    assert "source-real.dvc names its repository" in (clone / "cases/pets/README.md").read_text()
    assert "nothing is wrong" in assay(clone, "check", "pets")


def test_an_imported_dataset_folder_is_the_set_itself(clone, own, elsewhere):
    assay(
        clone, "new", "pets", "--sim", f"dvc:{elsewhere}#field", "--code", own / "code",
        "--real", f"dvc:{elsewhere}#field@v1", "--step", "decode=net:decode", "--model",
        "net:build", "--weights", own / "weights.npy",
    )  # fmt: skip
    data = clone / "cases/pets/data"
    assert sorted(path.name for path in data.iterdir()) == [
        ".gitignore", "real", "real.dvc", "sim", "sim.dvc",
    ]  # fmt: skip
    assert "no such path" not in assay(clone, "check", "pets")


def test_a_repository_that_is_not_there_leaves_nothing(clone, own):
    told = assay(
        clone, "new", "pets", "--sim", f"dvc:{own}/none#field", "--train", own, "--real", own,
        status=2,
    )  # fmt: skip
    assert "--sim: `dvc import` refused" in told
    assert nothing_left(clone)

"""One small data set in every form in which people have theirs: 12 pictures, cats and dogs."""

import csv
import io
import json
import tarfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from PIL import Image
from pyarrow import parquet

NUM_ROWS = 12
NAMES = ("cat", "dog")
LABELS = [at % 2 for at in range(NUM_ROWS)]
GROUPS = [f"day-{at // 4}" for at in range(NUM_ROWS)]


def pixels() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 200, (NUM_ROWS, 4, 5)).astype(np.uint8)


def png(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    Image.fromarray(array).save(file, "png")
    return file.getvalue()


def class_folders(root: Path) -> Path:
    for at, array in enumerate(pixels()):
        folder = root / NAMES[LABELS[at]] / GROUPS[at]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{at:02d}.png").write_bytes(png(array))
    (root / "README.md").write_text("Cats and dogs.")
    return root


def listed_files(root: Path) -> Path:
    root.mkdir()
    rows = []
    for at, array in enumerate(pixels()):
        (root / f"{at:02d}.png").write_bytes(png(array))
        rows.append([f"{at:02d}.png", NAMES[LABELS[at]], GROUPS[at], f"lens {at % 3}"])
    table(root / "labels.csv", ["file_name", "label", "session", "lens"], rows)
    return root


def table(path: Path, header: list[str], rows: list[list]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def features_csv(path: Path) -> Path:
    rows = [
        [f"s{at}", *array[0, :3], f"site {at % 2}", NAMES[LABELS[at]], GROUPS[at]]
        for at, array in enumerate(pixels())
    ]
    return table(path, ["id", "a", "b", "c", "site", "label", "group"], rows)


def features_parquet(path: Path) -> Path:
    array = pixels()[:, 0, :3]
    columns = {name: array[:, at].astype(np.float32) for at, name in enumerate("abc")}
    names = [NAMES[label] for label in LABELS]
    parquet.write_table(pa.table({**columns, "label": names, "group": GROUPS}), path)
    return path


def arrays_npz(path: Path) -> Path:
    np.savez(path, x=pixels(), y=np.array([NAMES[label] for label in LABELS]), groups=GROUPS)
    return path


def arrays_npy(root: Path) -> Path:
    root.mkdir()
    np.save(root / "x.npy", pixels())
    np.save(root / "y.npy", np.array([NAMES[label] for label in LABELS]))
    np.save(root / "groups.npy", np.array(GROUPS))
    return root


def shards(root: Path) -> Path:
    root.mkdir()
    contents = pixels()
    for number in range(2):
        with tarfile.open(root / f"data-{number:04d}.tar", "w") as shard:
            for at in range(number * 6, number * 6 + 6):
                told = {"label": NAMES[LABELS[at]], "session": GROUPS[at], "exposure": at}
                add(shard, f"{at:03d}.png", png(contents[at]))
                add(shard, f"{at:03d}.json", json.dumps(told).encode())
    return root


def add(shard: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    shard.addfile(member, io.BytesIO(content))


def hugging_face(root: Path, names: tuple[str, ...] = NAMES) -> Path:
    """What `datasets.Dataset.save_to_disk` leaves: an Arrow stream and two JSON files."""
    root.mkdir(parents=True)
    pictures = [{"bytes": png(array), "path": f"{at}.png"} for at, array in enumerate(pixels())]
    rows = pa.table({"image": pictures, "label": pa.array(LABELS, pa.int64()), "session": GROUPS})
    with pa.ipc.new_stream(str(root / "data-00000-of-00001.arrow"), rows.schema) as stream:
        for batch in rows.to_batches(max_chunksize=5):
            stream.write_batch(batch)
    features = {
        "image": {"_type": "Image"},
        "label": {"names": list(names), "_type": "ClassLabel"},
        "session": {"dtype": "string", "_type": "Value"},
    }
    (root / "dataset_info.json").write_text(json.dumps({"features": features}))
    files = [{"filename": "data-00000-of-00001.arrow"}]
    (root / "state.json").write_text(json.dumps({"_data_files": files, "_split": "train"}))
    return root


def hugging_face_parts(root: Path) -> Path:
    hugging_face(root / "test")
    hugging_face(root / "validation")
    (root / "dataset_dict.json").write_text(json.dumps({"splits": ["test", "validation"]}))
    return root


def hugging_face_parquet(root: Path) -> Path:
    (root / "data").mkdir(parents=True)
    pictures = [{"bytes": png(array), "path": None} for array in pixels()]
    features = {"image": {"_type": "Image"}, "label": {"names": list(NAMES), "_type": "ClassLabel"}}
    told = {"huggingface": json.dumps({"info": {"features": features}})}
    rows = pa.table({"image": pictures, "label": LABELS, "session": GROUPS})
    rows = rows.replace_schema_metadata(told)
    for part in ("test", "train"):
        parquet.write_table(rows, root / f"data/{part}-00000-of-00001.parquet")
    return root


def dataset_folder(root: Path) -> Path:
    root.mkdir()
    np.save(root / "samples.npy", pixels())
    rows = [[f"s{at}", at, NAMES[LABELS[at]], GROUPS[at]] for at in range(NUM_ROWS)]
    table(root / "manifest.csv", ["id", "row", "label", "group"], rows)
    return root

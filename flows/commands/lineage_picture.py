"""The picture of `assay lineage`: data and code on the left, stages, the verdict on the right."""

from lineage.ancestry import Graph, Node
from lineage.provenance import RunRecord
from stages.plots_graph import Box
from stages.plots_graph import draw as draw_boxes

HASH = 8


def draw(graph: Graph, record: RunRecord, start: str) -> str:
    """Draw a run, or the part of it that a thing is made of and that is made of it.

    Args:
        graph: what is to be drawn.
        record: its run.
        start: the node that was asked for; "": the whole run.
    """
    from flows.commands.lineage import stage_reads

    boxes: dict[str, Box] = {}
    before: dict[str, list[str]] = {}
    for it in graph.of("data", "contract", "code"):
        if it.kind != "code" or it.name.startswith("cases/"):
            boxes[it.id] = Box(
                title=it.name.removeprefix(f"cases/{record.case}/").removeprefix("data_contracts/"),
                small=f"{it.kind}  {(it.hash or '')[:HASH]}",
                kind="code" if it.kind == "code" else "data",
                marked=it.id == start,
            )
    reads = stage_reads(graph)
    asked = _maker(graph, start)
    for name, earlier in reads.items():
        node = graph.nodes[f"stage:{name}"]
        boxes[name] = Box(
            title=name,
            small=_small(graph, node, record),
            hover=_hover(graph, node),
            marked=name == asked,
        )
        before[name] = [*earlier, *_first_read(graph, name, earlier, reads, boxes)]
    if record.verdict and "gate" in boxes:
        boxes["the gate"] = Box(title=f"gate {record.verdict}", small=record.id, kind="end")
        before["the gate"] = ["gate"]
    name = graph.nodes[start].name if start else f"run {record.id}"
    return draw_boxes(boxes, before, f"What {name} is made of, and what of it", alone=True)


def _maker(graph: Graph, start: str) -> str:
    """Return the stage that made what was asked for."""
    made = [first for first, after in graph.edges if after == start and first.startswith("stage:")]
    return made[0].removeprefix("stage:") if made else ""


def _small(graph: Graph, node: Node, record: RunRecord) -> str:
    """Return how a stage came to be, where, and the hash of all that it made."""
    image = next((it.about["image"] for it in graph.before(node.id) if it.kind == "image"), "")
    made = next((one.outputs for one in record.stages if one.name == node.name), {})
    folder = made.get(f"cases/{record.case}/artifacts/{node.name}", "")[:HASH]
    return " ".join(filter(None, (node.about["how"], image, folder)))


def _hover(graph: Graph, node: Node) -> str:
    """Return a stage's params and image in full, one below the other."""
    told = []
    for it in graph.before(node.id):
        if it.kind == "params":
            told.append(", ".join(f"{key}={value}" for key, value in it.about["values"].items()))
        elif it.kind == "image":
            told.append(" ".join(filter(None, (it.about["image"], it.hash, it.about["image_id"]))))
    return "".join(f"\n{line}" for line in told)


def _first_read(
    graph: Graph,
    name: str,
    earlier: list[str],
    reads: dict[str, list[str]],
    boxes: dict[str, Box],
) -> list[str]:
    """Return what was there before and that no earlier stage reads: its arrow would say no more."""
    known: set[str] = set()
    waiting = list(earlier)
    while waiting:
        one = waiting.pop()
        known |= {it.id for it in graph.before(f"stage:{one}")}
        waiting += reads[one]
    own = [it.id for it in graph.before(f"stage:{name}") if it.id in boxes]
    return [one for one in own if one not in known]

"""The generated case is what it says, and two sizes become costs of a sample more."""

import numpy as np
import pytest

from bench import scale
from bench.rig import grown
from flows.case import load_case


@pytest.mark.parametrize("name", list(grown.KINDS))
def test_a_generated_case_is_whole_and_of_the_stated_size(tmp_path, name: str):
    kind = grown.KINDS[name]
    grown.make(tmp_path, kind, 100)
    loaded = load_case(tmp_path, grown.CASE)
    assert loaded.case.candidate.steps[0].call == "grown_steps:turned"
    for dataset in ("sim", "real"):
        folder = tmp_path / loaded.folder / "data" / dataset
        samples = np.load(folder / "samples.npy")
        assert samples.shape == (50, *kind.shape)
        assert samples.dtype == kind.dtype
        head, *lines = (folder / "manifest.csv").read_text().splitlines()
        assert head == ",".join(["id", "row", "label", "group", *kind.columns])
        assert len(lines) == 50


def test_costs_at_several_sizes_become_those_of_a_sample_more():
    costs = {
        size: scale.Spent(cpu_s=1 + size / 1000, peak_bytes=10**8 + 3000 * size)
        for size in (1000, 10_000, 100_000)
    }
    span, peak, cpu, memory = scale._figures("it", costs)
    assert (span.low, span.value, span.high) == (2.0, 11.0, 101.0)
    assert (peak.low, peak.high) == (103.0, 400.0)
    assert cpu.value == pytest.approx(1.0)
    assert memory.value == pytest.approx(3000)
    assert memory.is_met() is False


def test_what_does_not_grow_costs_nothing_more():
    costs = {size: scale.Spent(cpu_s=1.0, peak_bytes=10**8 - size) for size in (1000, 100_000)}
    _, _, cpu, memory = scale._figures("it", costs)
    assert (cpu.value, memory.value) == (0.0, 0.0)

"""Costs at several sizes become a curve; a small file is compared as a large one is."""

from bench import large
from bench.rig.figures import write


def test_costs_become_a_curve_beside_the_bound_on_memory(monkeypatch):
    def measured(size):
        return large.Cost(1 + size / 1000, 3 * 10**9, 0.1, 0.2)

    monkeypatch.setattr(large, "_measured", measured)
    monkeypatch.setattr(large, "STATED_SIZES", None)
    found = large.run()
    assert [figure.value for figure in found if figure.unit == "s"] == [11.0, 101.0, 1001.0, 0.5]
    assert [figure.is_met() for figure in found if figure.unit == "MB"] == [False] * 3
    assert len(found) == 13


def test_what_is_known_of_other_sizes_stays(monkeypatch, tmp_path):
    monkeypatch.setattr(large, "_measured", lambda _: large.Cost(1.0, 10**6, 0.1, 0.2))
    monkeypatch.setattr(large, "STORED", tmp_path / "large.json")
    monkeypatch.setattr(large, "STATED_SIZES", "10000")
    first = large.run()
    assert len(first) == 4
    write(tmp_path / "large.json", {}, first)
    monkeypatch.setattr(large, "STATED_SIZES", "100000")
    assert large.run()[:4] == first
    assert len(large.run()) == 9


def test_files_of_the_stated_size_are_compared_and_removed(monkeypatch):
    monkeypatch.setattr(large, "WIDTH", 4)
    cost = large._measured(2500)  # more than `exact_rows`
    assert cost.mmd2_error > 0
    assert cost.effect_error > 0
    assert cost.peak_bytes > 0

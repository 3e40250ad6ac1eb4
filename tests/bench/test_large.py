"""Costs at several sizes become a curve; a small file is compared as a large one is."""

from bench import large


def test_costs_become_a_curve_beside_the_bound_on_memory():
    costs = {
        size: large.Cost(cpu_s=1 + size / 1000, peak_bytes=3 * 10**9, mmd2_error=0, effect_error=0)
        for size in (10_000, 100_000)
    }
    found = large.figures(costs)
    assert [figure.value for figure in found if figure.unit == "s"] == [11.0, 101.0, 0.5]
    assert [figure.is_met() for figure in found if figure.unit == "MB"] == [False, False]
    assert len(found) == 9


def test_files_of_the_stated_size_are_compared_and_removed(monkeypatch):
    monkeypatch.setattr(large, "WIDTH", 4)
    cost = large._measured(2500)  # more than `exact_rows`
    assert cost.mmd2_error > 0
    assert cost.effect_error > 0
    assert cost.peak_bytes > 0

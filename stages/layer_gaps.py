"""Sim against real at each layer: all pairs of rows, or every row once where they are too many."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stages.reports.features import LayerGap

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from assay.mmd import MMDResult
    from assay.streamed_mmd import StreamedMMD
    from stages.feature_rows import FeatureRows


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Few enough rows of a domain for all pairs: all of them, or a seeded choice."""

    all_rows: "FeatureRows"
    at: "NDArray[np.intp]"

    @property
    def is_part(self) -> bool:
        """Whether there are more."""
        return len(self.at) < len(self.all_rows)

    @property
    def labels(self) -> "NDArray[Any]":
        """The chosen rows' labels, as texts."""
        return self.all_rows.labels[self.at]

    @property
    def groups(self) -> "NDArray[np.intp]":
        """The chosen rows' groups."""
        return self.all_rows.groups[self.at]

    def take(self, layer: str) -> "NDArray[np.float32]":
        """Return the chosen rows' answers."""
        return self.all_rows.take(layer, self.at)


def sample(side: "FeatureRows", most: int, seed: int) -> Sample:
    """Choose at most so many rows."""
    import numpy as np

    at = np.arange(len(side))
    if len(side) > most:
        at = np.sort(np.random.default_rng(seed).choice(at, most, replace=False))
    return Sample(all_rows=side, at=at)


def compare(sim: Sample, real: Sample, *, num_permutations: int, seed: int) -> list[LayerGap]:
    """Test each layer; Holm over the layers."""
    from assay.mmd import mmd_test
    from assay.multiplicity import holm

    pairs: dict[str, MMDResult] = {}
    frequencies: dict[str, StreamedMMD | None] = {}
    streams, most = sim.is_part or real.is_part, max(len(sim.at), len(real.at))
    for layer in sim.all_rows.files:
        pairs[layer] = found = mmd_test(
            sim.take(layer),
            real.take(layer),
            sim.groups,
            real.groups,
            num_permutations=num_permutations,
            seed=seed,
            max_rows=most,
        )
        frequencies[layer] = (
            _stream(
                layer,
                (sim.all_rows, real.all_rows),
                found.median_distance,
                num_permutations=num_permutations,
                seed=seed,
            )
            if streams
            else None
        )
    adjusted = holm([(frequencies[layer] or pairs[layer]).p_value for layer in pairs])
    return [
        _gap(layer, sim.take(layer).shape[1], pairs[layer], frequencies[layer], float(p_holm))
        for layer, p_holm in zip(pairs, adjusted, strict=True)
    ]


def _stream(
    layer: str,
    sides: "tuple[FeatureRows, FeatureRows]",
    bandwidth: float,
    *,
    num_permutations: int,
    seed: int,
) -> "StreamedMMD":
    import numpy as np

    from assay.streamed_mmd import pack_groups, streamed_mmd_test

    sim, real = sides
    generator = np.random.default_rng(seed)
    return streamed_mmd_test(
        sim.blocks(layer),
        real.blocks(layer),
        pack_groups(sim.groups, real.num_groups, generator),
        pack_groups(real.groups, sim.num_groups, generator),
        bandwidth=bandwidth,
        num_permutations=num_permutations,
        seed=seed,
    )


def _gap(
    layer: str,
    width: int,
    pairs: "MMDResult",
    frequencies: "StreamedMMD | None",
    p_holm: float,
) -> LayerGap:
    test = frequencies or pairs
    effect = 0.5 if pairs.effect is None else pairs.effect  # a sample that met one group alone
    fewer = min(pairs.num_groups_sim, pairs.num_groups_real)
    return LayerGap(
        layer=layer,
        width=width,
        mmd2=test.mmd2,
        p_value=test.p_value,
        p_holm=p_holm,
        effect=effect,
        permuted=pairs.permuted,
        smallest_p_value=test.smallest_p_value,
        compared="frequencies" if frequencies else "pairs",
        mmd2_error=frequencies.mmd2_error if frequencies else None,
        # No estimate of such a chance from so many varies more (van Dantzig 1951).
        effect_error=(effect * (1 - effect) / fewer) ** 0.5 if frequencies else None,
    )

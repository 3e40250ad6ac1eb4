"""The page's sections in their order, one module each; see `stages.section`.

To show a new stage: a line in `stages.reports.page.Answer`, a module here with `SECTION`, its
template of the same name, and its place in `SECTIONS`.
"""

from stages.section import Section
from stages.sections import (
    environments,
    evaluate,
    features,
    field,
    inputs,
    lineage,
    mitigate,
    parity,
    probe,
    replay,
    runtime,
    since,
)

SECTIONS: tuple[Section, ...] = (
    since.SECTION,
    mitigate.SECTION,
    parity.SECTION,
    runtime.SECTION,
    replay.SECTION,
    field.SECTION,
    inputs.SECTION,
    features.SECTION,
    evaluate.SECTION,
    probe.SECTION,
    environments.SECTION,
    lineage.SECTION,
)

"""Hold a table of samples to the terms of a contract, by Great Expectations."""

import os
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stages.contract_terms import Term

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What Great Expectations found of one term, without its volatile fields."""

    term: Term
    name: str  # Great Expectations' name of the expectation
    passed: bool
    observed: str
    positions: tuple[int, ...]  # of the breaching rows, ascending


def examine(table: "pd.DataFrame", terms: Iterable[Term]) -> Iterator[Verdict]:
    """Validate one suite on a table with a column `position`; verdicts come as the terms do."""
    listed = list(terms)
    gx = _great_expectations()
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}
    asset = context.data_sources.add_pandas("pandas").add_dataframe_asset("samples")
    batch = asset.add_batch_definition_whole_dataframe("all").get_batch({"dataframe": table})
    # Results come in an order of their own: `meta` says which is which.
    expectations = [
        getattr(gx.expectations, term.expectation)(**term.arguments, meta={"term": at})
        for at, term in enumerate(listed)
    ]
    suite = gx.ExpectationSuite(name="contract", expectations=expectations)
    complete = {"result_format": "COMPLETE", "unexpected_index_column_names": ["position"]}
    results = batch.validate(suite, result_format=complete).results
    for result in sorted(results, key=lambda found: found.expectation_config.meta["term"]):
        config = result.expectation_config
        found = result.result.get("unexpected_index_list") or []
        yield Verdict(
            term=listed[config.meta["term"]],
            name=config.type,
            passed=bool(result.success),
            observed=_observed(result),
            positions=tuple(sorted(int(row["position"]) for row in found)),
        )


def _observed(result: Any) -> str:
    """Say what was found from the fields that are the same at every call."""
    found = result.result
    if "unexpected_count" in found:
        nulls = found.get("missing_count") or 0
        without = f", {nulls} without a value" if nulls else ""
        return f"{found['unexpected_count']} of {found['element_count']} rows breach it{without}"
    if "missing_count" in found:
        missing = ", ".join(map(str, found["partial_missing_list"]))
        return f"missing: {missing}" if missing else "none is missing"
    if found.get("observed_value") is not None:
        return str(found["observed_value"])
    if result.expectation_config.type == "expect_column_to_exist":
        return "it is there" if result.success else "it is not there"
    # A metric that could not be computed: the usual cause is no such column.
    return f"there is no column {result.expectation_config.kwargs.get('column')}"


def _great_expectations() -> Any:
    # Read when the package is first imported; a stage sends nothing anywhere.
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own dependencies warn of Python's deprecations
        import great_expectations as gx
        import great_expectations.expectations
    return gx

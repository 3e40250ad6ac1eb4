"""Every stage, in the order in which a reader meets them."""

from stages import (
    collect,
    contract,
    data,
    diagnose,
    environments,
    evaluate,
    features,
    gate,
    inputs,
    parity,
    predict,
    preprocess,
    probe,
    report,
    since,
    split,
    swap,
    train,
)
from stages.stage import SideStage, Stage

CATALOG: tuple[Stage | SideStage, ...] = (
    data.STAGE,
    train.STAGE,
    contract.STAGE,
    split.STAGE,
    preprocess.STAGE,
    swap.STAGE,
    parity.STAGE,
    predict.STAGE,
    collect.STAGE,
    environments.STAGE,
    inputs.STAGE,
    features.STAGE,
    probe.STAGE,
    evaluate.STAGE,
    since.STAGE,
    diagnose.STAGE,
    gate.STAGE,
    report.STAGE,
)

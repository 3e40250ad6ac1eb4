"""Prints the figures that the two READMEs quote: `python cases/heating/measure.py` (a minute)."""

import sys
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

CASES = Path(__file__).parent.parent
sys.path[:0] = [str(CASES / "heating/code"), str(CASES / "heating-misdeployed/code")]

import heating_data  # noqa: E402 - the case's code is put on the path above
import heating_model  # noqa: E402
import heating_steps  # noqa: E402
import laboratory_steps  # noqa: E402
import torch  # noqa: E402
from torch import Tensor, nn  # noqa: E402

SWAPPED = (0, 2, 1, 3, 4)
NUM_DRAWS = 8


def r2(predicted: Tensor, values: Tensor) -> float:
    """Share of the values' variance that the predictions explain; below 0: worse than the mean."""
    return float(1 - ((values - predicted) ** 2).sum() / ((values - values.mean()) ** 2).sum())


def mae(predicted: Tensor, values: Tensor) -> float:
    """Mean absolute error in MJ/kg."""
    return float((values - predicted).abs().mean())


def answers(model: nn.Module, inputs: Tensor) -> Tensor:
    """Return (rows,) MJ/kg."""
    with torch.no_grad():
        return model(inputs)[:, 0]


def prepared(samples: NDArray[np.float32]) -> Tensor:
    """Run the reference's last step on (rows, 5) compositions."""
    mean, deviation = heating_model.MEAN, heating_model.DEVIATION
    return torch.from_numpy(
        np.stack([heating_steps.standardise(s, mean, deviation) for s in samples])
    )


def measure(folder: Path, data_seed: int, seed: int) -> dict[str, float]:
    """Train once and measure on sim and on real, through each variant of the preprocessing."""
    data, trained = folder / f"data-{data_seed}", folder / f"model-{data_seed}-{seed}"
    if not data.exists():
        heating_data.make(data, data_seed)
    heating_model.train(data / "train", trained, seed)
    model = heating_model.build(trained)
    sim, sim_values = heating_model.read(data / "sim")
    real, values = heating_model.read(data / "real")
    raw = np.load(data / "real/samples.npy")
    given = answers(model, real)
    reported = np.stack([laboratory_steps.decode(sample) for sample in raw])
    return {
        "R2, sim": r2(answers(model, sim), sim_values),
        "R2, real": r2(given, values),
        "R2, real, mean error taken off": r2(given + (values - given).mean(), values),
        "R2, real, the formula itself": r2(
            torch.from_numpy(heating_data.dulong(raw.astype(float))), values
        ),
        "R2, real, one decimal": r2(answers(model, prepared(reported)), values),
        "R2, real, H and O swapped": r2(answers(model, prepared(raw[:, SWAPPED])), values),
        "R2, real, as misdeployed": r2(answers(model, prepared(reported[:, SWAPPED])), values),
        "R2, real, fractions": r2(answers(model, prepared(raw / 100)), values),
        "mean error, real": float((given - values).mean()),
        "MAE, real": mae(given, values),
        "MAE, real, the mean for all": mae(values.mean(), values),
    }


def few_labels(model_dir: Path, real: tuple[Tensor, Tensor], num: int) -> dict[str, list[float]]:
    """Fit all layers to `num` samples, judge on the others; once a draw."""
    inputs, values = real
    found: dict[str, list[float]] = {}
    for draw in range(NUM_DRAWS):
        shuffled = torch.randperm(len(values), generator=torch.Generator().manual_seed(draw))
        few, rest = shuffled[:num], shuffled[num:]
        for scratch in (False, True):
            torch.manual_seed(draw)
            model = heating_model.HeatNet() if scratch else heating_model.build(model_dir)
            optimizer = torch.optim.Adam(model.parameters(), 5e-3)
            schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, 80)
            for _ in range(80):
                optimizer.zero_grad()
                nn.functional.mse_loss(model(inputs[few])[:, 0], values[few]).backward()
                optimizer.step()
                schedule.step()
            name = f"MAE, {num} labels, {'from scratch' if scratch else 'all layers'}"
            found.setdefault(name, []).append(mae(answers(model, inputs[rest]), values[rest]))
    return found


def main() -> None:
    """Measure the default, five training seeds, five seeds of both, and few labels."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        runs = {
            (data_seed, seed): measure(folder, data_seed, seed)
            for data_seed, seed in [(0, s) for s in range(5)] + [(s, s) for s in range(1, 5)]
        }
        real = heating_model.read(folder / "data-0/real")
        few = [few_labels(folder / "model-0-0", real, num) for num in (50, 100)]
    print(f"{'':32}{'seed 0':>9}{'5 trainings':>18}{'5 data sets':>18}")
    for figure, default in runs[0, 0].items():
        trainings = [runs[0, seed][figure] for seed in range(5)]
        both = [runs[seed, seed][figure] for seed in range(5)]
        spread = (f"{np.mean(v):.3f} ({np.std(v, ddof=1):.3f})" for v in (trainings, both))
        print(f"{figure:32}{default:9.3f}", *(f"{text:>17}" for text in spread))
    for found in few:
        for figure, draws in found.items():
            print(f"{figure:32}{np.mean(draws):9.3f} ({np.std(draws, ddof=1):.3f})")


if __name__ == "__main__":
    main()

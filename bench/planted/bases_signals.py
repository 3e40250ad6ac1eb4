"""Signals: six channels of wrist motion, and tones recorded at 4 kHz."""

import numpy as np

from bench.planted.base import NUM_REAL, NUM_SIM, Base
from bench.planted.bases_pictures import code_of, shared_out
from bench.planted.rows import Rows, named

RATE_HZ, LENGTH = 4000, 2000


def motion(rng: np.random.Generator) -> tuple[Rows, Rows, Rows]:
    """Let wearers of a watch stand, walk, run and play."""
    data = code_of("motion", "motion_data")
    taken = data.generate("wearer", (90, 3), rng)
    groups = [f"{group}-{row // 6 % 2}" for row, group in enumerate(taken.groups)]
    rows = named(taken.samples, np.array(taken.labels), groups, "m")
    return shared_out(rows, rng, NUM_SIM, NUM_REAL)


def tones(rng: np.random.Generator) -> tuple[Rows, Rows, Rows]:
    """Let devices record six kinds of sound, each device with its own gain and hiss."""
    sounds, labels, groups = [], [], []
    for device in range(240):
        gain, hiss = np.exp(rng.normal(-1.6, 0.35)), np.exp(rng.normal(-4.0, 0.5))
        for _ in range(5):
            label = int(rng.integers(6))
            wave = gain * _sound(label, rng) + rng.normal(0, hiss, LENGTH)
            sounds.append(np.clip(np.rint(wave * 32768), -32768, 32767).astype(np.int16))
            labels.append(label)
            groups.append(f"device-{device:03d}")
    rows = named(np.stack(sounds)[..., None], np.array(labels), groups, "t")
    return shared_out(rows, rng)


def _sound(label: int, rng: np.random.Generator) -> np.ndarray:
    """Return a low, middle or high tone, a rising or falling one, or noise (0)."""
    moments = np.arange(LENGTH) / RATE_HZ
    if label == 0:
        return 0.4 * rng.normal(0, 1, LENGTH)
    low, high = [(260, 420), (480, 700), (850, 1250), (350, 1000), (1000, 350)][label - 1]
    start, end = (low, high) if label > 3 else (rng.uniform(low, high),) * 2
    bend = np.exp(rng.normal(0, 0.08))
    pitch = bend * (start + (end - start) * moments / moments[-1])
    phase = 2 * np.pi * np.cumsum(pitch) / RATE_HZ + rng.uniform(0, 2 * np.pi)
    swell = 1 + 0.3 * np.sin(2 * np.pi * rng.uniform(2, 6) * moments)
    return swell * (np.sin(phase) + 0.2 * np.sin(2 * phase))


def wheel(rng: np.random.Generator) -> tuple[Rows, Rows, Rows]:
    """Two sensors a quarter of a turn apart tell which way a wheel turns; a third, how hard."""
    signals, labels, groups = [], [], []
    for machine in range(220):
        hiss, offset = rng.uniform(0.05, 0.2), rng.normal(0, 0.1, 3)
        for _ in range(5):
            label = int(rng.integers(4))
            moments = np.arange(100) / 100
            turns = rng.uniform(4.5, 6.5) * (1, -1, 0, 0)[label] * moments
            turns = turns + 0.03 * np.cumsum(rng.normal(0, 0.1, 100)) + rng.uniform()
            if label == 3:  # shaken, not turned
                turns = turns + 0.4 * np.sin(2 * np.pi * (rng.uniform(4, 7) * moments))
            angle = 2 * np.pi * turns
            load = 0.3 + (label != 2) * (0.5 + 0.2 * np.cos(2 * angle))
            made = np.stack([np.cos(angle), np.sin(angle), load], axis=1) + offset
            signals.append((5 * (made + rng.normal(0, hiss, made.shape))).astype(np.float32))
            labels.append(label)
            groups.append(f"machine-{machine:03d}")
    return shared_out(named(np.stack(signals), np.array(labels), groups, "w"), rng)


BASES = (
    Base(
        name="wheel",
        modality="signal",
        make=wheel,
        chain="wheel_chain",
        steps=("decode", "scale", "layout"),
        raw="decode",
        scaled="scale",
        axes="TC",
        top=10.0,
        net="signal_net",
        shape={"channels": 3, "classes": 4},
        contract={"dtype": "float32", "shape": [100, 3]},
        classes=4,
        epochs=10,
    ),
    Base(
        name="motion",
        modality="signal",
        make=motion,
        chain="motion_chain",
        steps=("decode", "units", "layout"),
        raw="decode",
        scaled="units",
        axes="TC",
        top=20.0,
        net="signal_net",
        shape={"channels": 6, "classes": 4},
        contract={"dtype": "float32", "shape": [100, 6]},
        classes=4,
        answers=True,
        epochs=10,
    ),
    Base(
        name="tones",
        modality="signal",
        make=tones,
        chain="tones_chain",
        steps=("decode", "spectrum", "loudness", "layout"),
        raw="decode",
        scaled="loudness",
        axes="TC",
        top=1.0,
        net="signal_net",
        shape={"channels": 24, "classes": 6},
        contract={"dtype": "int16", "shape": [LENGTH, 1]},
        classes=6,
        epochs=10,
    ),
)

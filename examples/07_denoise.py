"""Spectra and back: noise is taken out of recordings by overlap-add, and a late piece changes only its surroundings."""

import tempfile

import numpy as np

import viewlet

RATE = 8_000
RANDOM = np.random.default_rng(1)


def recorded(seconds: float) -> np.ndarray:
    """Two tones in noise."""
    t = np.arange(int(seconds * RATE)) / RATE
    return np.sin(2 * np.pi * 440 * t) + 0.5 * np.sin(2 * np.pi * 880 * t) + 0.3 * RANDOM.normal(size=len(t))


def strongest(spectrum: np.ndarray) -> np.ndarray:
    """Each window's spectrum without all that is weaker than a tenth of its peak."""
    size = np.abs(spectrum)
    return np.where(size > 0.1 * size.max(axis=1, keepdims=True), spectrum, 0)


def rows(values: np.ndarray, first: int = 0) -> list[dict[str, float]]:
    return [{"track": 1, "n": first + i, "x": float(x)} for i, x in enumerate(values)]


with tempfile.TemporaryDirectory() as folder, viewlet.connect(folder) as db:
    db.create_table("recording", "track INT, n BIGINT, x DOUBLE", primary_key=("track", "n"))
    audio = db.signal("recording", by="track", time="n", value="x").sample(1, "none")
    clean = audio.windows(512, 256, missing="zero").taper("hann").rfft().apply(strongest).irfft().overlap_add("sum")
    db.create_signal("clean", clean)
    print(clean)

    whole = recorded(1.0)
    db.insert("recording", rows(whole[:4_000]))
    db.insert("recording", rows(whole[4_500:], 4_500))
    epoch = db.insert("recording", rows(whole[4_000:4_500], 4_000))  # the piece between them comes late

    t = np.arange(1_000, 7_000) / RATE
    pure = np.sin(2 * np.pi * 440 * t) + 0.5 * np.sin(2 * np.pi * 880 * t)
    found = {n: x for _, n, x in db.table("clean").rows()}
    error = np.sqrt(np.mean((np.array([found[n] for n in range(1_000, 7_000)]) - pure) ** 2))
    print(f"noise: {np.sqrt(np.mean((whole[1_000:7_000] - pure) ** 2)):.2f} before, {error:.2f} after")
    changed = db.table("clean").changes(since=epoch - 1)
    print(f"the late piece of 500 samples changed {len(set(changed['n'].to_pylist())):,} of {len(found):,}")

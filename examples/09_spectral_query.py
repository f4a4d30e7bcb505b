"""The query of the thesis' section 7.1.1: group, interpolate, window, transform, keep the strongest, and back.

Readings of many sensors come in one table, unevenly and with losses. The query is written once, for all sensors; what R
needs a loop for is below, to compare with. It stays fresh: late readings change what they reach, and nothing is rerun.
"""

import tempfile

import numpy as np

import viewlet

SIZE, HOP, PERIOD = 512, 256, 100
RANDOM = np.random.default_rng(7)


def strongest(spectra: np.ndarray) -> np.ndarray:
    """The spectrum of each window, without all but its five strongest numbers."""
    sizes = np.abs(spectra)
    return np.where(sizes >= np.sort(sizes, axis=1)[:, -5:-4], spectra, 0)


def measured(sensor: int) -> list[tuple[int, int, float]]:
    """Five minutes of temperatures in noise, about ten a second; one in ten is lost."""
    times = np.cumsum(RANDOM.integers(60, 140, size=3_000))
    degrees = 20 + np.sin(2 * np.pi * (sensor + 1) * times / 60_000) + 0.5 * RANDOM.normal(size=len(times))
    kept = RANDOM.random(len(times)) > 0.1
    return [(sensor, int(t), float(x)) for t, x in zip(times[kept], degrees[kept], strict=True)]


def from_scratch(rows: list[tuple[int, int, float]]) -> dict[tuple[int, int], float]:
    """As in R: split by sensor, interpolate, transform window by window, add up what overlaps."""
    result: dict[tuple[int, int], float] = {}
    for sensor in sorted({row[0] for row in rows}):
        times, values = np.array(sorted((t, x) for s, t, x in rows if s == sensor)).T
        beats = np.arange(-(-times[0] // PERIOD), times[-1] // PERIOD + 1).astype(int)
        y = dict(zip(beats.tolist(), np.interp(beats * PERIOD, times, values).tolist(), strict=True))
        for first in range((beats[0] - SIZE) // HOP * HOP + HOP, beats[-1] + 1, HOP):
            window = np.array([y.get(k, 0.0) for k in range(first, first + SIZE)])
            back = np.fft.ifft(strongest(np.fft.fft(window)[None, :])[0])
            for k, x in enumerate(back.real.tolist(), first):
                result[sensor, k * PERIOD] = result.get((sensor, k * PERIOD), 0.0) + x
    return result


with tempfile.TemporaryDirectory() as folder, viewlet.connect(folder) as db:
    db.create_table("readings", "sensor INT, time BIGINT, value DOUBLE", primary_key=("sensor", "time"))
    readings = db.signal("readings", by="sensor", time="time", value="value")
    windows = readings.sample(PERIOD, "linear").windows(SIZE, HOP, missing="zero")
    db.create_signal("clean", windows.fft().apply(strongest).ifft().overlap_add("sum").select(np.real))

    rows = [row for sensor in range(4) for row in measured(sensor)]
    late = RANDOM.permutation(len(rows))[:50].tolist()
    db.insert("readings", [row for i, row in enumerate(rows) if i not in late])
    epoch = db.insert("readings", [rows[i] for i in late])

    found = {(sensor, time): value for sensor, time, value in db.table("clean").rows()}
    changed = set(db.table("clean").changes(since=epoch - 1)["time"].to_pylist())
    print(f"{len(late)} late readings changed samples at {len(changed):,} times")
    for sensor in range(4):
        wave = np.array([x for (s, t), x in sorted(found.items()) if s == sensor and 60_000 <= t < 240_000])
        swings = np.abs(np.fft.rfft(wave - wave.mean())).argmax() / 3
        print(f"sensor {sensor} swings {swings:.1f} times a minute")
    wanted = from_scratch(rows)
    same = found.keys() == wanted.keys() and all(np.isclose(found[at], wanted[at]) for at in wanted)
    print(f"the same as R's program gives for each sensor from scratch: {same}")

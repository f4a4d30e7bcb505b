"""Variance, covariance, correlation, regression, skewness and kurtosis, computed from exact sums of powers.

    Σ(x − x̄)(y − ȳ) = (n·Σxy − Σx·Σy) / n          and likewise for Σ(x − x̄)³ and Σ(x − x̄)⁴

The sums are integers of any size, so nothing cancels: a central moment is rounded once, and Spark's own formula for the
function is applied to it. The moments of a group with a NaN or an infinity are NaN, as in Spark, and so are those of a
group whose mean is so large (about 1e154) that Spark's merging of partial groups overflows to NaN. Over window frames
Spark merges nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from viewlet.columns.arrays import Mask, from_numpy
from viewlet.columns.exact.digits import BITS, Doubles, Ints
from viewlet.columns.exact.double_sums import ExactSums
from viewlet.columns.exact.failing_group import failure_of
from viewlet.plan.sums import Power

FIRST: Power = (1, 0)
SECOND: Power = (0, 1)


@dataclass
class Powers:
    """The sums of powers of each group: `sums[i, j]` is Σ xⁱ·yʲ in units of 2^(32·unit·(i + j))."""

    counts: Ints
    sums: dict[Power, list[int]]
    unit: int
    strange: dict[Power, Mask]
    is_merged: bool
    _known: dict[tuple[Power, ...], Doubles] = field(default_factory=dict)

    @staticmethod
    def of(totals: Mapping[Power, ExactSums], counts: Ints, *, is_merged: bool = True) -> Powers:
        """From exact sums and numbers of rows; `is_merged`: Spark would merge parts of each group."""
        lowest = [total.lowest // sum(power) for power, total in totals.items() if len(total.limbs)]
        unit = min(lowest, default=0)
        sums = {power: total.integers(unit * sum(power)) for power, total in totals.items()}
        strange = {power: totals[power].strange() for power in (FIRST, SECOND) if power in totals}
        return Powers(counts, sums, unit, strange, is_merged)

    @cached_property
    def sizes(self) -> list[int]:
        """The number of rows in each group, at least 1, to divide by."""
        return [max(n, 1) for n in self.counts.tolist()]

    def mean(self, of: Power) -> Doubles:
        if (of,) not in self._known:
            self._known[of,] = self._rounded(1, zip(self.sums[of], self.sizes, strict=True))
        return self._known[of,]

    def joint(self, a: Power, b: Power) -> Doubles:
        """Σ(x − x̄)(y − ȳ) of two arguments, or of one with itself."""
        if (a, b) not in self._known:
            self._known[a, b] = self._joint(a, b)
        return self._known[a, b]

    def _joint(self, a: Power, b: Power) -> Doubles:
        both = self.sums[a[0] + b[0], a[1] + b[1]]
        parts = zip(self.sizes, self.sums[a], self.sums[b], both, strict=True)
        found = self._rounded(2, ((n * xy - x * y, n) for n, x, y, xy in parts))
        return np.where(self.strange[a] | self.strange[b] | self._overflows(a, b, 1), np.nan, found)

    def _overflows(self, a: Power, b: Power, degree: int) -> Mask:
        """Where merging a part with an empty one multiplies 0 by ∞: x̄·(ȳ / n)ᵈ, for a moment of degree d + 1."""
        if not self.is_merged:
            return np.zeros(len(self.counts), dtype=np.bool_)
        with np.errstate(over="ignore", invalid="ignore"):
            return ~np.isfinite(self.mean(a) * (self.mean(b) / self.sizes) ** degree)

    def crossing(self) -> Doubles:
        """ȳ − slope·x̄ as one fraction, where y is the first argument and x the second; 0 if x does not vary."""
        parts = zip(self.sizes, *(self.sums[p] for p in (FIRST, SECOND, (1, 1), (0, 2))), strict=True)
        lines = ((y * xx - x * xy, n * xx - x * x) for n, y, x, xy, xx in parts)
        return self._rounded(1, ((a, b) if b else (0, 1) for a, b in lines))

    def third(self) -> Doubles:
        """Σ(x − x̄)³."""
        parts = zip(self.sizes, *(self.sums[i, 0] for i in (1, 2, 3)), strict=True)
        return self._high(3, ((n * (n * z - 3 * x * y) + 2 * x**3, n * n) for n, x, y, z in parts))

    def fourth(self) -> Doubles:
        """Σ(x − x̄)⁴."""
        parts = zip(self.sizes, *(self.sums[i, 0] for i in (1, 2, 3, 4)), strict=True)
        return self._high(4, ((_fourth(n, x, y, z, w), n**3) for n, x, y, z, w in parts))

    def _high(self, degree: int, fractions: Iterable[tuple[int, int]]) -> Doubles:
        found = self._rounded(degree, fractions)
        return np.where(self.strange[FIRST] | self._overflows(FIRST, FIRST, degree - 1), np.nan, found)

    def _rounded(self, degree: int, fractions: Iterable[tuple[int, int]]) -> Doubles:
        """The doubles nearest to fractions of integers, in units of a degree."""
        shift = BITS * self.unit * degree
        return np.array([_quotient(a, b, shift) for a, b in fractions], dtype=np.float64)


def _fourth(n: int, x: int, y: int, z: int, w: int) -> int:
    return n * (n * (n * w - 4 * x * z) + 6 * x * x * y) - 3 * x**4


def _quotient(a: int, b: int, shift: int) -> float:
    """a / b · 2^shift, rounded once."""
    try:
        return (a << shift) / b if shift > 0 else a / (b << -shift)
    except OverflowError:
        return float("inf") if a > 0 else float("-inf")


Values = tuple[Doubles, Mask]
"""The value of each group, and whether it is not NULL."""


def _variance(powers: Powers, sample: bool) -> Values:
    divisors = np.maximum(powers.counts - sample, 1)
    return powers.joint(FIRST, FIRST) / divisors, powers.counts > sample


def _deviation(powers: Powers, sample: bool) -> Values:
    values, valid = _variance(powers, sample)
    return np.sqrt(values), valid


def _covariance(powers: Powers, sample: bool) -> Values:
    divisors = np.maximum(powers.counts - sample, 1)
    return powers.joint(FIRST, SECOND) / divisors, powers.counts > sample


def _shape(powers: Powers, degree: int, fails: bool) -> Values:
    """√n·m₃ / √(m₂³) or n·m₄ / m₂² − 3; NULL if nothing varies."""
    n, m2 = powers.counts, powers.joint(FIRST, FIRST)
    valid = (n > 0) & (m2 != 0)
    if degree == 3:
        return _divided(np.sqrt(n) * powers.third(), np.sqrt(m2 * m2 * m2), valid, fails, "skewness")
    values, valid = _divided(n * powers.fourth(), m2 * m2, valid, fails, "kurtosis")
    return values - 3.0, valid


def _correlation(powers: Powers, fails: bool, *, of_constants: bool = False) -> Values:
    """The correlation; if a side does not vary, a division by zero or, with `of_constants`, NULL."""
    spreads = powers.joint(FIRST, FIRST), powers.joint(SECOND, SECOND)
    varies = (spreads[0] != 0) & (spreads[1] != 0) if of_constants else True
    return _divided(
        powers.joint(FIRST, SECOND), np.sqrt(spreads[0] * spreads[1]), (powers.counts > 1) & varies, fails, "corr"
    )


_CORRELATION = "try_divide(covar_pop(x, y), stddev_pop(x) * stddev_pop(y)) gives NULL there"
"""A substitute for a correlation that fails, in Spark as here."""


def _divided(a: Doubles, b: Doubles, valid: Mask, fails: bool, name: str) -> Values:
    """a / b; if b is 0 an error, or NULL if Spark is set to that."""
    zero = valid & (b == 0)
    if fails and zero.any():
        raise failure_of(
            zero,
            f"DIVIDE_BY_ZERO: {name} of values that do not vary, or vary too little for a double",
            hint=_CORRELATION if name == "corr" else None,
        )
    valid = valid & ~zero
    return a / np.where(valid, b, 1.0), valid


def _slope(powers: Powers) -> Values:
    """The slope of the first argument over the second; NULL if the second does not vary."""
    spread = powers.joint(SECOND, SECOND)
    valid = (powers.counts > 0) & (spread != 0)
    return powers.joint(FIRST, SECOND) / np.where(valid, spread, 1.0), valid


def _intercept(powers: Powers) -> Values:
    """Where the line meets zero, rounded once; NaN and NULL as for the slope."""
    slope, valid = _slope(powers)
    return np.where(np.isfinite(slope), powers.crossing(), slope), valid


def _r2(powers: Powers) -> Values:
    """The share of the first argument's variance that the second explains; 1 if there is none."""
    spread, across = powers.joint(FIRST, FIRST), powers.joint(SECOND, SECOND)
    both, valid = powers.joint(FIRST, SECOND), (powers.counts > 0) & (across != 0)
    explained = both * both / np.where(valid, across, 1.0) / np.where(spread == 0, 1.0, spread)
    return np.where(spread == 0, 1.0, explained), valid


_ANSWERS: dict[str, Callable[[Powers], Values]] = {
    "var_pop": lambda p: _variance(p, sample=False),
    "var_samp": lambda p: _variance(p, sample=True),
    "stddev_pop": lambda p: _deviation(p, sample=False),
    "stddev_samp": lambda p: _deviation(p, sample=True),
    "skewness": lambda p: _shape(p, 3, fails=True),
    "wrapping_skewness": lambda p: _shape(p, 3, fails=False),
    "kurtosis": lambda p: _shape(p, 4, fails=True),
    "wrapping_kurtosis": lambda p: _shape(p, 4, fails=False),
    "covar_pop": lambda p: _covariance(p, sample=False),
    "covar_samp": lambda p: _covariance(p, sample=True),
    "corr": lambda p: _correlation(p, fails=True),
    "wrapping_corr": lambda p: _correlation(p, fails=False),
    "corr[since 4.3]": lambda p: _correlation(p, fails=True, of_constants=True),
    "wrapping_corr[since 4.3]": lambda p: _correlation(p, fails=False, of_constants=True),
    "regr_sxx": lambda p: (p.joint(FIRST, FIRST), p.counts > 0),
    "regr_sxy": lambda p: (p.joint(FIRST, SECOND), p.counts > 0),
    "regr_slope": _slope,
    "regr_intercept": _intercept,
    "regr_r2": _r2,
}


def finalize(function: str, powers: Powers) -> pa.Array:
    """The values of a moment."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        values, valid = _ANSWERS[function](powers)
    return from_numpy(values, pa.float64(), valid)

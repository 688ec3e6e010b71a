"""Numbers times powers of two, exactly, for exponents of any size."""

from __future__ import annotations

import math

import numpy as np

from dpauto.passes.weights import FloatArray
from dpauto.words import IntArray

__all__ = ["ldexp", "scaled"]


def ldexp(values: FloatArray, shift: IntArray) -> FloatArray:
    """Return values * 2**shift; what is too large becomes infinite."""
    with np.errstate(over="ignore"):
        return np.ldexp(values, np.minimum(np.maximum(shift, -4000), 4000).astype(np.int32))


def scaled(value: float, shift: int) -> float:
    """The same for one number, without numpy's cost."""
    try:
        return math.ldexp(value, max(-4000, shift))
    except OverflowError:
        return math.inf

"""Is a sample from a law? Chi-square, with rare outcomes pooled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from scipy.stats import chi2

#: A right sample fails this often; samples are seeded, so a test that passes goes on passing.
SIGNIFICANCE = 1e-6
#: Outcomes expected less often than this are pooled.
POOLED = 12.0


def chi_square(sample: Iterable[Hashable], law: Mapping[Any, Any]) -> float:
    """The probability of a sample from `law` that fits worse than this one."""
    counts = Counter(sample)
    size = sum(counts.values())
    impossible = [outcome for outcome in counts if not law.get(outcome)]
    if impossible:
        return 0.0
    bins: list[tuple[float, int]] = []
    rare_expected, rare_seen = 0.0, 0
    for outcome, probability in law.items():
        expected = size * float(probability)
        if expected < POOLED:
            rare_expected += expected
            rare_seen += counts[outcome]
        else:
            bins.append((expected, counts[outcome]))
    if rare_expected >= POOLED or not bins:
        bins.append((rare_expected, rare_seen))
    else:
        smallest = min(range(len(bins)), key=bins.__getitem__)
        expected, seen = bins[smallest]
        bins[smallest] = (expected + rare_expected, seen + rare_seen)
    statistic = sum((seen - expected) ** 2 / expected for expected, seen in bins)
    return float(chi2.sf(statistic, len(bins) - 1)) if len(bins) > 1 else 1.0


def assert_follows(sample: Iterable[Hashable], law: Mapping[Any, Any]) -> None:
    """Fail if `sample` is not from `law`."""
    assert chi_square(sample, law) > SIGNIFICANCE

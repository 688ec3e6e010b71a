"""Independent oracles: the definitions themselves, over listed words, in slow exact arithmetic.

Nothing here uses the code under test. A language is a list of distinct words (tuples); a law is a
dict from word to probability.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import mpmath

Word = tuple[Hashable, ...]
Cost = Callable[[Hashable, Hashable], Any]

#: Digits that leave 30 good ones after the cancellation in products of a few hundred factors.
DIGITS = 200


def distance(w: Sequence[Hashable], v: Sequence[Hashable]) -> int:
    """Hamming distance, position by position."""
    return sum(w[i] != v[i] for i in range(len(w)))


def all_words(alphabet: Iterable[Hashable], length: int) -> list[Word]:
    """Every word of a length."""
    return list(product(alphabet, repeat=length))


def graph_words(
    edges: Mapping[Hashable, Iterable[Hashable]], length: int, initial: Hashable = None
) -> list[Word]:
    """The state sequences of a successor map; from `initial` (not part of the word) or anywhere."""
    words: list[Word] = [(s,) for s in (edges if initial is None else edges[initial])]
    for _ in range(length - 1):
        words = [(*word, s) for word in words for s in edges[word[-1]]]
    return words


def nfa_words(
    transitions: Mapping[Hashable, Mapping[Hashable, Iterable[Hashable]]],
    initial: Hashable,
    final: Iterable[Hashable],
    alphabet: Sequence[Hashable],
    length: int,
) -> list[Word]:
    """Words of Σⁿ that an automaton accepts, by trying every word of Σⁿ."""
    accepting = set(final)
    found = []
    for word in all_words(alphabet, length):
        states = {initial}
        for symbol in word:
            states = {t for s in states for t in transitions.get(s, {}).get(symbol, ())}
        if states & accepting:
            found.append(word)
    return found


def level_counts(words: Sequence[Word], w: Word) -> list[int]:
    """N_0 … N_n by comparing every word with `w`."""
    counts = [0] * (len(w) + 1)
    for v in words:
        counts[distance(w, v)] += 1
    return counts


def _distances(words: Sequence[Word], w: Word, cost: Cost | None) -> list[Any]:
    if cost is None:
        return [distance(w, v) for v in words]
    return [sum(cost(s, t) for s, t in zip(w, v, strict=True)) for v in words]


def acceptances(
    words: Sequence[Word], w: Word, exponent: Fraction, cost: Cost | None = None
) -> list[mpmath.mpf]:
    """p_v = exp(-a (d(w, v) - d*)) for every v of the list."""
    spread = _distances(words, w, cost)
    nearest = min(spread)

    def power(units: Any) -> mpmath.mpf:
        exact = Fraction(exponent) * Fraction(units)
        return mpmath.exp(-mpmath.mpf(exact.numerator) / exact.denominator)

    return [power(d - nearest) for d in spread]


def subset_sum_law(
    words: Sequence[Word], w: Word, exponent: Fraction, cost: Cost | None = None
) -> dict[Word, mpmath.mpf]:
    """Permute-and-flip by the sum over subsets of Definition 4; at most 12 words."""
    if len(words) > 12:
        raise ValueError("the sum has 2**(|L| - 1) terms; list at most 12 words")
    with mpmath.workdps(DIGITS):
        p = acceptances(words, w, exponent, cost)
        law = {}
        for v in range(len(words)):
            others = [p[u] for u in range(len(words)) if u != v]
            total = mpmath.mpf(0)
            for size in range(len(others) + 1):
                for subset in combinations(others, size):
                    total += (-1) ** size * mpmath.fprod(subset) / (size + 1)
            law[words[v]] = p[v] * total
        return law


def integral_law(
    words: Sequence[Word], w: Word, exponent: Fraction, cost: Cost | None = None
) -> dict[Word, mpmath.mpf]:
    """Permute-and-flip by the integral of the product, term by term as a polynomial in t."""
    with mpmath.workdps(DIGITS + len(words)):
        p = acceptances(words, w, exponent, cost)
        by_acceptance: dict[Any, mpmath.mpf] = {}
        for v, p_v in enumerate(p):
            if p_v in by_acceptance:
                continue
            coefficients = [mpmath.mpf(1)]
            for u, p_u in enumerate(p):
                if u != v:
                    # Multiply by 1 - p_u t, lowest power first.
                    coefficients = [
                        c - p_u * b
                        for c, b in zip([*coefficients, 0], [0, *coefficients], strict=True)
                    ]
            by_acceptance[p_v] = p_v * mpmath.fsum(c / (k + 1) for k, c in enumerate(coefficients))
        return {word: by_acceptance[p_v] for word, p_v in zip(words, p, strict=True)}


def exponential_law(
    words: Sequence[Word], w: Word, exponent: Fraction, cost: Cost | None = None
) -> dict[Word, mpmath.mpf]:
    """The exponential mechanism: probabilities in proportion to exp(-a d(w, v))."""
    with mpmath.workdps(DIGITS):
        p = acceptances(words, w, exponent, cost)
        total = mpmath.fsum(p)
        return {word: p_v / total for word, p_v in zip(words, p, strict=True)}


def online_law(words: Sequence[Word], w: Word, rate: Fraction) -> dict[Word, mpmath.mpf]:
    """The online mechanism, `rate` = ε/b, over the prefixes of the listed words.

    After a prefix the successors are the symbols that some word of the list continues it with.
    """
    with mpmath.workdps(DIGITS):
        keep = mpmath.exp(mpmath.mpf(rate.numerator) / rate.denominator)
        successors: dict[Word, set[Hashable]] = {}
        for v in words:
            for i in range(len(v)):
                successors.setdefault(v[:i], set()).add(v[i])
        law = {}
        for v in words:
            probability = mpmath.mpf(1)
            for i in range(len(v)):
                choices = successors[v[:i]]
                if w[i] not in choices:
                    probability /= len(choices)
                elif v[i] == w[i]:
                    probability *= keep / (keep + len(choices) - 1)
                else:
                    probability /= keep + len(choices) - 1
            law[v] = probability
        return law


def by_distance(law: Mapping[Word, Any], w: Word) -> list[mpmath.mpf]:
    """P(0) … P(n): a law over words summed by distance from `w`."""
    pmf = [mpmath.mpf(0)] * (len(w) + 1)
    for v, probability in law.items():
        pmf[distance(w, v)] += probability
    return pmf


def true_epsilon(law: Callable[[Word], Mapping[Any, Any]], words: Sequence[Word], b: int) -> float:
    """The largest log ratio over all pairs of `words` within `b` and all outputs."""
    laws = {w: law(w) for w in words}
    worst = mpmath.mpf(0)
    for w in words:
        for v in words:
            if 0 < distance(w, v) <= b:
                for output, probability in laws[w].items():
                    if probability:
                        other = laws[v].get(output, 0)
                        if not other:
                            return float("inf")
                        worst = max(worst, mpmath.log(mpmath.mpf(probability) / other))
    return float(worst)

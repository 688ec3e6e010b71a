"""A lower bound on epsilon from releases alone, for anybody's mechanism."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from dpauto.arguments import each, real_number, whole_number
from dpauto.errors import InvalidArgument
from dpauto.laws.errorlaw import FloatArray
from dpauto.words import Symbol, Word, as_word

__all__ = ["audit_releases"]

Event: TypeAlias = Callable[[Any], bool] | Collection[Hashable]
Feature: TypeAlias = Callable[[Any], Hashable]


def audit_releases(
    release: Callable[[Any], Hashable] | Any,
    w: Iterable[Symbol],
    v: Iterable[Symbol],
    *,
    samples: int,
    confidence: float = 0.95,
    events: Iterable[Event] | None = None,
) -> float:
    """Return a lower confidence bound on the epsilon of a mechanism, from its releases.

    Parameters
    ----------
    release : callable, or mechanism
        Anybody's function that takes a word and returns a hashable output, with fresh randomness at
        every call. A mechanism of dpauto is asked for all releases at once, which is faster.
    w, v : iterable of hashable
        Two adjacent words; public ones.
    samples : int
        Releases of each word, at least 2. To see a loss of epsilon about exp(epsilon) are needed.
    confidence : float, optional
        Probability, between 0 and 1, with which the bound is right.
    events : iterable of callables or of collections of outputs, optional
        Sets S of outputs to compare P[M(w) in S] with P[M(v) in S] on. They must not be chosen by
        looking at these releases. By default one event is chosen on the first half of the releases
        and tested on the second half.

    Returns
    -------
    float
        With the given confidence the mechanism is not epsilon-private, for these two words, at any
        smaller epsilon. At least 0. A bound above the promised epsilon refutes the promise; a small
        bound proves nothing.

    Raises
    ------
    InvalidArgument
        If a parameter is out of range.

    Notes
    -----
    For an event S the bound is log(p / q), with p the lower Clopper-Pearson limit of P[M(w) in S]
    and q the upper one of P[M(v) in S]. Both directions count. The error probability
    1 - confidence is shared equally by all limits used (Bonferroni).

    Examples
    --------
    >>> import random
    >>> rng = random.Random(1)
    >>> def tells_all(word):
    ...     return word if rng.random() < 0.99 else ("b",)
    >>> audit_releases(tells_all, "a", "b", samples=2000) > 3
    True
    """
    samples = whole_number(samples, name="samples", least=2)
    wanted = "confidence must be a number between 0 and 1"
    if not 0 < real_number(confidence, wanted=wanted) < 1:
        raise InvalidArgument(wanted)
    if not (callable(release) or hasattr(release, "release_many")):
        raise InvalidArgument("release must be a function of a word, or a mechanism")
    first, second = as_word(w), as_word(v, name="v")
    tests = None
    if events is not None:
        tests = [_test(event) for event in each(events, name="events", of="sets of outputs")]
    if tests is not None and not tests:
        raise InvalidArgument("events must hold at least one event")
    of_w, of_v = _releases(release, first, samples), _releases(release, second, samples)
    error = 1 - confidence
    if tests is None:
        half = samples // 2
        test, swapped = _chosen_event(of_w[:half], of_v[:half], error, (first, second))
        of_w, of_v = of_w[half:], of_v[half:]
        if swapped:
            of_w, of_v = of_v, of_w
        return max(0.0, float(_bound(*_hits(test, of_w, of_v), len(of_w), error / 2)))
    limit = error / (4 * len(tests))
    found = [0.0]
    for test in tests:
        in_w, in_v = _hits(test, of_w, of_v)
        found.append(float(_bound(in_w, in_v, samples, limit)))
        found.append(float(_bound(in_v, in_w, samples, limit)))
    return max(found)


def _releases(release: Any, word: Word, samples: int) -> list[Any]:
    many = getattr(release, "release_many", None)
    if many is not None:
        return list(many([word] * samples))
    return [release(word) for _ in range(samples)]


def _test(event: Event) -> Callable[[Any], bool]:
    if callable(event):
        return event
    members = frozenset(each(event, name="events: each", of="outputs, or a function of one"))
    return lambda output: output in members


def _hits(test: Callable[[Any], bool], of_w: list[Any], of_v: list[Any]) -> tuple[int, int]:
    return sum(map(bool, map(test, of_w))), sum(map(bool, map(test, of_v)))


def _bound(hits: Any, other_hits: Any, samples: int, error: float) -> FloatArray:
    """log(p / q), each limit missing with probability `error` at most."""
    from scipy.special import betaincinv

    hits, other_hits = np.asarray(hits), np.asarray(other_hits)
    # Clopper-Pearson limits are quantiles of beta laws; at the ends they are 0 and 1.
    p = np.where(
        hits > 0, betaincinv(np.maximum(hits, 1), samples - np.maximum(hits, 1) + 1, error), 0.0
    )
    room = np.maximum(samples - other_hits, 1)
    q = np.where(other_hits < samples, betaincinv(other_hits + 1, room, 1 - error), 1.0)
    with np.errstate(divide="ignore"):
        bound: FloatArray = np.log(p) - np.log(q)
    return bound


def _chosen_event(
    of_w: list[Any], of_v: list[Any], error: float, words: tuple[Word, Word]
) -> tuple[Callable[[Any], bool], bool]:
    """The event, and the direction, that promises the highest bound on these releases.

    Outputs are ranked by how much oftener one word gave them; every prefix of the ranking is a
    candidate. So are prefixes by distances from the two words, which repeat more often.
    """
    features: list[Feature] = [lambda output: output, _Distances(*words)]
    best: tuple[float, Callable[[Any], bool], bool] = (-np.inf, lambda _: True, False)
    for feature in features:
        keys_w, keys_v = list(map(feature, of_w)), list(map(feature, of_v))
        for swapped, (one, other) in enumerate([(keys_w, keys_v), (keys_v, keys_w)]):
            bound, members = _best_prefix(one, other, error)
            if bound > best[0]:
                best = (bound, _Within(feature, members), bool(swapped))
    return best[1], best[2]


def _best_prefix(
    one: Sequence[Hashable], other: Sequence[Hashable], error: float
) -> tuple[float, frozenset[Hashable]]:
    """The prefix of the outputs, ranked by likelihood ratio, with the highest bound."""
    in_one, in_other = Counter(one), Counter(other)
    keys = list(in_one)
    hits = np.array([in_one[key] for key in keys])
    misses = np.array([in_other[key] for key in keys])
    # Half a count more, so that an output seen once is not taken for a proof.
    order = np.argsort(-np.log((hits + 0.5) / (misses + 0.5)), kind="stable")
    bounds = _bound(np.cumsum(hits[order]), np.cumsum(misses[order]), len(one), error / 2)
    last = int(np.argmax(bounds))
    return float(bounds[last]), frozenset(keys[k] for k in order[: last + 1])


class _Distances:
    """An output's Hamming distances from the two words, if it is a word of their length."""

    def __init__(self, w: Word, v: Word) -> None:
        self.words = w, v

    def __call__(self, output: Any) -> Hashable:
        try:
            written = tuple(output)
        except TypeError:
            return None
        if any(len(written) != len(word) for word in self.words):
            return None
        return tuple(sum(a != b for a, b in zip(written, word, strict=True)) for word in self.words)


class _Within:
    """Whether a feature of the output is one of some values."""

    def __init__(self, feature: Feature, members: frozenset[Hashable]) -> None:
        self.feature, self.members = feature, members

    def __call__(self, output: Any) -> bool:
        return self.feature(output) in self.members

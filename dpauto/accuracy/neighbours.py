"""How many feasible words a guarantee hides a word among."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from dpauto.arguments import whole_number
from dpauto.arrays import BoolArray
from dpauto.errors import InvalidArgument, NotPrivateWarning
from dpauto.language import Language, require_language
from dpauto.privacy import parse_adjacency
from dpauto.randomness import Random, Tape, as_source, encode
from dpauto.words import IntArray, Symbol

__all__ = [
    "NeighbourReport",
    "nearby_counts",
    "neighbour_report",
    "sampled_neighbours",
]

#: Counts that are held at a time, at most.
BLOCK_CELLS = 20_000_000

#: The seed of public samples: the same words, hence the same warning, every time.
SEED = 0


class NeighbourReport(NamedTuple):
    """How many other feasible words lie within the adjacency of each word.

    Attributes
    ----------
    adjacency : int
        b.
    counts : tuple of tuples of int
        For each word N_1 … N_b: other feasible words at 1 … b substitutions.
    """

    adjacency: int
    counts: tuple[tuple[int, ...], ...]

    @property
    def within(self) -> tuple[int, ...]:
        """For each word, the other feasible words within b substitutions."""
        return tuple(sum(counts) for counts in self.counts)

    @property
    def alone(self) -> float:
        """Fraction of the words that have no other feasible word within b substitutions."""
        return sum(not near for near in self.within) / len(self.counts)

    @property
    def median(self) -> float:
        """Median number of other feasible words within b substitutions."""
        ordered = sorted(self.within)
        half = len(ordered) // 2
        return float(ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2)

    @property
    def nearly_empty(self) -> bool:
        """Whether the guarantee says little: at least half of the words are alone."""
        return 2 * self.alone >= 1

    def __str__(self) -> str:
        b = self.adjacency
        text = (
            f"{self.median:.6g} other feasible words lie within {b}"
            f" substitution{'s' if b > 1 else ''} of a word (median of {len(self.counts)});"
            f" {self.alone:.0%} of the words have none"
        )
        if self.nearly_empty:
            text += ". The guarantee then says little: take a longer adjacency"
        return text


def neighbour_report(
    language: Language, words: Iterable[Iterable[Symbol]], *, adjacency: int
) -> NeighbourReport:
    """Return how many other feasible words lie within the adjacency of each word.

    The guarantee makes a word indistinguishable from those within b substitutions. If none of them
    is feasible, everybody knows that the word was not one of them, and the guarantee says little.

    Parameters
    ----------
    language : Language
    words : iterable of words
        Public words, feasible or not. The report depends on them: one made from sensitive words is
        as sensitive as they are. `sampled_neighbours` chooses public ones.
    adjacency : int
        b, at least 1.

    Returns
    -------
    NeighbourReport

    Raises
    ------
    InvalidArgument
        If `adjacency` is not a whole number of at least 1, or there is no word.
    InvalidWord, UnknownSymbol
        If a word does not fit the language.

    Notes
    -----
    Only distances up to b are counted, from the start on and dropping whatever exceeds b, so that
    the states to look at stay near the word even in a large network.

    Examples
    --------
    >>> language = Language.of(["aa", "ab", "bb", "cc"])
    >>> report = neighbour_report(language, ["aa", "cc"], adjacency=1)
    >>> report.within, report.alone
    ((1, 0), 0.5)
    """
    b = parse_adjacency(adjacency)
    numbers = require_language(language).encode_each(words)
    if not numbers:
        raise InvalidArgument("words must hold at least one word")
    counts = nearby_counts(language, np.stack(numbers), b)
    return NeighbourReport(b, tuple(tuple(near[1:]) for near in counts))


def sampled_neighbours(
    language: Language, *, adjacency: int, samples: int = 100, rng: Random = SEED
) -> NeighbourReport:
    """Return the report for random words of the language: no sensitive word is looked at.

    The words are walks that take, at every step, one of the steps that can still be completed, all
    equally likely. That needs no counts, so it is cheap on the largest networks.

    Parameters
    ----------
    language : Language
    adjacency : int
        b, at least 1.
    samples : int, optional
        At least 1.
    rng : None, int, numpy Generator or bit source, optional
        By default a fixed seed: the report is then a function of the language and b alone, so a
        warning based on it tells nothing about the words that are released.

    Returns
    -------
    NeighbourReport

    Raises
    ------
    InvalidArgument
        If `adjacency` or `samples` is not a whole number of at least 1.

    Examples
    --------
    >>> sampled_neighbours(Language.all_words("ab", 3), adjacency=1).median
    3.0
    """
    samples = whole_number(samples, name="samples")
    with warnings.catch_warnings():
        # The samples are public, so a public seed is no leak.
        warnings.simplefilter("ignore", NotPrivateWarning)
        context = encode("sampled neighbours", require_language(language).fingerprint)
        tape = Tape(as_source(rng).seeds([context], None)[0])
    words = [language.decode(_walk(language, tape)) for _ in range(samples)]
    return neighbour_report(language, words, adjacency=adjacency)


def _walk(language: Language, tape: Tape) -> list[int]:
    """A random word: each step uniform among those from which a word can be completed."""
    if language.is_all_words:
        return [tape.below(len(language.alphabet)) for _ in range(language.length)]
    a, numbers = language.automaton, []
    heads, labels = a.moves(None)
    for remaining in range(language.length - 1, -1, -1):
        possible = np.flatnonzero(language.finishing(remaining)[heads])
        edge = int(possible[tape.below(len(possible))])
        numbers.append(int(labels[edge]))
        heads, labels = a.moves(int(heads[edge]))
    return numbers


def nearby_counts(language: Language, words: IntArray, limit: int) -> list[list[int]]:
    """Return N_0 … N_limit of each word: the words of L at each distance up to `limit`, exactly.

    Parameters
    ----------
    language : Language
    words : int array, shape (k, n)
        Symbol numbers; the words need not be feasible.
    limit : int
        At least 0; capped at n.
    """
    limit = min(limit, language.length)
    if language.is_all_words:
        return [language.level_counts(language.decode(word))[: limit + 1] for word in words]
    width = max(1, BLOCK_CELLS // (language.automaton.n_edges * (limit + 1) or 1))
    counts: list[list[int]] = []
    for first in range(0, len(words), width):
        counts += _nearby_together(language, words[first : first + width], limit)
    return counts


def _nearby_together(language: Language, words: IntArray, limit: int) -> list[list[int]]:
    """Count for some words side by side: a place is a word and a state."""
    a, size = language.automaton, language.automaton.n_states
    starts = [_starts(language, word, limit) for word in words]
    owner = np.repeat(np.arange(len(words)), [len(heads) for heads, _ in starts])
    heads = np.concatenate([heads for heads, _ in starts])
    wrong = np.concatenate([wrong for _, wrong in starts])
    one = np.zeros((len(heads), limit + 1), dtype=np.int64)
    one[:, 0] = 1
    places, counts = _step(owner * size + heads, wrong, one)
    for i in range(1, language.length):
        owner, states = np.divmod(places, size)
        edges = a.out_edges(states)
        origin = np.repeat(np.arange(len(states)), a.indptr[states + 1] - a.indptr[states])
        owner = owner[origin]
        heads, wrong = owner * size + a.head[edges], a.label[edges] != words[owner, i]
        places, counts = _step(heads, wrong, counts[origin])
    owner, states = np.divmod(places, size)
    ends = a.final[states]
    totals = np.zeros((len(words), limit + 1), dtype=object)
    np.add.at(totals, owner[ends], counts[ends].astype(object))
    return [[int(total) for total in row] for row in totals]


def _starts(language: Language, word: IntArray, limit: int) -> tuple[IntArray, BoolArray]:
    """Return where a word's first symbol may lead, and whether that symbol is wrong."""
    a, n = language.automaton, language.length
    heads, wrong = a.start_head, a.start_label != word[0]
    if 1 <= limit <= n - 1:
        # Any state may start: go on only with those that come back to the word in time.
        useful = ~wrong | np.isin(heads, _soon_right(language, word, 1, limit - 1))
        heads, wrong = heads[useful], wrong[useful]
    return heads, wrong


def _soon_right(language: Language, word: IntArray, i: int, errors: int) -> IntArray:
    """States after i symbols from which one of the next errors + 1 symbols can be right."""
    a = language.automaton
    pointer, edges = a.by_label
    states = np.empty(0, dtype=np.int64)
    for k in range(errors, -1, -1):
        right = edges[pointer[word[i + k]] : pointer[word[i + k] + 1]]
        states = np.unique(a.tail[np.concatenate((right, a.in_edges(states)))])
    return states


def _step(heads: IntArray, wrong: BoolArray, counts: IntArray) -> tuple[IntArray, IntArray]:
    """Move counts, shape (edges, limit + 1), to the heads; what has too many errors is dropped."""
    moved = counts.copy()
    moved[wrong, 1:] = counts[wrong, :-1]
    moved[wrong, 0] = 0
    alive = (moved != 0).any(axis=1)
    heads, moved = heads[alive], moved[alive]
    if not len(heads):
        return heads, moved
    order = np.argsort(heads, kind="stable")
    heads = heads[order]
    first = np.flatnonzero(np.concatenate(([True], np.diff(heads) != 0)))
    most = int(np.diff(first, append=len(heads)).max())
    if moved.dtype != object and float(moved.max()) * most >= 2**62:
        moved = moved.astype(object)
    return heads[first], np.add.reduceat(moved[order], first, axis=0)

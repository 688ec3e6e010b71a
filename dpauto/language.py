"""A language of fixed length: the feasible words, compiled once and used for every release."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from dpauto import counting
from dpauto.arguments import each, whole_number
from dpauto.arrays import Automaton, BoolArray, Layer
from dpauto.determinization import determinized, is_unambiguous, trimmed
from dpauto.display import Drawable
from dpauto.errors import (
    AmbiguousAutomaton,
    EmptyLanguage,
    InvalidArgument,
    InvalidWord,
    UnknownSymbol,
)
from dpauto.randomness import Random, Tape, as_source, encode
from dpauto.runs import RunFinder
from dpauto.wordgraphs import every_word, word_graph
from dpauto.words import Alphabet, IntArray, Symbol, Word, as_word

__all__ = ["Language", "parse_length", "require_language"]


def parse_length(length: int) -> int:
    """Return a word length as an int; raises InvalidArgument unless it is whole and at least 1."""
    return whole_number(length, name="length")


def require_language(value: Any, *, name: str = "language") -> Language:
    """Return a language as it is.

    Raises
    ------
    InvalidArgument
        If `value` is something else.
    """
    if not isinstance(value, Language):
        raise InvalidArgument(f"{name} must be a Language, for example model.language(length)")
    return value


class Language(Drawable):
    """The set L of feasible words of one length n over an alphabet; immutable.

    Build one with ``model.language(length)``, `Language.of` or `Language.all_words`. L, its
    alphabet and its length are public: choose them without looking at the words to be released.

    Attributes
    ----------
    length : int
        n, at least 1.
    alphabet : Alphabet
        The m symbols; words may use symbols that no feasible word has.
    is_all_words : bool
        Whether L was built as the set of all m**n words.

    Examples
    --------
    >>> feasible = Language.of(["abc", "abd", "bbd"])
    >>> "abd" in feasible, feasible.count(), feasible.level_counts("abc")
    (True, 3, [1, 1, 1, 0])
    """

    __slots__ = ("__dict__", "_automaton", "alphabet", "is_all_words", "length")

    alphabet: Alphabet
    length: int
    is_all_words: bool
    _automaton: Automaton | None

    def __init__(self) -> None:
        raise InvalidArgument(
            "Language is built with model.language(length), Language.of(words) or"
            " Language.all_words(alphabet, length)"
        )

    @classmethod
    def _new(cls, alphabet: Alphabet, length: int, automaton: Automaton | None) -> Language:
        language = object.__new__(cls)
        language.alphabet, language.length = alphabet, length
        language.is_all_words = automaton is None
        language._automaton = automaton
        return language

    # -- construction ---------------------------------------------------------------------------

    @classmethod
    def all_words(cls, alphabet: Iterable[Symbol], length: int) -> Language:
        """Return the language of all words of a length: every trajectory is feasible.

        Parameters
        ----------
        alphabet : iterable of hashable
        length : int
            At least 1.

        Raises
        ------
        InvalidArgument
            If `length` is not a whole number of at least 1.
        InvalidModel
            If the alphabet is empty or repeats a symbol.

        Examples
        --------
        >>> Language.all_words("ab", 3).count()
        8
        """
        return cls._new(Alphabet(alphabet), parse_length(length), None)

    @classmethod
    def of(
        cls, words: Iterable[Iterable[Symbol]], *, alphabet: Iterable[Symbol] | None = None
    ) -> Language:
        """Return the language that consists of the listed words.

        Parameters
        ----------
        words : iterable of words
            All of one length; repeated words count once. The list is public.
        alphabet : iterable of hashable, optional
            By default the symbols that occur.

        Raises
        ------
        EmptyLanguage
            If no word is given.
        InvalidWord
            If the lengths differ.
        UnknownSymbol
            If a word has a symbol outside `alphabet`.
        """
        given = enumerate(each(words, name="words", of="words"), 1)
        listed = [as_word(word, name=f"words: word {row}") for row, word in given]
        if not listed:
            raise EmptyLanguage("words must hold at least one word")
        length = parse_length(len(listed[0]))
        for row, word in enumerate(listed, 1):
            if len(word) != length:
                raise InvalidWord(
                    f"words must have one length: word {row} has {len(word)} symbols,"
                    f" word 1 has {length}"
                )
        sigma = Alphabet({s for word in listed for s in word} if alphabet is None else alphabet)
        rows = np.stack([sigma.encode(w, name=f"words: word {k}") for k, w in enumerate(listed, 1)])
        return cls.compile(word_graph(sigma, np.unique(rows, axis=0)), length)

    @classmethod
    def compile(cls, automaton: Automaton, length: int) -> Language:
        """Return the words of a length that an automaton accepts.

        The automaton is restricted to states that are reached and can still finish, and numbered in
        breadth-first order, so that the states of layer i are the first ones.

        Parameters
        ----------
        automaton : Automaton
            Unambiguous: no word of this length has two accepting runs, or runs would be counted as
            words. ``model.language(length)`` sees to it.
        length : int
            At least 1.

        Raises
        ------
        InvalidArgument
            If `length` is not a whole number of at least 1.
        EmptyLanguage
            If no word of this length is accepted.
        AmbiguousAutomaton
            If some word has two accepting runs.
        """
        n = parse_length(length)
        compiled = trimmed(automaton, steps=n)
        # Dropping states may change who is reached first; number again so that names do not matter.
        order, _ = compiled.forward_levels(n)
        language = cls._new(automaton.alphabet, n, compiled.restricted(order))
        if not language.finishing(n - 1)[language.automaton.start_head].any():
            raise EmptyLanguage(f"length: no word of length {n} is feasible")
        if not is_unambiguous(language.automaton, steps=n):
            raise AmbiguousAutomaton(
                "automaton has two accepting runs for one word: pass it through"
                " dpauto.determinization.disambiguated, or build the language from an NFA"
            )
        return language

    # -- representation -------------------------------------------------------------------------

    @property
    def automaton(self) -> Automaton:
        """The unambiguous automaton whose paths of length n are the words of L."""
        if self._automaton is None:
            self._automaton = every_word(self.alphabet)
        return self._automaton

    @cached_property
    def rows(self) -> IntArray:
        """States that matter at layer i are the first rows[i]; shape (n + 1,)."""
        _, level = self.automaton.forward_levels(self.length)
        return np.searchsorted(level, np.arange(self.length + 1), side="right")

    def layer(self, i: int) -> Layer:
        """Return the edges that read symbol i + 1, from every state that matters by then."""
        return self.automaton.layer(i, self.rows)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of alphabet, length and automaton, in hexadecimal; certificates are bound to it.

        It does not depend on the names of states, nor on the order in which a deterministic model
        lists them; it does depend on the order of the alphabet.
        """
        digest = hashlib.sha256(encode("dpauto-language", 1, self.length, len(self.alphabet)))
        digest.update(self.alphabet.digest)
        if self.is_all_words:
            digest.update(b"all words")
        else:
            a = self.automaton
            for part in (a.start_head, a.start_label, a.indptr, a.head, a.label, a.final):
                raw = np.ascontiguousarray(part, dtype="<i8").tobytes()
                digest.update(len(raw).to_bytes(8, "big") + raw)
        return digest.hexdigest()

    def __getstate__(self) -> dict[str, Any]:
        return {
            name: getattr(self, name)
            for name in ("_automaton", "alphabet", "is_all_words", "length")
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Language):
            return NotImplemented
        return self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        if self.is_all_words:
            return f"Language.all_words(<{len(self.alphabet)} symbols>, {self.length})"
        return (
            f"<Language of length {self.length} over {len(self.alphabet)} symbols,"
            f" {self.automaton.n_states} states>"
        )

    # -- words ----------------------------------------------------------------------------------

    def encode(self, w: Iterable[Symbol], *, name: str = "w") -> IntArray:
        """Return a word of Σⁿ as symbol numbers, shape (n,).

        Raises
        ------
        InvalidWord
            If its length is not n.
        UnknownSymbol
            If a symbol is not in the alphabet; the position is named, not the symbol.
        """
        word = as_word(w, name=name)
        if len(word) != self.length:
            raise InvalidWord(
                f"{name} must have the language's length {self.length}, not {len(word)}"
            )
        return self.alphabet.encode(word, name=name)

    def encode_each(
        self, words: Iterable[Iterable[Symbol]], *, name: str = "words"
    ) -> list[IntArray]:
        """Return several words of Σⁿ as symbol numbers; see `encode`.

        Raises
        ------
        InvalidArgument
            If `words` is no collection.
        InvalidWord, UnknownSymbol
            If a word does not fit; its row is named.
        """
        listed = each(words, name=name, of="words")
        return [self.encode(w, name=f"{name}: word {row}") for row, w in enumerate(listed, 1)]

    def decode(self, numbers: Iterable[int]) -> Word:
        """Return symbol numbers as the word they stand for."""
        return self.alphabet.decode(numbers)

    def run(self, word: IntArray) -> IntArray | None:
        """Return the accepting run of a word as edge numbers, or None if it is not in L.

        Parameters
        ----------
        word : int array, shape (n,)

        Returns
        -------
        int array, shape (n,), or None
            Entry 0 numbers the start's edges, the others the automaton's edges.
        """
        return self._runs.find(word)

    def runs(self, words: IntArray) -> list[IntArray | None]:
        """Return `run` of every word of a table, shape (B, n)."""
        return self._runs.find_all(words)

    @cached_property
    def _runs(self) -> RunFinder:
        return RunFinder(self.automaton)

    def __contains__(self, w: object) -> bool:
        try:
            word = self.encode(w)  # type: ignore[arg-type]
        except (InvalidWord, UnknownSymbol):
            return False
        return self.is_all_words or self.run(word) is not None

    def finishing(self, steps: int) -> BoolArray:
        """Return the states from which exactly `steps` more symbols can end in a final state.

        Returns
        -------
        bool array, shape (N,)
        """
        known = self._finishing
        while steps >= len(known):
            if len(known) > 1 and np.array_equal(known[-1], known[-2]):
                return known[-1]
            a = self.automaton
            alive = np.zeros(a.n_states, dtype=bool)
            alive[a.tail[known[-1][a.head]]] = True
            known.append(alive)
        return known[steps]

    @cached_property
    def _finishing(self) -> list[BoolArray]:
        return [self.automaton.final]

    @cached_property
    def _path_counts(self) -> list[counting.Counts]:
        return counting.path_counts(self.automaton, self.length, self.rows)

    @cached_property
    def _count(self) -> int:
        return counting.count_paths(self.automaton, self.length, self.rows)

    def count(self) -> int:
        """Return the number of words of L, exactly."""
        if self.is_all_words:
            return int(len(self.alphabet) ** self.length)
        return self._count

    def words(self) -> Iterator[Word]:
        """Iterate over the words of L, in alphabetical order if it is deterministic."""
        a = self.automaton
        labels = np.zeros(self.length, dtype=np.int64)
        # Depth first with an explicit stack: words may be longer than Python's recursion allows.
        stack: list[Iterator[tuple[int, int]]] = []
        stack.append(_listed(a.moves(None)))
        while stack:
            depth = len(stack)
            alive = self.finishing(self.length - depth)
            for head, symbol in stack[-1]:
                if alive[head]:
                    labels[depth - 1] = symbol
                    break
            else:
                stack.pop()
                continue
            if depth == self.length:
                yield self.decode(labels)
            else:
                stack.append(_listed(a.moves(head)))

    def random_word(self, rng: Random = None) -> Word:
        """Return a uniform random word of L; each of the `count` words is equally likely.

        Parameters
        ----------
        rng : None, int, numpy Generator or bit source, optional
            None is the operating system's generator.

        Raises
        ------
        InvalidArgument
            If `rng` is none of the above, or a source of keyed bits, which would need an id.
        """
        seed = as_source(rng).seeds([encode("random word", self.fingerprint)], None)[0]
        tape = Tape(seed)
        if self.is_all_words:
            return self.decode([tape.below(len(self.alphabet)) for _ in range(self.length)])
        a, numbers = self.automaton, []
        heads, labels = a.moves(None)
        for after in self._path_counts[1:]:
            weights = after[heads].tolist()
            rest = tape.below(sum(weights))
            edge = 0
            while rest >= weights[edge]:
                rest -= weights[edge]
                edge += 1
            numbers.append(int(labels[edge]))
            heads, labels = a.moves(int(heads[edge]))
        return self.decode(numbers)

    def level_counts(self, w: Iterable[Symbol]) -> list[int]:
        """Return N_0 … N_n, the exact number of words of L at each Hamming distance from `w`.

        Raises
        ------
        InvalidWord, UnknownSymbol
            If `w` is not a word of Σⁿ.

        Notes
        -----
        On all words N_l = C(n, l) (m - 1)^l. They tell how much a guarantee says: with N_1 … N_b
        all 0, no other feasible word hides `w`.
        """
        word = self.encode(w)
        if self.is_all_words:
            wrong, counts = len(self.alphabet) - 1, [1]
            for level in range(self.length):
                counts.append(counts[-1] * (self.length - level) * wrong // (level + 1))
            return counts
        return counting.level_counts(self.automaton, word, self.rows)

    def deterministic(self) -> Language:
        """Return the same words on a deterministic automaton: itself if its own is one.

        Raises
        ------
        StateLimitExceeded
            If the subset construction needs too many states.
        """
        if self.automaton.is_deterministic:
            return self
        return Language.compile(determinized(self.automaton, steps=self.length), self.length)


def _listed(moves: tuple[IntArray, IntArray]) -> Iterator[tuple[int, int]]:
    heads, labels = moves
    return zip(heads.tolist(), labels.tolist(), strict=True)

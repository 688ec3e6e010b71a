"""What all mechanisms share: parameters, where bits come from, and running a release to its end."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import AbstractContextManager
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from dpauto.arguments import each, whole_number
from dpauto.language import Language, require_language
from dpauto.mechanisms.parallel import parse_workers, share
from dpauto.passes import Undecided
from dpauto.privacy import Epsilon, Privacy
from dpauto.randomness import WORD_BITS, Random, Tape, as_source, encode
from dpauto.words import IntArray, Symbol, Word

if TYPE_CHECKING:
    from dpauto.laws import ErrorLaw

__all__ = ["Mechanism"]

#: Bits of working precision beyond those read of each uniform.
GUARD_BITS = 32

#: Elementary operations above which a batch is worth sharing among processes (about 0.3 s).
LARGE_BATCH = 2**27

#: A word as symbol numbers, and the seed of its tape.
Job: TypeAlias = tuple[IntArray, bytes | None]


class Mechanism(ABC):
    """A mechanism: a language, what it promises, and a law over the words of the language.

    Attributes
    ----------
    name : str
        As written at the command line and in tables.
    language : Language
    privacy : Privacy
        epsilon as an exact rational, and adjacency.
    """

    name: ClassVar[str]
    language: Language
    privacy: Privacy

    def __init__(self, language: Language, *, epsilon: Epsilon, adjacency: int) -> None:
        self.language = require_language(language)
        self.privacy = Privacy.of(epsilon=epsilon, adjacency=adjacency)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.language!r}, epsilon='{self.privacy.epsilon}',"
            f" adjacency={self.privacy.adjacency})"
        )

    # -- releasing ------------------------------------------------------------------------------

    def release(self, w: Iterable[Symbol], rng: Random = None, *, record: Hashable = None) -> Word:
        """Return a random feasible word near `w`.

        Parameters
        ----------
        w : iterable of hashable
            The sensitive word, of the language's length; it need not be feasible.
        rng : None, int, numpy Generator or bit source, optional
            None is the system's generator. A seed makes the release reproducible and not private.
        record : hashable, optional
            The word's id, required by (and only used with) `KeyedBits`.

        Returns
        -------
        tuple
            A word of the language. Its length is that of `w` and so published.

        Raises
        ------
        InvalidWord
            If `w` has another length.
        UnknownSymbol
            If a symbol of `w` is not in the alphabet; its position is named, not the symbol.

        Notes
        -----
        Every release of the same word, or of another word of the same person, costs epsilon again.
        """
        records = None if record is None else [record]
        return self._released([self.language.encode(w)], rng, records)[0]

    def release_many(
        self,
        ws: Iterable[Iterable[Symbol]],
        rng: Random = None,
        *,
        records: Sequence[Hashable] | None = None,
        workers: int | None = None,
    ) -> list[Word]:
        """Release several words, each on its own random bits; see `release`.

        Parameters
        ----------
        ws : iterable of words
        rng : None, int, numpy Generator or bit source, optional
        records : sequence of hashable, optional
            One distinct id per word, required by `KeyedBits`.
        workers : int, optional
            Processes to share a large batch among; by default one per processor. The result does
            not depend on it.

        Returns
        -------
        list of tuple
            Released words in the order of `ws`.

        Raises
        ------
        InvalidWord, UnknownSymbol
            If a word does not fit the language, or is not covered by the certificate that is used;
            its row is named, and the position of a symbol.
        InvalidArgument
            If `workers` is not a whole number of at least 1.
        DuplicateRecord
            If two words have one id.

        Notes
        -----
        Words are passed through in blocks of at most 128 MiB per process, whatever the batch.
        """
        words = self._encoded(ws)
        ids = None if records is None else list(each(records, name="records", of="ids"))
        return self._released(words, rng, ids, workers)

    def _encoded(self, ws: Iterable[Iterable[Symbol]]) -> list[IntArray]:
        """Return the words as symbol numbers; refuse, with its row, one that cannot be released."""
        return self.language.encode_each(ws, name="ws")

    def _released(
        self,
        words: Sequence[IntArray],
        rng: Random,
        records: Sequence[Hashable] | None,
        workers: int | None = None,
    ) -> list[Word]:
        seeds = as_source(rng).seeds(_Contexts(self._context, words), records)
        jobs = list(zip(words, seeds, strict=True))
        processes = parse_workers(workers)
        if len(jobs) * self._effort <= LARGE_BATCH:
            processes = 1
        return [self.language.decode(word) for word in share(self._release_all, jobs, processes)]

    @property
    def _effort(self) -> int:
        """About how many elementary operations a release takes."""
        return self.language.length * 100

    def _release_all(self, jobs: Sequence[Job]) -> list[IntArray]:
        """Release every word on its own tape."""
        return [self._release(word, Tape(seed)) for word, seed in jobs]

    def _release(self, word: IntArray, tape: Tape, first: int = 0) -> IntArray:
        """Run one release until every decision is certain, each time on more of the same bits."""
        attempt = first
        while True:
            tape.rewind(WORD_BITS << attempt)
            try:
                with self._precision(attempt):
                    return self._attempt(word, tape, attempt)
            except Undecided:
                attempt += 1

    @staticmethod
    def _precision(attempt: int) -> AbstractContextManager[None]:
        """Compute with the precision that the bits read in an attempt deserve."""
        from flint import ctx

        return ctx.workprec((WORD_BITS << attempt) + GUARD_BITS)

    @abstractmethod
    def _attempt(self, word: IntArray, tape: Tape, attempt: int) -> IntArray:
        """Release on the tape's bits, in float64 first and in balls later, or raise `Undecided`."""

    def _context(self, word: IntArray) -> bytes:
        """An injective encoding of everything the law of the release depends on."""
        return hashlib.sha256(
            encode(
                self.name,
                self.privacy.epsilon.numerator,
                self.privacy.epsilon.denominator,
                self.privacy.adjacency,
                self._extra_context(),
                self.language.fingerprint,
                np.ascontiguousarray(word, dtype="<i8").tobytes(),
            )
        ).digest()

    def _extra_context(self) -> bytes:
        return b""

    # -- planning -------------------------------------------------------------------------------

    @abstractmethod
    def error_law(self, w: Iterable[Symbol]) -> ErrorLaw:
        """Return the exact law of the Hamming distance between `w` and its release."""

    @abstractmethod
    def privacy_loss(self, distance: int) -> Fraction:
        """Return the guaranteed bound on the loss between words so many substitutions apart.

        Parameters
        ----------
        distance : int
            At least 0.
        """

    def _parse_distance(self, distance: Any) -> int:
        return whole_number(distance, name="distance", least=0)


class _Contexts(Sequence[bytes]):
    """The contexts of some words, made when a source reads them: the system's never does."""

    def __init__(self, context: Callable[[IntArray], bytes], words: Sequence[IntArray]) -> None:
        self._context, self._words = context, words

    def __len__(self) -> int:
        return len(self._words)

    def __getitem__(self, k: Any) -> Any:
        return self._context(self._words[k])

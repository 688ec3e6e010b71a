"""Whole tables of trips: words of many lengths, one mechanism for each, in bounded memory.

Rows come from a `TripSource` in blocks. Inside a block the words are grouped by length, released
together and written back in the order in which they came. What a length needs is compiled once and
kept while there is room.
"""

from __future__ import annotations

import hashlib
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from dpauto.errors import (
    DuplicateRecord,
    EmptyLanguage,
    InvalidArgument,
    InvalidWord,
    NotPrivateWarning,
    UnknownSymbol,
)
from dpauto.formats.symbols import SymbolTexts
from dpauto.formats.trips import Trip, TripSource, TripWriter
from dpauto.privacy import Epsilon, Privacy
from dpauto.randomness import Random, SeededBits, as_source

if TYPE_CHECKING:
    from dpauto.accuracy import Comparison
    from dpauto.calibration import Certificate
    from dpauto.language import Language
    from dpauto.mechanisms import Mechanism
    from dpauto.words import Word

__all__ = ["MechanismChoice", "Outcome", "TripReleaser", "TripTable", "compare_trips"]

#: Rows and symbols of a block, and edges of the automata that are kept compiled.
BLOCK_ROWS = 4096
BLOCK_SYMBOLS = 1_000_000
KEPT_EDGES = 20_000_000

#: What is wrong with one trip and not with the others.
TRIP_ERRORS = (EmptyLanguage, InvalidWord, UnknownSymbol)


@dataclass
class Outcome:
    """What became of a table.

    Attributes
    ----------
    released : int
        Trips that were released.
    skipped : list of int
        Rows that could not be released and were left out.
    lengths : set of int
        The lengths that occurred; they are published.
    """

    released: int = 0
    skipped: list[int] = field(default_factory=list)
    lengths: set[int] = field(default_factory=set)


def _ignore(rows: int) -> None:
    """Take notice of nothing."""


class TripReleaser:
    r"""Releases the trips of files through one model and one kind of mechanism.

    Parameters
    ----------
    language : callable of int
        Returns the `Language` of a length, or raises `EmptyLanguage`.
    mechanism : callable of Language and SymbolTexts
        Returns the mechanism for a language; the texts turn files beside the model into symbols.
    rng : None, int, numpy Generator or bit source, optional
    name : str, optional
        What to call the model in errors.

    Examples
    --------
    >>> import io
    >>> from dpauto import Language, PermuteAndFlip, SeededBits
    >>> from dpauto.formats.trips import Separator, TextTrips
    >>> releaser = TripReleaser(
    ...     lambda n: Language.all_words("ab", n),
    ...     lambda language, texts: PermuteAndFlip(language, epsilon=50),
    ...     rng=SeededBits(1),
    ... )
    >>> trips = TextTrips(
    ...     io.StringIO("a b a\n# a comment\nb\n"), "trips", after=None, separator=Separator(None)
    ... )
    >>> out = io.BytesIO()
    >>> releaser.release(trips, trips.writer(out)).released
    2
    >>> out.getvalue()
    b'a b a\n# a comment\nb\n'
    """

    def __init__(
        self,
        language: Callable[[int], Language],
        mechanism: Callable[[Language, SymbolTexts], Mechanism],
        *,
        rng: Random = None,
        name: str = "model",
    ) -> None:
        self._language, self._mechanism, self._name = language, mechanism, name
        # One source for all lengths: several of one seed would repeat each other's noise.
        self._source = as_source(rng)
        self._compiled: OrderedDict[int, tuple[Mechanism, SymbolTexts]] = OrderedDict()
        self._texts: SymbolTexts | None = None

    def release(
        self,
        trips: TripSource,
        writer: TripWriter,
        *,
        keyed: bool = False,
        skip: bool = False,
        advance: Callable[[int], object] = _ignore,
    ) -> Outcome:
        """Release every trip of a source and write the rows in their order.

        Parameters
        ----------
        trips : TripSource
        writer : TripWriter
            The source's own.
        keyed : bool, optional
            Whether the rows' ids go into the random bits (`KeyedBits`).
        skip : bool, optional
            Whether rows that cannot be released are left out instead of ending the run.
        advance : callable of int, optional
            Told how many more rows are done.

        Raises
        ------
        InvalidWord, UnknownSymbol, EmptyLanguage
            If a trip is empty, has a symbol that the model does not know or a length of which no
            word is feasible, and `skip` is off. File and row are named, never the symbol.
        DuplicateRecord
            If two rows have one id.
        InvalidFile
            If the source is damaged.
        """
        outcome = Outcome()
        seen: set[bytes] = set()
        for block in _blocks(trips):
            words = self._parse(trips, block, outcome, skip=skip)
            if keyed:
                _check_records(trips.name, block, words, seen)
            released = self._release(trips, block, words, outcome, keyed=keyed, skip=skip)
            for index, trip in enumerate(block):
                if trip.texts is None:
                    writer.write(trip, None)
                elif index in released:
                    writer.write(trip, released[index])
            outcome.released += len(released)
            advance(len(block))
        outcome.skipped.sort()
        writer.close()
        return outcome

    def _parse(
        self, trips: TripSource, block: list[Trip], outcome: Outcome, *, skip: bool
    ) -> dict[int, Word]:
        """Return the words of a block by their index in it."""
        words: dict[int, Word] = {}
        for index, trip in enumerate(block):
            if trip.texts is None:
                continue
            try:
                if not trip.texts:
                    raise InvalidWord("the trip is empty; it needs at least one symbol")
                # All languages of a model have one alphabet, so any length will do to read it.
                texts = self._texts or self._compile(trips, len(trip.texts))[1]
                words[index] = texts.parse(trip.texts)
            except TRIP_ERRORS as error:
                self._fail(trips, trip, error, outcome, skip=skip)
        return words

    def _release(
        self,
        trips: TripSource,
        block: list[Trip],
        words: dict[int, Word],
        outcome: Outcome,
        *,
        keyed: bool,
        skip: bool,
    ) -> dict[int, list[str]]:
        """Return the released texts by index, one length after the other."""
        by_length: dict[int, list[int]] = {}
        for index, word in words.items():
            by_length.setdefault(len(word), []).append(index)
        released: dict[int, list[str]] = {}
        for length, indices in by_length.items():
            try:
                mechanism, texts = self._compile(trips, length)
            except EmptyLanguage as error:
                for index in indices:
                    self._fail(trips, block[index], error, outcome, skip=skip)
                continue
            records = [block[index].record for index in indices] if keyed else None
            outputs = mechanism.release_many(
                [words[index] for index in indices], self._source, records=records
            )
            for index, word in zip(indices, outputs, strict=True):
                released[index] = texts.format(word)
            outcome.lengths.add(length)
            self._forget()
        return released

    def _fail(
        self,
        trips: TripSource,
        trip: Trip,
        error: EmptyLanguage | InvalidWord | UnknownSymbol,
        outcome: Outcome,
        *,
        skip: bool,
    ) -> None:
        if not skip:
            raise type(error)(f"{trips.name}, row {trip.row}: {error}") from None
        outcome.skipped.append(trip.row)

    def _compile(self, trips: TripSource, length: int) -> tuple[Mechanism, SymbolTexts]:
        if length in self._compiled:
            self._compiled.move_to_end(length)
        else:
            language = self._language(length)
            if self._texts is None:
                texts = SymbolTexts(language.alphabet, name=self._name)
                trips.check_symbols(texts)
                self._texts = texts
            self._compiled[length] = self._mechanism(language, self._texts), self._texts
        return self._compiled[length]

    def _forget(self) -> None:
        """Drop the lengths that were used longest ago, beyond what there is room for."""
        room = KEPT_EDGES
        for length in list(reversed(self._compiled)):
            language = self._compiled[length][0].language
            room -= 1 if language.is_all_words else language.automaton.n_edges
            if room < 0:
                del self._compiled[length]


def _blocks(trips: Iterable[Trip]) -> Iterator[list[Trip]]:
    block: list[Trip] = []
    symbols = 0
    for trip in trips:
        block.append(trip)
        symbols += len(trip.texts or ())
        if len(block) >= BLOCK_ROWS or symbols >= BLOCK_SYMBOLS:
            yield block
            block, symbols = [], 0
    if block:
        yield block


def _check_records(name: str, block: list[Trip], words: Iterable[int], seen: set[bytes]) -> None:
    for index in words:
        trip = block[index]
        # A table may have more ids than memory holds text for.
        digest = hashlib.blake2b((trip.record or "").encode(), digest_size=16).digest()
        if digest in seen:
            raise DuplicateRecord(
                f"{name}, row {trip.row}: its id occurred before; two trips of one id would share"
                " their random bits"
            )
        seen.add(digest)


class MechanismChoice:
    """A mechanism by its name in text, to be built for every length.

    Parameters
    ----------
    name : str
        "permute-and-flip", "exponential", "online" or "calibrated" (the better certified one).
    privacy : Privacy
    costs : str, optional
        CSV file of symbol costs.
    certificate : str, optional
        File of a certificate, for the one length that it was made for.

    Raises
    ------
    InvalidArgument
        If the options do not go together.
    InvalidCertificate
        If the certificate's file is damaged.
    """

    def __init__(
        self,
        name: str,
        privacy: Privacy,
        *,
        costs: str | None = None,
        certificate: str | None = None,
    ) -> None:
        if name == "online" and (costs is not None or certificate is not None):
            raise InvalidArgument("the online mechanism has neither costs nor a certificate")
        if costs is not None and (certificate is not None or name == "calibrated"):
            raise InvalidArgument("costs and a certificate exclude each other")
        self.name, self.privacy = name, privacy
        self._costs = costs
        self._certificate: Certificate | None = None
        if certificate is not None:
            from dpauto.calibration import Certificate

            self._certificate = Certificate.load(certificate)

    def build(self, language: Language, texts: SymbolTexts) -> Mechanism:
        """Return the mechanism for a language.

        Raises
        ------
        InvalidCertificate
            If the certificate is another language's.
        InvalidFile
            If the costs do not fit the alphabet.
        """
        from dpauto.mechanisms import Exponential, Online, PermuteAndFlip

        promise: dict[str, Any] = {
            "epsilon": self.privacy.epsilon,
            "adjacency": self.privacy.adjacency,
        }
        if self.name == "online":
            return Online(language, **promise)
        name = self.name
        certificate = self._certificate
        if name == "calibrated":
            if certificate is None:
                certificate = self._certify(language)
            name = certificate.mechanism
        if self._costs is not None:
            from dpauto.formats.costtable import read_costs

            promise["costs"] = read_costs(self._costs, texts)
        kind = PermuteAndFlip if name == "permute-and-flip" else Exponential
        return kind(language, certificate=certificate, **promise)

    def _certify(self, language: Language) -> Certificate:
        """Return the certificate of the mechanism that errs less on public random words."""
        from dpauto.accuracy import compare
        from dpauto.calibration import certify

        epsilon, adjacency = self.privacy.epsilon, self.privacy.adjacency
        words = sampled_words(language)
        errors = []
        for name in ("exponential", "permute-and-flip"):
            certificate = certify(language, epsilon=epsilon, adjacency=adjacency, mechanism=name)
            row = compare(
                language,
                words,
                epsilons=[epsilon],
                adjacency=adjacency,
                mechanisms=(),
                certificates={epsilon: certificate},
            )[0]
            errors.append((row.mean, certificate))
        return min(errors, key=itemgetter(0))[1]


def sampled_words(language: Language, count: int = 20) -> list[Word]:
    """Return uniform random words, the same every time: what is decided by them is public."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotPrivateWarning)
        source = SeededBits(0)
    return [language.random_word(source) for _ in range(count)]


@dataclass(frozen=True)
class TripTable:
    """The errors of the mechanisms on the trips of a file.

    Attributes
    ----------
    trips : int
    mean_length : float
    rows : list of Comparison
        Averaged over the trips.
    """

    trips: int
    mean_length: float
    rows: list[Comparison]


def compare_trips(
    trips: TripSource,
    language: Callable[[int], Language],
    *,
    epsilons: Iterable[Epsilon],
    adjacency: int,
    most: int | None = None,
    name: str = "model",
) -> TripTable:
    """Return the exact expected error of every mechanism on the trips of a file.

    Parameters
    ----------
    trips : TripSource
        Public trips; the table depends on them.
    language : callable of int
        Returns the `Language` of a length.
    epsilons : iterable of int, float, Fraction or str
    adjacency : int
    most : int, optional
        Use only so many trips from the beginning.
    name : str, optional
        What to call the model in errors.

    Raises
    ------
    InvalidArgument
        If a parameter is out of range or there is no trip.
    InvalidWord, UnknownSymbol, EmptyLanguage
        If a trip does not fit; the row is named.
    """
    from dpauto.accuracy import compare

    privacies = [Privacy.of(epsilon=epsilon, adjacency=adjacency) for epsilon in epsilons]
    if most is not None and most < 1:
        raise InvalidArgument("the number of trips must be at least 1")
    texts: SymbolTexts | None = None
    languages: dict[int, Language] = {}
    words: dict[int, list[Word]] = {}
    rows = (trip for trip in trips if trip.texts is not None)
    for trip in islice(rows, most):
        symbols = trip.texts or []
        try:
            if not symbols:
                raise InvalidWord("the trip is empty; it needs at least one symbol")
            if len(symbols) not in languages:
                languages[len(symbols)] = language(len(symbols))
            if texts is None:
                texts = SymbolTexts(languages[len(symbols)].alphabet, name=name)
            words.setdefault(len(symbols), []).append(texts.parse(symbols))
        except TRIP_ERRORS as error:
            raise type(error)(f"{trips.name}, row {trip.row}: {error}") from None
    if not words:
        raise InvalidArgument(f"{trips.name}: there is no trip")
    parts = [
        (
            len(group),
            compare(
                languages[length],
                group,
                epsilons=[privacy.epsilon for privacy in privacies],
                adjacency=adjacency,
            ),
        )
        for length, group in words.items()
    ]
    total = sum(count for count, _ in parts)
    symbols_total = sum(length * len(group) for length, group in words.items())
    return TripTable(total, symbols_total / total, _averaged(parts, total))


def _averaged(parts: list[tuple[int, list[Comparison]]], total: int) -> list[Comparison]:
    """Average the rows of several lengths, weighted by their trips."""
    rows = []
    for group in zip(*(table for _, table in parts), strict=True):
        weights = [count / total for count, _ in parts]
        mean = sum(w * row.mean for w, row in zip(weights, group, strict=True))
        square = sum(
            w * (row.deviation**2 + row.mean**2) for w, row in zip(weights, group, strict=True)
        )
        rows.append(
            group[0]._replace(
                mean=mean,
                deviation=max(0.0, square - mean**2) ** 0.5,
                unchanged=sum(w * row.unchanged for w, row in zip(weights, group, strict=True)),
            )
        )
    return rows

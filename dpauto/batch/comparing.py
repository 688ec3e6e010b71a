"""The errors of the mechanisms on the trips of a file: words of many lengths in one table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from dpauto.batch.engine import TRIP_ERRORS, place_of
from dpauto.errors import InvalidArgument, InvalidWord
from dpauto.formats.symbols import SymbolTexts
from dpauto.formats.trips import TripSource
from dpauto.privacy import Epsilon, Privacy

if TYPE_CHECKING:
    from dpauto.accuracy import Comparison
    from dpauto.language import Language
    from dpauto.words import Word

__all__ = ["TripTable", "compare_trips"]


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
            raise type(error)(f"{place_of(trips, trip)}: {error}") from None
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

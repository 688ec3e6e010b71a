"""The errors of the mechanisms on the trips of a file: words of many lengths in one table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from dpauto.batch.engine import TRIP_ERRORS, UNCERTIFIED, place_of
from dpauto.errors import InvalidArgument, InvalidCertificate, InvalidFile, InvalidWord
from dpauto.formats.symbols import SymbolTexts
from dpauto.formats.trips import TripSource
from dpauto.language import Language, parse_length
from dpauto.names import CALIBRATED
from dpauto.privacy import Epsilon, Privacy

if TYPE_CHECKING:
    from dpauto.accuracy import Comparison
    from dpauto.calibration import Certificate
    from dpauto.calibration.proof import Progress
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
    length: int | None = None,
    certificates: Iterable[str | Certificate] = (),
    calibrate: bool = False,
    name: str = "model",
    progress: Progress | None = None,
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
    length : int, optional
        Use only the first so many symbols of each trip, and no shorter trips.
    certificates : iterable of str or Certificate, optional
        Certificates or their files. An epsilon that has one gets a row "calibrated"; it then needs
        one for every length of the trips.
    calibrate : bool, optional
        Make the certificates that are missing, for every epsilon and length.
    name : str, optional
        What to call the model in errors.
    progress : callable, optional
        Told what is being done and the share done, while certificates are made.

    Raises
    ------
    InvalidArgument
        If a parameter is out of range, there is no trip, or a certificate is missing.
    InvalidCertificate, InvalidFile
        If a certificate is another model's, is for another epsilon or adjacency, or is damaged.
    InvalidWord, UnknownSymbol, EmptyLanguage
        If a trip does not fit or, with certificates, is not feasible; the row is named.
    """
    from dpauto.accuracy import compare

    privacies = [Privacy.of(epsilon=epsilon, adjacency=adjacency) for epsilon in epsilons]
    if most is not None and most < 1:
        raise InvalidArgument("the number of trips must be at least 1")
    given = _Certificates(certificates, privacies, make=calibrate)
    groups = _read(
        trips, language, most=most, length=length, name=name, feasible=bool(given.epsilons)
    )
    certified = given.of([group.language for group in groups], progress)
    parts = [
        (
            len(group.words),
            compare(
                group.language,
                group.words,
                epsilons=[privacy.epsilon for privacy in privacies],
                adjacency=adjacency,
                certificates=chosen,
            ),
        )
        for group, chosen in zip(groups, certified, strict=True)
    ]
    total = sum(count for count, _ in parts)
    symbols = sum(group.language.length * len(group.words) for group in groups)
    return TripTable(total, symbols / total, _averaged(parts, total))


class _Group(NamedTuple):
    """The words of one length."""

    language: Language
    words: list[Word]


def _read(
    trips: TripSource,
    language: Callable[[int], Language],
    *,
    most: int | None,
    length: int | None,
    name: str,
    feasible: bool,
) -> list[_Group]:
    """Read the trips and group them by length; with `feasible`, refuse those that are not."""
    wanted = 0 if length is None else parse_length(length)
    texts: SymbolTexts | None = None
    groups: dict[int, _Group] = {}
    rows = (trip for trip in trips if trip.texts is not None and len(trip.texts) >= wanted)
    for trip in islice(rows, most):
        symbols = (trip.texts or [])[:length]
        try:
            if not symbols:
                raise InvalidWord("the trip is empty; it needs at least one symbol")
            group = groups.get(len(symbols))
            if group is None:
                group = groups[len(symbols)] = _Group(language(len(symbols)), [])
            if texts is None:
                texts = SymbolTexts(group.language.alphabet, name=name)
            word = texts.parse(symbols)
            if feasible and word not in group.language:
                raise InvalidWord(UNCERTIFIED)
        except TRIP_ERRORS as error:
            raise type(error)(f"{place_of(trips, trip)}: {error}") from None
        group.words.append(word)
    if not groups:
        least = f" of at least {length} symbols" if length is not None else ""
        raise InvalidArgument(f"{trips.name}: there is no trip{least}")
    return list(groups.values())


class _Certificates:
    """Certificates by epsilon and length: those that are given, and those to be made."""

    def __init__(
        self,
        given: Iterable[str | Certificate],
        privacies: Sequence[Privacy],
        *,
        make: bool,
    ) -> None:
        self.privacies, self.make = privacies, make
        #: Their names, for errors, and themselves.
        self.given: dict[tuple[Fraction, int], tuple[str, Certificate]] = {}
        for one in given:
            name, certificate = _loaded(one)
            if certificate.privacy not in privacies:
                raise InvalidCertificate(
                    f"{name}: it is for epsilon {certificate.epsilon} and adjacency"
                    f" {certificate.adjacency}, which are not compared here"
                )
            self.given[certificate.epsilon, certificate.length] = name, certificate

    @property
    def epsilons(self) -> list[Fraction]:
        """Where there are calibrated rows."""
        chosen = {epsilon for epsilon, _ in self.given}
        return [p.epsilon for p in self.privacies if self.make or p.epsilon in chosen]

    def of(
        self, languages: Sequence[Language], progress: Progress | None
    ) -> list[dict[Fraction, Certificate]]:
        """Return the certificates of each language by epsilon; make what is missing.

        Raises
        ------
        InvalidArgument
            If one is missing and none are made.
        InvalidCertificate
            If one is for a length that does not occur, or for another model.
        """
        from dpauto.calibration import certify

        lengths = {language.length for language in languages}
        for name, certificate in self.given.values():
            if certificate.length not in lengths:
                raise InvalidCertificate(f"{name}: no trip has its length, {certificate.length}")
        found: list[dict[Fraction, Certificate]] = [{} for _ in languages]
        missing = []
        for language, chosen in zip(languages, found, strict=True):
            for privacy in self.privacies:
                known = self.given.get((privacy.epsilon, language.length))
                if known is not None:
                    chosen[privacy.epsilon] = _checked(*known, language, privacy)
                elif self.make:
                    missing.append((language, privacy, chosen))
                elif privacy.epsilon in self.epsilons:
                    raise InvalidArgument(
                        f"certificates: none is for epsilon {privacy.epsilon} and trips of"
                        f" {language.length} symbols; 'calibrate' makes what is missing, and"
                        " 'length' cuts trips to one length"
                    )
        for k, (language, privacy, chosen) in enumerate(missing):
            chosen[privacy.epsilon] = certify(
                language,
                epsilon=privacy.epsilon,
                adjacency=privacy.adjacency,
                mechanism=CALIBRATED,
                progress=progress and _part(progress, k, len(missing)),
            )
        return found


def _loaded(one: str | Certificate) -> tuple[str, Certificate]:
    from dpauto.calibration import Certificate

    if not isinstance(one, str):
        return "certificate", one
    try:
        return one, Certificate.load(one)
    except (InvalidCertificate, InvalidFile) as error:
        raise type(error)(f"{one}: {error}") from None


def _checked(
    name: str, certificate: Certificate, language: Language, privacy: Privacy
) -> Certificate:
    try:
        certificate.verify_for(language, privacy, certificate.mechanism)
    except InvalidCertificate as error:
        raise InvalidCertificate(f"{name}: {error}") from None
    return certificate


def _part(progress: Progress, k: int, count: int) -> Progress:
    """Progress of the k-th of several works as progress of all."""
    return lambda doing, done: progress(doing, (k + done) / count)


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

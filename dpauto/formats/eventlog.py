"""Event logs (XES, CSV) and plain sequences, as Markov chains fitted to what was observed.

The chain of an event log is its directly-follows graph. It is made from data: release through it
only trips of others than those it was fitted to, because the steps it allows are the steps seen.
References: IEEE 1849 (XES); W. van der Aalst, Process Mining (2016), section 2.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from dpauto.errors import InvalidFile, InvalidModel
from dpauto.formats.csvfile import find_column, headed_rows, moment
from dpauto.formats.files import open_bytes
from dpauto.formats.options import ModelOptions
from dpauto.formats.symbols import find_symbol
from dpauto.formats.xes import traces_of

if TYPE_CHECKING:
    from dpauto.models import MarkovChain

__all__ = ["CASE", "fit", "read_event_rows", "read_events", "read_sequences", "read_xes"]

CASE = ("case:concept:name", "case", "case_id", "case id", "caseid")
_ACTIVITY = ("concept:name", "activity", "activity_name", "event")
_TIME = ("time:timestamp", "timestamp", "time", "complete timestamp", "start timestamp")


def fit(words: Iterable[list[str]], name: str, options: ModelOptions) -> MarkovChain:
    """Return the maximum-likelihood chain of some words; any state may start unless told otherwise.

    Raises
    ------
    InvalidFile
        If there is no word.
    InvalidModel
        If the initial state does not occur.
    """
    from dpauto.models import MarkovChain

    listed = [word for word in words if word]
    if not listed:
        raise InvalidFile(f"{name}: there is no sequence to fit a chain to")
    start = None
    if options.initial is not None:
        states = dict.fromkeys(symbol for word in listed for symbol in word)
        try:
            start = find_symbol(states, options.initial, name="initial")
        except InvalidModel as error:
            raise InvalidModel(f"{name}: {error}") from None
    return MarkovChain.fit(listed, initial=start)


def read_sequences(name: str, options: ModelOptions) -> MarkovChain:
    """Fit a chain to the trips of a text file (see `dpauto.formats.trips.TextTrips`).

    Raises
    ------
    InvalidFile
        If there is no sequence.
    """
    from dpauto.formats.tripfiles import open_trips

    with open_trips(name, format="text", after=options.after, separator=options.separator) as trips:
        return fit((trip.texts for trip in trips if trip.texts), name, options)


def read_events(name: str, options: ModelOptions) -> MarkovChain:
    """Fit a chain to a CSV event log: columns case, activity and, if present, timestamp.

    Raises
    ------
    InvalidFile
        If a column is missing or a timestamp cannot be read.
    """
    from dpauto.formats.files import open_text

    with open_text(name) as lines:
        return read_event_rows(name, *headed_rows(lines, name), options)


def read_event_rows(
    name: str, header: list[str], rows: Iterator[tuple[int, list[str]]], options: ModelOptions
) -> MarkovChain:
    """Fit a chain to the rows of an event log; without timestamps events follow in file order.

    Raises
    ------
    InvalidFile
        If a column is missing or a timestamp cannot be read.
    """
    case, activity, time = (find_column(header, *names) for names in (CASE, _ACTIVITY, _TIME))
    if case is None or activity is None:
        raise InvalidFile(
            f"{name}: an event log needs the columns case and activity, and the header of"
            f" {len(header)} columns lacks one"
        )
    events: dict[str, list[tuple[Any, str]]] = {}
    for row, cells in rows:
        if len(cells) != len(header) or not cells[activity].strip():
            raise InvalidFile(f"{name}, row {row}: the event has no {header[activity].strip()}")
        when = None
        if time is not None:
            when = moment(cells[time], file=name, row=row, column=header[time])
        events.setdefault(cells[case], []).append((when, cells[activity].strip()))
    if time is not None:
        try:
            for trace in events.values():
                # Stable: events of the same time keep the order of the file.
                trace.sort(key=lambda event: event[0])
        except TypeError:
            raise InvalidFile(
                f"{name}, column {header[time].strip()}: some timestamps have a time zone and"
                " others have none"
            ) from None
    return fit(([symbol for _, symbol in trace] for trace in events.values()), name, options)


def read_xes(name: str, options: ModelOptions) -> MarkovChain:
    """Fit a chain to an XES log: the ``concept:name`` of each trace's events, in order.

    Raises
    ------
    InvalidFile
        If the file is no XES or an event has no name.
    """
    with open_bytes(name) as raw:
        return fit((trace.activities for trace in traces_of(name, raw)), name, options)

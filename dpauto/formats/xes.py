"""XES event logs: their traces as words of activities, read one by one and written back.

Reference: IEEE 1849-2023, https://www.xes-standard.org/
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from typing import BinaryIO, NamedTuple
from xml.sax.saxutils import quoteattr

from dpauto.errors import InvalidFile, InvalidModel
from dpauto.formats.symbols import SymbolTexts
from dpauto.formats.trips import Separator, Trip, TripWriter

__all__ = ["NAME", "Trace", "XesTrips", "traces_of"]

#: The attribute that names a trace or the activity of an event.
NAME = "concept:name"

_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<log xes.version="1.0" xmlns="http://www.xes-standard.org/">
 <extension name="Concept" prefix="concept" uri="http://www.xes-standard.org/concept.xesext"/>
"""


class Trace(NamedTuple):
    """A case of an event log.

    Attributes
    ----------
    case : str or None
        Its name.
    activities : list of str
    """

    case: str | None
    activities: list[str]


def traces_of(name: str, raw: BinaryIO) -> Iterator[Trace]:
    """Yield the traces of a log: the ``concept:name`` of each trace and of its events, in order.

    Raises
    ------
    InvalidFile
        If the file is no XES or an event has no name.
    """
    # The elements that are open, a trace or an event: the name of each.
    names: list[str | None] = []
    activities: list[str] = []
    number = 0
    try:
        for event, element in ET.iterparse(raw, events=("start", "end")):  # noqa: S314
            tag = element.tag.rpartition("}")[2]
            if event == "start":
                if tag == "trace":
                    activities, number = [], number + 1
                if tag in ("trace", "event"):
                    names.append(None)
            elif tag == "event":
                activity = names.pop()
                if activity is None:
                    raise InvalidFile(f"{name}, trace {number}: an event has no {NAME}")
                activities.append(activity)
                element.clear()
            elif tag == "trace":
                yield Trace(names.pop(), activities)
                element.clear()
            elif names and element.get("key") == NAME:
                names[-1] = element.get("value")
    except ET.ParseError as error:
        raise InvalidFile(f"{name}, row {error.position[0]}: not XES; {error}") from None


class XesTrips:
    """The traces of an event log; a trip is the sequence of a trace's activities.

    What is written holds the names of the cases and the released activities, and nothing else:
    timestamps, resources and other attributes belong to the true activities and would tell them.

    Parameters
    ----------
    raw : byte stream
    name : str
        For errors, where a row is a trace, counted from 1.

    Raises
    ------
    InvalidFile
        While it is read, if it is no XES or has no trace.

    Examples
    --------
    >>> import io
    >>> log = b'''<log><trace><string key="concept:name" value="7"/>
    ... <event><string key="concept:name" value="pay"/></event></trace></log>'''
    >>> [(trip.row, trip.record, trip.texts) for trip in XesTrips(io.BytesIO(log), "log.xes")]
    [(1, '7', ['pay'])]
    """

    #: Activities are told apart by the file itself.
    separator = Separator("\0")

    def __init__(self, raw: BinaryIO, name: str) -> None:
        self.name = name
        self.column: str | None = None
        self._raw = raw

    def __iter__(self) -> Iterator[Trip]:
        row = 0
        for row, (case, activities) in enumerate(traces_of(self.name, self._raw), 1):
            yield Trip(row, activities, case, case)
        if row == 0:
            raise InvalidFile(f"{self.name}: the log has no trace")

    def writer(self, out: BinaryIO) -> TripWriter:
        """Return a writer of an event log."""
        return _XesWriter(out)

    def check_symbols(self, texts: SymbolTexts) -> None:
        """Refuse symbols that XML cannot hold.

        Raises
        ------
        InvalidModel
            If a symbol has a control character.
        """
        for text in texts:
            try:
                same = ET.fromstring(f"<a b={_attribute(text)}/>").get("b") == text  # noqa: S314
            except ET.ParseError:
                same = False
            if not same:
                raise InvalidModel(
                    f"{texts.name}: the symbol {text!r} has a character that XML cannot hold"
                )


class _XesWriter:
    def __init__(self, out: BinaryIO) -> None:
        self._out = out
        self._out.write(_HEAD.encode())

    def write(self, trip: Trip, texts: Sequence[str] | None) -> None:
        """Write a trace."""
        lines = [" <trace>"]
        if trip.frame is not None:
            lines.append(f'  <string key="{NAME}" value={_attribute(trip.frame)}/>')
        lines += [
            f'  <event><string key="{NAME}" value={_attribute(text)}/></event>'
            for text in texts or ()
        ]
        lines.append(" </trace>\n")
        self._out.write("\n".join(lines).encode())

    def close(self) -> None:
        """Close the log."""
        self._out.write(b"</log>\n")


def _attribute(text: str) -> str:
    """Return the quoted value of an attribute that holds a text, line ends and tabs included."""
    return quoteattr(text, {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})

"""Regular expressions as text: the letters that one names, and what is wrong with a bad one.

automata-lib parses them; its complaints speak of its own tokens and name no place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["fault_of", "letters_of"]

#: After a backslash, letters that stand for a class of characters.
_SHORTHANDS = "sSwWdD"

_PART = re.compile(r"\\.|\[[^]]*\]|\{[^}]*\}|.", re.DOTALL)
_COUNTS = re.compile(r"\{\s*(\d+)?\s*(?:,\s*(\d+)?\s*)?\}")
_REPEATS, _JOINS = "*+?", "|&^"


def letters_of(pattern: str) -> Iterator[str]:
    """Yield the characters that a pattern names outside classes and repetition counts."""
    from automata.regex.parser import RESERVED_CHARACTERS

    for part in _PART.findall(pattern):
        if part[0] == "\\":
            escaped = part[1:]
            if escaped and escaped not in _SHORTHANDS:
                yield {"n": "\n", "t": "\t", "r": "\r"}.get(escaped, escaped)
        elif len(part) == 1 and part not in RESERVED_CHARACTERS:
            yield part


def fault_of(pattern: str) -> str:
    """Return what is wrong with a pattern that automata-lib refuses, and where, counted from 1.

    Examples
    --------
    >>> fault_of("a(b")
    'the ( at position 2 is never closed'
    >>> fault_of("a||b")
    'the | at position 3 has nothing before it'
    """
    opened: list[int] = []
    # The operator that still waits for something behind it, and whether one can stand here.
    waiting, complete = "", False
    for match in _PART.finditer(pattern):
        part, here = match[0], f"{match[0]} at position {match.start() + 1}"
        if part.isspace():
            continue
        alone = _fault_alone(part)
        if alone:
            return f"the {here} {alone}"
        if part == "(":
            opened.append(match.start() + 1)
            waiting, complete = "", False
        elif part == ")":
            if not opened:
                return f"the {here} closes nothing"
            if waiting:
                return f"the {waiting} has nothing behind it"
            opened.pop()
            complete = True
        elif part in _JOINS or part in _REPEATS or part[0] == "{":
            if not complete:
                return f"the {here} has nothing before it"
            complete = part not in _JOINS
            waiting = "" if complete else here
        else:
            waiting, complete = "", True
    if opened:
        return f"the ( at position {opened[-1]} is never closed"
    if waiting:
        return f"the {waiting} has nothing behind it"
    return "automata-lib cannot read it"


def _fault_alone(part: str) -> str:
    """Return what is wrong with a part wherever it stands, or nothing."""
    if part in ("[", "{"):
        return "is never closed"
    if part == "\\":
        return "escapes nothing"
    if part in ("[]", "[^]"):
        return "is a class of no characters"
    if part[0] == "{":
        counts = _COUNTS.fullmatch(part)
        if counts is None:
            return "should hold counts, as in {2,5}"
        if counts[1] and counts[2] and int(counts[1]) > int(counts[2]):
            return "counts down; write the smaller number first"
    return ""

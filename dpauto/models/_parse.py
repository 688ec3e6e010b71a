"""Checks of what users pass to models, with messages that name the argument and the place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dpauto.arguments import shown
from dpauto.errors import InvalidArgument, InvalidModel
from dpauto.words import Alphabet, Symbol

__all__ = [
    "entries",
    "parse_attribute",
    "parse_moves",
    "parse_names",
    "parse_target_set",
    "state_number",
]


def parse_names(values: Any, *, argument: str, noun: str) -> Alphabet:
    """Return states or symbols as a numbered set.

    Parameters
    ----------
    values : iterable of hashable
        A string is read as its characters, an array as the plain values it holds.
    argument, noun : str
        What the message calls the argument and one of its members.

    Raises
    ------
    InvalidModel
        If there is none, or one is not hashable, occurs twice or is None (networkx graphs cannot
        hold None).
    """
    tolist = getattr(values, "tolist", None)
    names = Alphabet(tolist() if callable(tolist) else values, argument=argument, noun=noun)
    if None in names:
        raise InvalidModel(f"{argument}: None cannot be a {noun}")
    return names


def state_number(value: object, states: Alphabet, *, place: str, noun: str = "state") -> int:
    """Return the number of a state (or symbol) that a model's argument names.

    Raises
    ------
    InvalidModel
        If it is unknown. A number written as text, or the other way round, is pointed out.
    """
    number = states.number(value)
    if number is None:
        hint = ""
        for other in _lookalikes(value):
            if other in states:
                hint = f"; there is {shown(other)}, which is another {noun}"
        raise InvalidModel(f"{place}: {shown(value)} is not a known {noun}{hint}")
    return number


def _lookalikes(value: object) -> Iterator[object]:
    yield str(value)
    if isinstance(value, str):
        try:
            yield int(value)
        except ValueError:
            return


def parse_attribute(attribute: Any, *, argument: str) -> Any:
    """Return the name of an edge attribute.

    Raises
    ------
    InvalidArgument
        If it is not hashable, as names of attributes are.
    """
    try:
        hash(attribute)
    except TypeError:
        raise InvalidArgument(f"{argument} must be the name of an edge attribute") from None
    return attribute


def entries(mapping: Any, *, place: str, shape: str) -> Iterator[tuple[Any, Any]]:
    """Yield the items of a mapping.

    Raises
    ------
    InvalidModel
        If it is none; the message names the right shape.
    """
    if not isinstance(mapping, Mapping):
        raise InvalidModel(f"{place} must be a mapping {shape}")
    yield from mapping.items()


def parse_target_set(targets: Any, states: Alphabet, *, place: str) -> list[int]:
    """Return the numbers of the states in an iterable of states.

    Raises
    ------
    InvalidModel
        If `targets` is a bare state, not an iterable, or holds an unknown state.
    """
    if isinstance(targets, str) or states.number(targets) is not None:
        raise InvalidModel(
            f"{place} must be a set of states, not a bare state: write {{{shown(targets)}}}"
        )
    if not isinstance(targets, Iterable):
        raise InvalidModel(f"{place} must be a set of states")
    members: list[Symbol] = list(targets)
    return [state_number(q, states, place=place) for q in members]


def parse_moves(
    transitions: Any, states: Alphabet, alphabet: Alphabet
) -> Iterator[tuple[int, int, int]]:
    """Yield (tail, head, label) numbers of the transitions that a user wrote down.

    Raises
    ------
    InvalidModel
        If the mappings have another shape, or name an unknown state or symbol.
    """
    shape = "{state: {symbol: {state, …}}}"
    for state, moves in entries(transitions, place="transitions", shape=shape):
        tail = state_number(state, states, place="transitions")
        place = f"transitions[{shown(state)}]"
        for symbol, targets in entries(moves, place=place, shape="{symbol: {state, …}}"):
            label = state_number(symbol, alphabet, place=place, noun="symbol")
            for head in parse_target_set(targets, states, place=f"{place}[{shown(symbol)}]"):
                yield tail, head, label

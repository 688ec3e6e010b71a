"""PRISM's explicit files: transitions (.tra) with labels (.lab) beside them.

References: the PRISM manual, appendix "Explicit Model Files",
https://www.prismmodelchecker.org/manual/Appendices/ExplicitModelFiles; for the older headers, the
explicit input of Storm (a first line ``dtmc`` or ``mdp``) and of MRMC (``STATES n``, ``TRANSITIONS
m``, states numbered from 1).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpauto.errors import InvalidFile, InvalidModel
from dpauto.formats.csvfile import number
from dpauto.formats.files import open_text
from dpauto.formats.options import ModelOptions
from dpauto.formats.rows import kind_of, transition_rows
from dpauto.formats.steps import Steps
from dpauto.formats.symbols import find_symbol

if TYPE_CHECKING:
    from dpauto.models import MDP, MarkovChain

__all__ = ["initial_state", "label_file", "read_prism", "write_prism"]

Row = tuple[int, list[str]]


@dataclass(frozen=True)
class _Layout:
    """What the first lines of a file tell: the number of states, and how the others are read."""

    name: str
    size: int
    is_mdp: bool
    first: int = 0

    def state(self, row: int, text: str) -> int:
        """Return a state's number, counted from 0."""
        return _state(self.name, row, text, self.first, self.size)


def read_prism(name: str, options: ModelOptions) -> MarkovChain | MDP:
    """Read a Markov chain or an MDP; states are the numbers 0, 1, ….

    The public start is the one state with the label ``init`` in the .lab file of the same name, or
    state 0 where there is no such file, as in PRISM. An action is its label, or the number of the
    choice where it has none of its own in that state.

    Raises
    ------
    InvalidFile
        If a line has another form, a state is out of range or probabilities do not sum to 1.
    """
    with open_text(name) as lines:
        listed = ((row, line.split()) for row, line in enumerate(lines, 1) if line.strip())
        layout, rows = _header(name, listed)
        start = initial_state(name, layout.size) if options.initial is None else None
        if layout.is_mdp:
            return mdp_of_choices(name, layout.size, _choices(layout, rows), options, start)
        steps = _steps(layout, rows)
    return steps.chain(options.initial if start is None else str(start))


def _header(name: str, rows: Iterator[Row]) -> tuple[_Layout, Iterator[Row]]:
    """Return the layout and the remaining rows."""
    row, cells = next(rows, (0, []))
    if not cells:
        raise InvalidFile(f"{name}: the file is empty")
    hint = cells[0].lower()
    if hint == "states" and len(cells) == 2:
        after, more = next(rows, (0, []))
        if not more or more[0].lower() != "transitions":
            raise InvalidFile(f"{name}, row {after or row}: TRANSITIONS must follow STATES")
        return _Layout(name, _whole(name, row, cells[1]), is_mdp=False, first=1), rows
    if hint in ("dtmc", "mdp"):
        listed = list(rows)
        width = 2 if hint == "mdp" else 1
        states = [_whole(name, k, c[i]) for k, c in listed for i in (0, width) if i < len(c)]
        return _Layout(name, 1 + max(states, default=-1), hint == "mdp"), iter(listed)
    if len(cells) not in (2, 3):
        raise InvalidFile(
            f"{name}, row {row}: the first line must give the numbers of states, (choices) and"
            " transitions"
        )
    counts = [_whole(name, row, cell) for cell in cells]
    row, cells = next(rows, (0, []))
    if not cells:
        raise InvalidFile(f"{name}: there is no transition")
    # An MDP is told by the count of choices, or in old exports by the width of the first row.
    is_mdp = len(counts) == 3 or (len(cells) >= 4 and _is_number(cells[3]))
    return _Layout(name, counts[0], is_mdp), chain([(row, cells)], rows)


def _steps(layout: _Layout, rows: Iterator[Row]) -> Steps:
    tail, head, values, numbers = [], [], [], []
    for row, cells in rows:
        if len(cells) not in (3, 4):
            raise InvalidFile(
                f"{layout.name}, row {row}: a transition is: state state probability [action]"
            )
        tail.append(layout.state(row, cells[0]))
        head.append(layout.state(row, cells[1]))
        values.append(number(cells[2], file=layout.name, row=row, column="3"))
        numbers.append(row)
    return Steps(
        range(layout.size),
        np.array(tail, dtype=np.int64),
        np.array(head, dtype=np.int64),
        np.array(values, dtype=float),
        rows=numbers,
        file=layout.name,
        column="3",
    )


def _choices(
    layout: _Layout, rows: Iterator[Row]
) -> dict[tuple[int, int], tuple[str | None, dict[int, float]]]:
    name = layout.name
    choices: dict[tuple[int, int], tuple[str | None, dict[int, float]]] = {}
    for row, cells in rows:
        if len(cells) not in (4, 5):
            raise InvalidFile(
                f"{name}, row {row}: a transition is: state choice state probability [action]"
            )
        tail, head = layout.state(row, cells[0]), layout.state(row, cells[2])
        value = number(cells[3], file=name, row=row, column="4")
        if value < 0:
            raise InvalidFile(f"{name}, row {row}, column 4: {value:g} is negative")
        key = (tail, _whole(name, row, cells[1]))
        _, row_of = choices.setdefault(key, (cells[4] if len(cells) == 5 else None, {}))
        row_of[head] = row_of.get(head, 0.0) + value
    return choices


def mdp_of_choices(
    name: str,
    size: int,
    choices: Mapping[tuple[int, int], tuple[str | None, dict[int, float]]],
    options: ModelOptions,
    start: int | None,
) -> MDP:
    """Return the MDP of numbered choices, each with a label or None and its distribution.

    A label that two choices of a state share does not name an action: both get their numbers.

    Raises
    ------
    InvalidFile
        If a distribution does not sum to 1.
    """
    from dpauto.models import MDP, TOLERANCE

    by_state: dict[int, list[tuple[int, str | None, dict[int, float]]]] = {}
    for (state, choice), (label, row) in choices.items():
        by_state.setdefault(state, []).append((choice, label, row))
        total = sum(row.values())
        if abs(total - 1) > TOLERANCE:
            raise InvalidFile(
                f"{name}: the probabilities of choice {choice} in state {state} sum to"
                f" {total:.12g}, not to 1"
            )
    transitions: dict[Any, dict[Any, dict[Any, float]]] = {state: {} for state in range(size)}
    for state, listed in by_state.items():
        labels = [label for _, label, _ in listed]
        for choice, label, row in listed:
            action = label if label is not None and labels.count(label) == 1 else choice
            transitions[state][action] = row
    initial: Any = start
    if options.initial is not None:
        initial = find_symbol(range(size), options.initial, name=f"{name}: initial")
    return MDP(states=range(size), transitions=transitions, initial=initial)


def label_file(name: str) -> str | None:
    """Return the .lab file that belongs to a .tra file, or None."""
    if name == "-":
        return None
    path = Path(name)
    stem = Path(path.stem).stem if path.suffix.lower() == ".gz" else path.stem
    for suffix in (".lab", ".lab.gz"):
        beside = path.with_name(stem + suffix)
        if beside.is_file():
            return str(beside)
    return None


def initial_state(name: str, size: int) -> int | None:
    """Return the state labelled ``init`` beside a .tra file; 0 where there are no labels.

    Returns None where several states have the label: then any state may start.

    Raises
    ------
    InvalidFile
        If the label file has another form.
    """
    labels = label_file(name)
    if labels is None:
        return 0 if size else None
    with open_text(labels) as lines:
        header = lines.readline()
        numbers = {text: k for k, text in re.findall(r'(\d+)="([^"]*)"', header)}
        if not numbers:
            raise InvalidFile(f'{labels}, row 1: a label file begins with labels such as 0="init"')
        marked = [
            _state(labels, row, state, 0, size)
            for row, (state, _, rest) in enumerate((line.partition(":") for line in lines), 2)
            if numbers.get("init") in rest.split()
        ]
    return marked[0] if len(marked) == 1 else None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _whole(name: str, row: int, text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise InvalidFile(f"{name}, row {row}: {text!r} is not a whole number")
    return int(text)


def _state(name: str, row: int, text: str, first: int, size: int) -> int:
    state = _whole(name, row, text.strip()) - first
    if not 0 <= state < size:
        raise InvalidFile(
            f"{name}, row {row}: state {text.strip()} is not between {first} and {size - 1 + first}"
        )
    return state


def write_prism(model: MarkovChain | MDP, name: str) -> tuple[bytes, bytes]:
    """Return the contents of a .tra and a .lab file; states are numbered in the model's order.

    Raises
    ------
    InvalidModel
        If the model is an automaton without probabilities, or an action has white space.
    """
    kind = kind_of(model)
    if kind == "nfa":
        raise InvalidModel(
            f"{name}: PRISM's explicit files hold Markov chains and MDPs, not automata"
        )
    index = {state: k for k, state in enumerate(model.states)}
    lines: list[str] = []
    # {state: {action: number of the choice}}
    choices: dict[int, dict[Any, int]] = {}
    for row in transition_rows(model):
        if kind == "mdp":
            tail, action, head, probability = row
            chosen = choices.setdefault(index[tail], {})
            choice = chosen.setdefault(action, len(chosen))
            line = f"{index[tail]} {choice} {index[head]} {probability!r}"
            lines.append(line + _action_label(action, name))
        else:
            tail, head, probability = row
            lines.append(f"{index[tail]} {index[head]} {probability!r}")
    counts = [len(index), len(lines)]
    if kind == "mdp":
        counts.insert(1, sum(map(len, choices.values())))
    header = " ".join(map(str, counts))
    initial = index.values() if model.initial is None else [index[model.initial]]
    labels = ['0="init" 1="deadlock"', *(f"{k}: 0" for k in initial), ""]
    return "\n".join([header, *lines, ""]).encode(), "\n".join(labels).encode()


def _action_label(action: Any, name: str) -> str:
    """Return what follows a choice's probability: its label, if it has one of its own."""
    if not isinstance(action, str):
        return ""
    if action.split() != [action]:
        raise InvalidModel(f"{name}: PRISM's files hold no action with white space: {action!r}")
    return f" {action}"

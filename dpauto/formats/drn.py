"""Storm's DRN files of explicit Markov chains and MDPs.

Reference: Storm's documentation, "The DRN format",
https://www.stormchecker.org/documentation/background/languages.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from dpauto.errors import InvalidFile
from dpauto.formats.csvfile import number
from dpauto.formats.files import open_text
from dpauto.formats.options import ModelOptions
from dpauto.formats.prism import mdp_of_choices
from dpauto.formats.steps import Steps

if TYPE_CHECKING:
    from dpauto.models import MDP, MarkovChain

__all__ = ["read_drn"]

#: Storm writes ten digits, so a row may miss 1 by that much; it is divided by its sum.
_ROUNDING = 1e-6
_NO_LABEL = "__NOLABEL__"


@dataclass
class _Drn:
    kind: str = ""
    size: int = 0
    initial: list[int] = field(default_factory=list)
    choices: dict[tuple[int, int], tuple[str | None, dict[int, float]]] = field(
        default_factory=dict
    )


def read_drn(name: str, options: ModelOptions) -> MarkovChain | MDP:
    """Read a DTMC or an MDP: states 0, 1, …, of which the one labelled ``init`` is the start.

    Raises
    ------
    InvalidFile
        If the file holds another kind of model or parameters, a line has another form, or
        probabilities do not sum to 1 within what ten digits allow.
    """
    with open_text(name) as lines:
        model = _parse(name, ((row, line.strip()) for row, line in enumerate(lines, 1)))
    for (state, choice), (_, row) in model.choices.items():
        total = sum(row.values())
        if abs(total - 1) > _ROUNDING:
            raise InvalidFile(
                f"{name}: the probabilities of choice {choice} in state {state} sum to"
                f" {total:.10g}, not to 1"
            )
        for head in row:
            row[head] /= total
    start = model.initial[0] if len(model.initial) == 1 else None
    if model.kind == "MDP":
        return mdp_of_choices(name, model.size, model.choices, options, start)
    return _chain(name, model, options, start)


def _chain(name: str, model: _Drn, options: ModelOptions, start: int | None) -> MarkovChain:
    steps = [
        (state, head, value)
        for (state, _), (_, row) in model.choices.items()
        for head, value in row.items()
    ]
    tail, head, values = zip(*steps, strict=True) if steps else ((), (), ())
    chain = Steps(
        range(model.size),
        np.array(tail, dtype=np.int64),
        np.array(head, dtype=np.int64),
        np.array(values, dtype=float),
        file=name,
    )
    if options.initial is not None:
        return chain.chain(options.initial)
    return chain.chain(None if start is None else str(start))


def _parse(name: str, lines: Iterator[tuple[int, str]]) -> _Drn:
    model = _Drn()
    _preamble(name, model, lines)
    state, choice = -1, -1
    for row, line in lines:
        words = line.split()
        if not words or line.startswith("//"):
            continue
        if words[0] == "state":
            state, choice = state + 1, -1
            _state(name, row, line, model, state)
        elif words[0] == "action":
            choice += 1
            label = words[1] if len(words) > 1 and not words[1].startswith("[") else _NO_LABEL
            model.choices[state, choice] = (None if label == _NO_LABEL else label, {})
        else:
            if choice < 0:
                # A chain may leave the line "action" out.
                choice = 0
                model.choices[state, 0] = (None, {})
            _step(name, row, line, model, model.choices[state, choice][1])
    if state + 1 != model.size:
        raise InvalidFile(f"{name}: @nr_states says {model.size}, but {state + 1} states follow")
    return model


def _preamble(name: str, model: _Drn, lines: Iterator[tuple[int, str]]) -> None:
    empty = True
    wanted = ""
    for row, line in lines:
        if not line or line.startswith("//"):
            continue
        empty = False
        if line == "@model":
            if model.kind not in ("DTMC", "MDP"):
                raise InvalidFile(
                    f"{name}: @type must be DTMC or MDP, not {model.kind or 'missing'}"
                )
            return
        if line.startswith("@type:"):
            model.kind = line.partition(":")[2].strip().upper()
        elif line.startswith("@"):
            wanted = line
        elif wanted == "@nr_states":
            if not line.isdigit():
                raise InvalidFile(f"{name}, row {row}: {line!r} is not a number of states")
            model.size = int(line)
        elif wanted == "@parameters":
            raise InvalidFile(f"{name}, row {row}: models with parameters cannot be read")
    raise InvalidFile(f"{name}: the file is empty" if empty else f"{name}: there is no line @model")


def _state(name: str, row: int, line: str, model: _Drn, expected: int) -> None:
    # Rewards [..], observations {..} and exit rates !.. may stand before the labels.
    words = re.sub(r"\[[^\]]*\]|\{[^}]*\}|!\S+", " ", line).split()
    if len(words) < 2 or words[1] != str(expected):
        raise InvalidFile(f"{name}, row {row}: state {expected} should follow here")
    if "init" in words[2:]:
        model.initial.append(expected)


def _step(name: str, row: int, line: str, model: _Drn, distribution: dict[int, float]) -> None:
    head, colon, value = line.partition(":")
    head = head.strip()
    if not colon or not head.isdigit() or int(head) >= model.size:
        raise InvalidFile(f"{name}, row {row}: a transition is: state : probability")
    probability = number(value, file=name, row=row, column="probability")
    if probability < 0:
        raise InvalidFile(f"{name}, row {row}: {probability:g} is negative")
    distribution[int(head)] = distribution.get(int(head), 0.0) + probability

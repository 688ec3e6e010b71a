"""Models in JSON, in the form of the constructors.

    {"kind": "markov-chain", "states": ["a", "b"],
     "transitions": {"a": {"b": 1}, "b": {"a": 0.5, "b": 0.5}}, "initial": "a"}

    {"kind": "nfa", "states": [0, 1], "alphabet": ["x", "y"],
     "transitions": {"0": {"x": [0, 1]}}, "initial": 0, "final": [1]}

    {"kind": "mdp", "states": ["s", "t"],
     "transitions": {"s": {"go": {"t": 0.9, "s": 0.1}}}, "initial": "s"}

States, symbols and actions are strings, numbers or lists of these (tuples in Python). Keys of JSON
objects are always strings, so a key stands for the state or symbol that has its text. Where two
have the same text, ``transitions`` is a list of rows instead: [state, state, probability], [state,
symbol, state] or [state, action, state, probability]. An automaton's alphabet may be left out: it
is then what the transitions read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from dpauto.errors import InvalidFile, InvalidModel
from dpauto.formats.files import read_bytes
from dpauto.formats.options import Model, ModelOptions
from dpauto.formats.rows import kind_of, transition_rows
from dpauto.formats.symbols import SymbolTexts, find_symbol, text_of
from dpauto.words import Symbol

if TYPE_CHECKING:
    from dpauto.models import MDP, NFA, MarkovChain

__all__ = ["read_json", "write_json"]

KINDS = ("markov-chain", "nfa", "mdp")


def read_json(name: str, options: ModelOptions) -> Model:
    """Read a model; see the module's text for the form.

    Raises
    ------
    InvalidFile
        If the file is not JSON, a key is missing or an entry has the wrong form.
    InvalidModel
        If the parts do not fit together.
    """
    return _Reader(name, _load(name), options).model()


def _load(name: str) -> dict[str, Any]:
    def refuse(constant: str) -> NoReturn:
        raise InvalidFile(f"{name}: {constant} is not a number")

    try:
        document = json.loads(read_bytes(name).decode("utf-8-sig"), parse_constant=refuse)
    except json.JSONDecodeError as error:
        raise InvalidFile(
            f"{name}, row {error.lineno}, column {error.colno}: not JSON; {error.msg}"
        ) from None
    except UnicodeDecodeError:
        raise InvalidFile(f"{name}: not UTF-8 text") from None
    except RecursionError:
        raise InvalidFile(f"{name}: nested too deeply") from None
    if not isinstance(document, dict):
        raise InvalidFile(f"{name}: a model is a JSON object with kind, states and transitions")
    return document


class _Reader:
    """Turns a JSON document into a model and names the place of whatever is wrong."""

    def __init__(self, name: str, document: dict[str, Any], options: ModelOptions) -> None:
        self.name, self.document, self.options = name, document, options

    def model(self) -> Model:
        """Return the model.

        Raises
        ------
        InvalidFile
            If a key is missing or an entry has the wrong form; its place is named.
        InvalidModel
            If the parts do not fit together.
        """
        from dpauto.models import MDP, NFA, MarkovChain

        kind = self._get("kind", str)
        if kind not in KINDS:
            raise InvalidFile(f"{self.name}: kind must be one of {', '.join(KINDS)}, not {kind!r}")
        states = self._symbols("states")
        initial = self._initial(states)
        transitions = self.document.get("transitions")
        if not isinstance(transitions, dict | list):
            raise InvalidFile(f"{self.name}: transitions must be an object or a list of rows")
        if kind == "nfa":
            alphabet = self._alphabet(transitions)
            return NFA(
                states=states,
                alphabet=alphabet,
                transitions=self._nfa_transitions(transitions, states, alphabet),
                initial=initial,
                final=self._symbols("final"),
            )
        if kind == "mdp":
            return MDP(
                states=states,
                transitions=self._mdp_transitions(transitions, states),
                initial=initial,
            )
        return MarkovChain(
            states=states, transitions=self._chain_transitions(transitions, states), initial=initial
        )

    # -- parts ----------------------------------------------------------------------------------

    def _get(self, key: str, kind: type) -> Any:
        if key not in self.document:
            raise InvalidFile(f"{self.name}: the key {key!r} is missing")
        value = self.document[key]
        if not isinstance(value, kind):
            word = "a string" if kind is str else "a list"
            raise InvalidFile(f"{self.name}: {key} must be {word}")
        return value

    def _symbols(self, key: str) -> list[Symbol]:
        return [self._symbol(value, f"{key}[{k}]") for k, value in enumerate(self._get(key, list))]

    def _symbol(self, value: Any, place: str) -> Symbol:
        if isinstance(value, list):
            return tuple(self._symbol(part, place) for part in value)
        if isinstance(value, str) or (
            isinstance(value, int | float) and not isinstance(value, bool)
        ):
            return value
        raise InvalidFile(
            f"{self.name}: {place} must be a string, a number or a list of these,"
            f" not {json.dumps(value)[:40]}"
        )

    def _alphabet(self, transitions: Any) -> list[Symbol]:
        """Return the alphabet, by default the symbols that the transitions read."""
        if "alphabet" in self.document:
            return self._symbols("alphabet")
        if isinstance(transitions, list):
            read = [self._symbol(row[1], place) for row, place in self._rows(transitions, 3)]
            return list(dict.fromkeys(read))
        moves = [row for row in transitions.values() if isinstance(row, dict)]
        return list(dict.fromkeys(symbol for row in moves for symbol in row))

    def _initial(self, states: list[Symbol]) -> Symbol | None:
        if self.options.initial is not None:
            return find_symbol(states, self.options.initial, name="initial")
        value = self.document.get("initial")
        return None if value is None else self._symbol(value, "initial")

    def _number(self, value: Any, place: str) -> float:
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value
        raise InvalidFile(f"{self.name}: {place} must be a number, not {json.dumps(value)[:40]}")

    def _keyed(
        self, mapping: Any, texts: SymbolTexts | None, place: str
    ) -> Iterable[tuple[Any, Any, str]]:
        """Yield (symbol, value, place) of an object, keys matched by text."""
        if not isinstance(mapping, dict):
            raise InvalidFile(f"{self.name}: {place} must be an object")
        for key, value in mapping.items():
            where = f"{place}[{json.dumps(key)}]"
            if texts is not None and key not in texts:
                raise InvalidFile(f"{self.name}: {where}: {key!r} is not one of {texts.name}")
            yield (key if texts is None else texts.symbol(key)), value, where

    def _rows(self, rows: list[Any], width: int) -> Iterable[tuple[list[Any], str]]:
        for k, row in enumerate(rows):
            place = f"transitions[{k}]"
            if not isinstance(row, list) or len(row) != width:
                raise InvalidFile(f"{self.name}: {place} must be a list of {width} entries")
            yield row, place

    # -- transitions ----------------------------------------------------------------------------

    def _texts(self, symbols: Iterable[Symbol], what: str) -> SymbolTexts:
        try:
            return SymbolTexts(symbols, name=what)
        except InvalidModel as error:
            raise InvalidModel(
                f"{self.name}: {error}; give transitions as a list of rows"
            ) from None

    def _chain_transitions(self, table: Any, states: list[Symbol]) -> Mapping[Symbol, Any]:
        result: dict[Symbol, dict[Symbol, float]] = {state: {} for state in states}
        if isinstance(table, list):
            for (tail, head, value), place in self._rows(table, 3):
                row = result.setdefault(self._symbol(tail, place), {})
                head = self._symbol(head, place)
                if head in row:
                    raise InvalidFile(f"{self.name}: {place}: this step is listed twice")
                row[head] = self._number(value, place)
            return result
        texts = self._texts(states, "states")
        for tail, successors, place in self._keyed(table, texts, "transitions"):
            for head, value, where in self._keyed(successors, texts, place):
                result[tail][head] = self._number(value, where)
        return result

    def _nfa_transitions(
        self, table: Any, states: list[Symbol], alphabet: list[Symbol]
    ) -> Mapping[Symbol, Any]:
        result: dict[Symbol, dict[Symbol, set[Symbol]]] = {state: {} for state in states}
        if isinstance(table, list):
            for row, place in self._rows(table, 3):
                tail, symbol, head = (self._symbol(part, place) for part in row)
                result.setdefault(tail, {}).setdefault(symbol, set()).add(head)
            return result
        texts = self._texts(states, "states")
        symbols = self._texts(alphabet, "alphabet")
        for tail, moves, place in self._keyed(table, texts, "transitions"):
            for symbol, heads, where in self._keyed(moves, symbols, place):
                if not isinstance(heads, list):
                    raise InvalidFile(f"{self.name}: {where} must be a list of states")
                result[tail][symbol] = {self._symbol(head, where) for head in heads}
        return result

    def _mdp_transitions(self, table: Any, states: list[Symbol]) -> Mapping[Symbol, Any]:
        result: dict[Symbol, dict[Symbol, dict[Symbol, float]]] = {state: {} for state in states}
        if isinstance(table, list):
            for (*parts, value), place in self._rows(table, 4):
                tail, action, head = (self._symbol(part, place) for part in parts)
                row = result.setdefault(tail, {}).setdefault(action, {})
                if head in row:
                    raise InvalidFile(f"{self.name}: {place}: this step is listed twice")
                row[head] = self._number(value, place)
            return result
        texts = self._texts(states, "states")
        for tail, actions, place in self._keyed(table, texts, "transitions"):
            for action, successors, where in self._keyed(actions, None, place):
                row = result[tail].setdefault(action, {})
                for head, value, inside in self._keyed(successors, texts, where):
                    row[head] = self._number(value, inside)
        return result


def write_json(model: MarkovChain | NFA | MDP, name: str) -> bytes:
    """Return a model as JSON that `read_json` reads back as the same model.

    Raises
    ------
    InvalidModel
        If a state, symbol or action is neither string, number nor tuple of these.
    """
    from dpauto.models import NFA

    kind = kind_of(model)
    document: dict[str, Any] = {"kind": kind, "states": [_plain(s, name) for s in model.states]}
    if isinstance(model, NFA):
        document["alphabet"] = [_plain(s, name) for s in model.alphabet]
    rows = list(transition_rows(model))
    if _keys_suffice(model, kind, rows):
        document["transitions"] = _nested(kind, rows, name)
    else:
        document["transitions"] = [[_plain(part, name) for part in row] for row in rows]
    if model.initial is not None:
        document["initial"] = _plain(model.initial, name)
    if isinstance(model, NFA):
        document["final"] = [_plain(s, name) for s in model.states if s in model.final]
    return (json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _keys_suffice(model: Any, kind: str, rows: list[tuple[Any, ...]]) -> bool:
    """Whether every state and symbol can be an object's key: keys are texts."""
    try:
        SymbolTexts(model.states)
        if kind == "nfa":
            SymbolTexts(model.alphabet)
    except InvalidModel:
        return False
    # Actions are listed nowhere else, so one that is no string would come back as its text.
    return kind != "mdp" or all(isinstance(row[1], str) for row in rows)


def _nested(kind: str, rows: list[tuple[Any, ...]], name: str) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for tail, *row in rows:
        moves = result.setdefault(text_of(tail), {})
        if kind == "markov-chain":
            moves[text_of(row[0])] = row[1]
        elif kind == "nfa":
            moves.setdefault(text_of(row[0]), []).append(_plain(row[1], name))
        else:
            moves.setdefault(row[0], {})[text_of(row[1])] = row[2]
    return result


def _plain(symbol: Any, name: str) -> Any:
    if isinstance(symbol, tuple):
        return [_plain(part, name) for part in symbol]
    if isinstance(symbol, bool) or not isinstance(symbol, str | int | float):
        raise InvalidModel(
            f"{name}: JSON holds states and symbols that are strings, numbers or tuples of these;"
            f" {type(symbol).__name__} is none of them"
        )
    return symbol

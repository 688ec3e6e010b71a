"""Markov decision processes: words of states, of actions, or of both."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from dpauto.arguments import one_of, shown
from dpauto.arrays import START, Automaton
from dpauto.determinization import STATE_LIMIT, disambiguated
from dpauto.errors import EmptyLanguage, InvalidModel
from dpauto.language import Language, parse_length
from dpauto.models._base import Model
from dpauto.models._parse import entries, parse_names, state_number
from dpauto.models._rows import TOLERANCE, FloatArray, parse_probability, parse_row, sum_fault
from dpauto.models.chain import MarkovChain
from dpauto.words import Alphabet, IntArray, Symbol

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["MDP"]

#: What is seen of a step.
Observe = Literal["states", "actions", "both"]


class MDP(Model):
    """A Markov decision process; immutable.

    In a state an action is chosen, and then chance decides the next state. What is observed of a
    run, and protected, are its states, its actions or both.

    Parameters
    ----------
    states : iterable of hashable
        The order of a sequence is kept; a set is sorted.
    transitions : mapping
        ``{state: {action: {state: probability}}}``. A probability of 0 is no transition; those of
        an action sum to 1 within 1e-9. A state without actions is a dead end.
    initial : hashable, optional
        The public state before the first step; it is not part of the word. None: any state may
        start. The first observed state is then the one it started in, the first observed action
        the one chosen there.

    Raises
    ------
    InvalidModel
        If the parts do not fit together; the message names the state and the action.

    Examples
    --------
    >>> robot = MDP(
    ...     states=["dock", "hall", "lab"],
    ...     transitions={
    ...         "dock": {"go": {"hall": 1}, "wait": {"dock": 1}},
    ...         "hall": {"go": {"lab": 0.9, "hall": 0.1}, "back": {"dock": 1}},
    ...         "lab": {"back": {"hall": 1}},
    ...     },
    ...     initial="dock",
    ... )
    >>> robot
    <MDP: 3 states, 3 actions, 6 transitions, initial 'dock'>

    Runs of three steps, as an observer of the states, of the actions and of both tells them apart:

    >>> [robot.language(3, observe=what).count() for what in ("states", "actions", "both")]
    [11, 8, 11]
    >>> robot.chain({"dock": "go", "hall": {"go": 0.5, "back": 0.5}, "lab": "back"})
    <MarkovChain: 3 states, 5 transitions, initial 'dock'>
    """

    _FIELDS: ClassVar[tuple[str, ...]] = (
        "_states",
        "actions",
        "_choice_state",
        "_choice_action",
        "_indptr",
        "_head",
        "_probability",
        "_initial",
    )

    _states: Alphabet
    #: The actions, in the order in which the states list them.
    actions: tuple[Symbol, ...]
    # A choice is an action in a state, sorted by state and action; its transitions are
    # _indptr[c]:_indptr[c+1], sorted by head.
    _choice_state: IntArray
    _choice_action: IntArray
    _indptr: IntArray
    _head: IntArray
    _probability: FloatArray
    _initial: int | None

    def __init__(
        self,
        *,
        states: Iterable[Symbol],
        transitions: Mapping[Any, Mapping[Any, Mapping[Any, float]]],
        initial: Symbol | None = None,
    ) -> None:
        names = parse_names(states, argument="states", noun="state")
        rows = sorted(_parse_choices(transitions, names), key=lambda choice: choice[0])
        number: dict[Symbol, int] = {}
        for _, action, _ in rows:
            number.setdefault(action, len(number))
        rows.sort(key=lambda choice: (choice[0], number[choice[1]]))
        lengths = [len(row) for _, _, row in rows]
        steps = [step for _, _, row in rows for step in row]
        self.__setstate__(
            {
                "_states": names,
                "actions": tuple(number),
                "_choice_state": np.array([state for state, _, _ in rows], dtype=np.int64),
                "_choice_action": np.array([number[a] for _, a, _ in rows], dtype=np.int64),
                "_indptr": np.cumsum([0, *lengths], dtype=np.int64),
                "_head": np.array([head for head, _ in steps], dtype=np.int64),
                "_probability": np.array([p for _, p in steps], dtype=np.float64),
                "_initial": None
                if initial is None
                else state_number(initial, names, place="initial"),
            }
        )

    # -- parts ----------------------------------------------------------------------------------

    @property
    def states(self) -> tuple[Symbol, ...]:
        """The states, in order."""
        return tuple(self._states)

    @property
    def initial(self) -> Symbol | None:
        """The public start, or None if any state may start."""
        state: Symbol | None = None if self._initial is None else self._states[self._initial]
        return state

    @property
    def transitions(self) -> dict[Symbol, dict[Symbol, dict[Symbol, float]]]:
        """A copy of the transitions, ``{state: {action: {state: probability}}}``."""
        return {
            self._states[tail]: {
                self.actions[action]: {self._states[head]: p for head, p in row}
                for action, row in choices
            }
            for tail, choices in self._choices().items()
        }

    @cached_property
    def graph(self) -> nx.MultiDiGraph:
        """The process as a frozen networkx MultiDiGraph.

        Nodes are the states, with the attribute "initial": whether a run may begin there (None) or
        the state is the public start. Every edge has the attributes "action" and "probability".
        """
        import networkx as nx

        graph = nx.MultiDiGraph()
        for number, state in enumerate(self._states):
            graph.add_node(state, initial=self._initial is None or number == self._initial)
        for state, choices in self.transitions.items():
            for action, row in choices.items():
                for head, probability in row.items():
                    graph.add_edge(state, head, action=action, probability=probability)
        return nx.freeze(graph)

    def _choices(self) -> dict[int, list[tuple[int, list[tuple[int, float]]]]]:
        """Return every state's choices: (action number, [(head, probability), …])."""
        bounds = self._indptr.tolist()
        steps = list(zip(self._head.tolist(), self._probability.tolist(), strict=True))
        choices: dict[int, list[tuple[int, list[tuple[int, float]]]]] = {}
        for c, (tail, action) in enumerate(
            zip(self._choice_state.tolist(), self._choice_action.tolist(), strict=True)
        ):
            choices.setdefault(tail, []).append((action, steps[bounds[c] : bounds[c + 1]]))
        return choices

    def __repr__(self) -> str:
        start = "" if self._initial is None else f", initial {shown(self.initial)}"
        return (
            f"<MDP: {len(self._states)} states, {len(self.actions)} actions,"
            f" {len(self._head)} transitions{start}>"
        )

    # -- words ----------------------------------------------------------------------------------

    def language(
        self, length: int, observe: Observe = "states", *, state_limit: int = STATE_LIMIT
    ) -> Language:
        """Return the feasible words of one length, compiled for the mechanisms.

        Parameters
        ----------
        length : int
            n, at least 1.
        observe : {"states", "actions", "both"}, optional
            What a symbol is: the state entered, the action taken, or the pair (action, state
            entered).
        state_limit : int, optional
            Most states that determinising may make. Only observing actions alone can need it: then
            different runs may look the same, and still count as one word.

        Returns
        -------
        Language
            Its alphabet is `states`, `actions`, or the pairs that occur, by action and then state.

        Raises
        ------
        InvalidArgument
            If `length` is not a whole number of at least 1 or `observe` is not one of the above.
        EmptyLanguage
            If no run is that long.
        StateLimitExceeded
            If determinising exceeds the limit.
        """
        n = parse_length(length)
        automaton = self._automaton(observe)
        if observe == "actions":
            automaton = disambiguated(automaton, steps=n, state_limit=state_limit)
        return Language.compile(automaton, n)

    def _automaton(self, observe: str) -> Automaton:
        """Return the process as an automaton that reads what is observed."""
        observe = one_of(observe, ("states", "actions", "both"), name="observe")
        choice = np.repeat(np.arange(len(self._choice_state)), np.diff(self._indptr))
        tail, action, head = self._choice_state[choice], self._choice_action[choice], self._head
        size = len(self._states)
        first_head, first_label = np.arange(size), np.arange(size)
        if observe == "states":
            alphabet, label = self._states, head
        elif not self.actions:
            raise EmptyLanguage("transitions: no state has an action, so there is no step to see")
        elif observe == "actions":
            alphabet, label = Alphabet(self.actions), action
        else:
            pairs, label = np.unique(action * size + head, return_inverse=True)
            names, numbers = self._states, [divmod(pair, size) for pair in pairs.tolist()]
            alphabet = Alphabet([(self.actions[a], names[q]) for a, q in numbers])
        if self._initial is not None:
            first = tail == self._initial
            first_head, first_label = head[first], label[first]
        elif observe != "states":
            # The start itself is not seen, so the first symbol is a step out of any state.
            first_head, first_label = head, label
        return Automaton.of(
            alphabet=alphabet,
            states=self._states,
            start=START if self._initial is None else self._states[self._initial],
            start_edges=(first_head, first_label),
            edges=(tail, head, label),
            final=np.ones(size, dtype=bool),
        )

    # -- policies -------------------------------------------------------------------------------

    def chain(self, policy: Mapping[Any, Any]) -> MarkovChain:
        """Return the Markov chain of the states when actions follow a policy.

        Parameters
        ----------
        policy : mapping
            ``{state: action}``, or ``{state: {action: probability}}`` for a random choice, for
            every state that has an action.

        Returns
        -------
        MarkovChain
            T[y, y'] = Σ_a π(a | y) P(y' | y, a), with the same states and start.

        Raises
        ------
        InvalidModel
            If a state is missing from the policy or unknown, it has no such action, or the
            probabilities of its actions do not sum to 1 within 1e-9.
        """
        choices = self._choices()
        rows: dict[Symbol, dict[Symbol, float]] = {}
        shape = "{state: action} or {state: {action: probability}}"
        for state, decision in entries(policy, place="policy", shape=shape):
            tail = state_number(state, self._states, place="policy")
            row = rows.setdefault(self._states[tail], {})
            available = {self.actions[a]: steps for a, steps in choices.get(tail, [])}
            place = f"policy[{shown(state)}]"
            for action, weight in _parse_decision(decision, available, place):
                for head, p in available[action]:
                    name = self._states[head]
                    row[name] = row.get(name, 0.0) + weight * p
        for tail in choices:
            if self._states[tail] not in rows:
                raise InvalidModel(
                    f"policy must choose an action in every state that has one; state"
                    f" {shown(self._states[tail])} is missing"
                )
        return MarkovChain(states=self._states, transitions=rows, initial=self.initial)


def _parse_choices(
    transitions: Mapping[Any, Any], states: Alphabet
) -> Iterator[tuple[int, Symbol, list[tuple[int, float]]]]:
    """Yield (state number, action, sorted [(head, probability), …]) of what a user wrote down."""
    shape = "{state: {action: {state: probability}}}"
    for state, choices in entries(transitions, place="transitions", shape=shape):
        tail = state_number(state, states, place="transitions")
        place = f"transitions[{shown(state)}]"
        for action, row in entries(choices, place=place, shape="{action: {state: probability}}"):
            where = f"{place}[{shown(action)}]"
            steps = sorted((q, p) for q, p in parse_row(row, states, place=where) if p > 0)
            total = math.fsum(p for _, p in steps)
            if abs(total - 1) > TOLERANCE:
                raise InvalidModel(f"{where}: the probabilities {sum_fault(total)}")
            yield tail, action, steps


def _parse_decision(
    decision: Any, available: Mapping[Symbol, object], place: str
) -> list[tuple[Symbol, float]]:
    """Return [(action, probability), …] of a policy's entry, the probabilities summing to 1."""
    chosen = decision if isinstance(decision, Mapping) else {decision: 1.0}
    weights = []
    for action, value in chosen.items():
        if action not in available:
            raise InvalidModel(f"{place}: {shown(action)} is not an action of that state")
        weights.append((action, parse_probability(value, place=f"{place}[{shown(action)}]")))
    total = math.fsum(p for _, p in weights)
    if abs(total - 1) > TOLERANCE:
        raise InvalidModel(f"{place}: the probabilities {sum_fault(total)}")
    return [(action, p / total) for action, p in weights]

"""Models as rows of transitions in a fixed order, the common beginning of all writers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dpauto.models import MDP, NFA, MarkovChain

__all__ = ["columns_of", "kind_of", "transition_rows"]

#: What the columns of a row are, by the kind of the model.
_COLUMNS = {
    "markov-chain": ("tail", "head", "probability"),
    "nfa": ("tail", "symbol", "head"),
    "mdp": ("tail", "action", "head", "probability"),
}


def kind_of(model: MarkovChain | NFA | MDP) -> str:
    """Return "markov-chain", "nfa" or "mdp"."""
    from dpauto.models import MDP, NFA

    return "nfa" if isinstance(model, NFA) else "mdp" if isinstance(model, MDP) else "markov-chain"


def columns_of(kind: str) -> tuple[str, ...]:
    """Return what the entries of a row are."""
    return _COLUMNS[kind]


def transition_rows(model: MarkovChain | NFA | MDP) -> Iterator[tuple[Any, ...]]:
    """Yield (tail, head, probability), (tail, symbol, head) or (tail, action, head, probability).

    Examples
    --------
    >>> from dpauto import NFA
    >>> moves = {0: {"b": {1, 0}, "a": {1}}}
    >>> nfa = NFA(states=[1, 0], alphabet="ab", transitions=moves, initial=0, final=[1])
    >>> list(transition_rows(nfa))
    [(0, 'a', 1), (0, 'b', 1), (0, 'b', 0)]
    """
    from dpauto.models import NFA

    if isinstance(model, NFA):
        place = {state: k for k, state in enumerate(model.states)}
        for tail, moves in model.transitions.items():
            for symbol in sorted(moves, key=model.alphabet.index):
                for head in sorted(moves[symbol], key=place.__getitem__):
                    yield tail, symbol, head
        return
    for tail, row in model.transitions.items():
        for first, rest in row.items():
            if isinstance(rest, dict):
                for head, probability in rest.items():
                    yield tail, first, head, probability
            else:
                yield tail, first, rest

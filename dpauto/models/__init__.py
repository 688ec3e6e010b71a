"""Models of a system: automata, Markov chains and Markov decision processes, as immutable values.

A model says which words are feasible. ``model.language(length)`` compiles those of one length for
the mechanisms. Every model keeps arrays, which run, and offers the same thing as a frozen networkx
graph, which is read and drawn.
"""

from __future__ import annotations

from dpauto.models._rows import TOLERANCE
from dpauto.models.chain import MarkovChain
from dpauto.models.mdp import MDP
from dpauto.models.nfa import NFA

__all__ = ["MDP", "NFA", "TOLERANCE", "MarkovChain"]

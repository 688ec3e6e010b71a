"""The Hamming automaton of a word, its product with a language, and the policy that samples it.

These are the paper's own objects, for reading, drawing and checking. The Hamming automaton
A_{w,l} accepts the words at distance exactly l from w; its state (i, j) means "i symbols written, j
of them wrong". Its product with the automaton of a language L, together with the policy of
Algorithm 1, is a Markov chain whose runs are the words of L at that distance, each equally likely:
the modified nondeterministic finite automaton, `MNFA`.

A release needs none of this (it counts no distances); see `dpauto.mechanisms`.

References
----------
.. [1] Benvenuti, Rao, Hale, "Differential Privacy for Symbolic Trajectories via the
   Permute-and-Flip Mechanism", arXiv:2603.28903, Definition 5 and Algorithm 1.
"""

from dpauto.hamming.automaton import hamming_automaton
from dpauto.hamming.product import MNFA, mnfa

__all__ = ["MNFA", "hamming_automaton", "mnfa"]

"""A small language, its first words and their laws under every mechanism."""

from __future__ import annotations

from typing import Any

import oracles

from dpauto import Exponential, MarkovChain, Online, PermuteAndFlip

EDGES = {"a": "ab", "b": "bc", "c": "ac"}
TRIANGLE = MarkovChain(
    states="abc", transitions={s: dict.fromkeys(t, 0.5) for s, t in EDGES.items()}
).language(5)
WORDS = [w for w in oracles.graph_words(EDGES, 5) if w[0] == "a"][:4]
CLASSES: dict[str, Any] = {
    "permute-and-flip": PermuteAndFlip,
    "exponential": Exponential,
    "online": Online,
}


def laws(mechanism: str, epsilon: Any, adjacency: int = 1) -> list[Any]:
    made = CLASSES[mechanism](TRIANGLE, epsilon=epsilon, adjacency=adjacency)
    return [made.error_law(w) for w in WORDS]

"""Random languages with few enough words to enumerate, from a seeded generator."""

from __future__ import annotations

import random

from dpauto import NFA, EmptyLanguage, Language, MarkovChain


def random_chain(rng: random.Random) -> MarkovChain:
    """Directed, with dead ends and loops; a public start or any start."""
    size, density = rng.randint(2, 6), rng.choice([0.25, 0.4, 0.6, 0.9])
    steps = {a: [c for c in range(size) if rng.random() < density] for a in range(size)}
    return MarkovChain(
        states=range(size),
        transitions={a: dict.fromkeys(to, 1 / len(to)) for a, to in steps.items() if to},
        initial=rng.choice([None, rng.randrange(size)]),
    )


def random_automaton(rng: random.Random) -> NFA:
    """Deterministic or not; what is ambiguous is determinised by `language`."""
    size, density = rng.randint(1, 4), rng.choice([0.3, 0.6])
    transitions = {
        q: {s: {p for p in range(size) if rng.random() < density / 2 * size / 2} for s in "abc"}
        for q in range(size)
    }
    final = {q for q in range(size) if rng.random() < 0.6} or {0}
    return NFA(states=range(size), alphabet="abc", transitions=transitions, initial=0, final=final)


def random_dfa(rng: random.Random) -> NFA:
    """Deterministic and mostly incomplete, over three letters."""
    size, density = rng.randint(2, 5), rng.choice([0.4, 0.6, 0.8])
    transitions = {
        q: {s: {rng.randrange(size)} for s in "abc" if rng.random() < density} for q in range(size)
    }
    final = {q for q in range(size) if rng.random() < 0.5} or {0}
    return NFA(states=range(size), alphabet="abc", transitions=transitions, initial=0, final=final)


def reversed_dfa(rng: random.Random) -> NFA:
    """Nondeterministic but unambiguous: a run is the run of a deterministic automaton backwards."""
    dfa = random_dfa(rng)
    backwards: dict[object, dict[str, set[object]]] = {q: {} for q in (*dfa.states, "start")}
    for q, p, symbol in dfa.graph.edges(data="symbol"):
        for start in (p, "start") if p in dfa.final else (p,):
            backwards[start].setdefault(symbol, set()).add(q)
    return NFA(states=backwards, alphabet="abc", transitions=backwards, initial="start", final={0})


MODELS = {
    "chain": random_chain,
    "automaton": random_automaton,
    "dfa": random_dfa,
    "reversed dfa": reversed_dfa,
}


def small_language(
    rng: random.Random, kind: str, *, most: int = 120, longest: int = 6
) -> Language | None:
    """A language with few enough words to enumerate."""
    n = rng.randint(1, longest)
    if kind == "words":
        listed = {"".join(rng.choices("abc", k=n)) for _ in range(rng.randint(2, 12))}
        return Language.of(sorted(listed))
    model = MODELS[kind](rng)
    try:
        language = model.language(n)
    except EmptyLanguage:
        return None
    return language if language.count() <= most else None

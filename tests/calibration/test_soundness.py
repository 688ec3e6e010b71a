"""Certified is at least true: every small language that chance and Hypothesis come up with."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from losses import true_loss
from small_languages import small_language

from dpauto import EmptyLanguage, EmptyNeighbourhood, Language, MarkovChain, certify
from dpauto.calibration import attempt, boxes, proof
from dpauto.calibration.neighbours import require_neighbours
from dpauto.calibration.proof import Budget, Prover
from dpauto.privacy import Privacy

MECHANISMS = ("exponential", "permute-and-flip")
#: Floats of the oracle are this accurate.
ORACLE = 1e-9


def check(
    language: Language, exponent: Fraction, b: int, mechanism: str, contexts: int, how: str
) -> tuple[float, float] | None:
    """Compare one proof with the truth; `how` is the way of keeping boxes."""
    truth = true_loss(list(language.words()), float(exponent), b, mechanism)
    try:
        require_neighbours(language, b)
    except EmptyNeighbourhood:
        assert truth is None
        return None
    assert truth is not None
    prover = Prover(language, Privacy.of(epsilon=1, adjacency=b), mechanism, Budget(contexts))
    if how != "placed":
        prover.__dict__["is_placed"] = False
    if how == "near":
        prover.__dict__["is_dense"] = False
    found = prover.prove(exponent, Fraction(0))
    assert float(found.loss) >= truth - ORACLE, (how, mechanism, b, exponent, found.method)
    return float(found.loss), truth


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("how", ["placed", "pooled", "near"])
@pytest.mark.parametrize("blocks_only", [False, True])
def test_chains(
    mechanism: str, how: str, blocks_only: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if blocks_only:
        monkeypatch.setattr(attempt, "extreme_weights", lambda *_: None)
    rng = random.Random(f"{mechanism} {how} {blocks_only}")
    compared = 0
    while compared < (60 if mechanism == "exponential" else 30):
        language = small_language(rng, "chain")
        if language is None:
            continue
        monkeypatch.setattr(proof, "RADIUS", rng.randint(0, 2))
        monkeypatch.setattr(boxes, "ALL_LENGTHS", rng.choice([0, 50]))
        exponent, b = Fraction(rng.randint(1, 45), 10), rng.randint(1, 4)
        contexts = rng.choice([0, 0, 200])
        compared += check(language, exponent, b, mechanism, contexts, how) is not None


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("kind", ["automaton", "words"])
def test_other_automata(mechanism: str, kind: str) -> None:
    rng = random.Random(f"{mechanism} {kind}")
    compared = 0
    while compared < (150 if mechanism == "exponential" else 50):
        language = small_language(rng, kind, longest=5)
        if language is None:
            continue
        exponent, b = Fraction(rng.randint(1, 45), 10), rng.randint(1, 4)
        compared += check(language, exponent, b, mechanism, 0, "placed") is not None


@st.composite
def chain_languages(draw: st.DrawFn) -> Language:
    size = draw(st.integers(2, 5))
    steps = draw(st.lists(st.sets(st.integers(0, size - 1)), min_size=size, max_size=size))
    chain = MarkovChain(
        states=range(size),
        transitions={a: dict.fromkeys(to, 1 / len(to)) for a, to in enumerate(steps) if to},
        initial=draw(st.none() | st.integers(0, size - 1)),
    )
    length = draw(st.integers(1, 5))
    try:
        language = chain.language(length)
    except EmptyLanguage:
        return Language.of(["ab", "aa"])
    return language if language.count() <= 120 else Language.of(["ab", "bb"])


@settings(max_examples=60)
@given(
    language=chain_languages(),
    tenths=st.integers(1, 60),
    b=st.integers(1, 4),
    mechanism=st.sampled_from(MECHANISMS),
)
def test_any_chain(language: Language, tenths: int, b: int, mechanism: str) -> None:
    check(language, Fraction(tenths, 10), b, mechanism, 100, "placed")


@settings(max_examples=12)
@given(
    language=chain_languages(),
    halves=st.integers(1, 16),
    b=st.integers(1, 3),
    mechanism=st.sampled_from(MECHANISMS),
)
def test_certificates_keep_their_promise(
    language: Language, halves: int, b: int, mechanism: str
) -> None:
    epsilon = Fraction(halves, 2)
    truth = true_loss(list(language.words()), 1.0, b, "exponential")
    if truth is None:
        with pytest.raises(EmptyNeighbourhood):
            certify(language, epsilon=epsilon, adjacency=b, mechanism=mechanism)
        return
    certificate = certify(
        language, epsilon=epsilon, adjacency=b, mechanism=mechanism, budget=Budget(contexts=300)
    )
    exponent = certificate.exponent
    assert exponent >= epsilon / (2 * b)
    spent = true_loss(list(language.words()), float(exponent), b, mechanism)
    assert spent is not None
    assert spent <= float(certificate.loss) + ORACLE
    assert certificate.loss <= epsilon


def test_a_loss_that_falls_with_the_exponent() -> None:
    letters = [chr(97 + k) for k in range(26)]
    words = ["aaa", "baa", *("a" + x + y for x in letters[1:] for y in letters[1:])]
    # Too many words for the exact rule of the other tests; the exponential mechanism needs none.
    language = Language.of(words)
    losses = {g: true_loss(words, g, 1, "exponential") for g in (1.5, 2.0, 3.0)}
    for exponent, truth in losses.items():
        prover = Prover(language, Privacy.of(epsilon=1, adjacency=1), "exponential", Budget())
        assert truth is not None
        assert float(prover.prove(Fraction(exponent), Fraction(0)).loss) >= truth

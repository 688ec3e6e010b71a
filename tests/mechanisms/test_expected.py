"""Published values, end to end: from a model through its language to laws and releases."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from arithmetic import draws
from oracles import distance
from sampling import assert_follows

from dpauto.language import Language
from dpauto.mechanisms import Exponential, Online, PermuteAndFlip
from dpauto.models import NFA, MarkovChain

FOLDER = Path(__file__).resolve().parent.parent / "expected"
RESTRICTED = json.loads((FOLDER / "restricted_languages.json").read_text(encoding="utf-8"))
UNCONSTRAINED = json.loads((FOLDER / "unconstrained.json").read_text(encoding="utf-8"))
MECHANISMS = {"permute_and_flip": PermuteAndFlip, "exponential": Exponential}
SAMPLES = 6_000


def language_of(case: dict) -> Language:
    if case["kind"] == "regex":
        return NFA.from_regex(case["regex"], alphabet=case["alphabet"]).language(case["length"])
    # Keys of JSON objects are text, also where states are numbers.
    typed = {str(s): s for heads in case["edges"].values() for s in heads}
    steps = {
        typed[tail]: dict.fromkeys(heads, 1 / len(heads)) for tail, heads in case["edges"].items()
    }
    chain = MarkovChain(states=list(typed.values()), transitions=steps, initial=case["initial"])
    return chain.language(case["length"])


def title(case: dict) -> str:
    return f"{case['name']} {''.join(map(str, case['word']))} at {case['epsilon']}"


restricted = pytest.mark.parametrize("case", RESTRICTED, ids=title)
unconstrained = pytest.mark.parametrize(
    "case",
    UNCONSTRAINED,
    ids=lambda case: f"n={case['length']} m={case['alphabet_size']} ε={case['epsilon']}",
)


@restricted
def test_counts_are_exact(case):
    language = language_of(case)
    assert language.count() == case["total"]
    assert language.level_counts(case["word"]) == case["level_counts"]


@restricted
@pytest.mark.parametrize("name", MECHANISMS)
def test_laws_on_restricted_languages(case, name):
    mechanism = MECHANISMS[name](
        language_of(case), epsilon=case["epsilon"], adjacency=case["adjacency"]
    )
    law = mechanism.error_law(case["word"])
    expected = [float(p) for p in case[name]]
    assert law.pmf.tolist() == pytest.approx(expected, rel=0, abs=1e-12)
    assert law.mean == pytest.approx(float(case[f"{name}_mean"]), rel=0, abs=1e-12)


@unconstrained
def test_laws_on_all_words(case):
    n, m = case["length"], case["alphabet_size"]
    language, word = Language.all_words(range(m), n), [k % m for k in range(n)]
    privacy = {"epsilon": case["epsilon"], "adjacency": case["adjacency"]}
    law = PermuteAndFlip(language, **privacy).error_law(word)
    expected = [float(p) for p in case["permute_and_flip"]]
    assert law.pmf.tolist() == pytest.approx(expected, rel=0, abs=1e-12)
    assert law.mean == pytest.approx(float(case["permute_and_flip_mean"]), rel=0, abs=1e-12)
    for mechanism, name in ((Exponential, "exponential"), (Online, "randomized_response")):
        mean = mechanism(language, **privacy).error_law(word).mean
        assert mean == pytest.approx(float(case[f"{name}_mean"]), rel=0, abs=1e-12)


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("case", [RESTRICTED[k] for k in (2, 4, 10)], ids=title)
def test_releases_on_restricted_languages(case, name):
    mechanism = MECHANISMS[name](
        language_of(case), epsilon=case["epsilon"], adjacency=case["adjacency"]
    )
    word = case["word"]
    released = draws(mechanism, word, SAMPLES)
    law = {d: Fraction(p) for d, p in enumerate(case[name])}
    assert_follows((distance(word, v) for v in released), law)


def test_a_batch_follows_the_law():
    case = RESTRICTED[0]
    mechanism = PermuteAndFlip(language_of(case), epsilon=1)
    released = mechanism.release_many([case["word"]] * SAMPLES, rng=2026, workers=1)
    law = {d: Fraction(p) for d, p in enumerate(case["permute_and_flip"])}
    assert_follows((distance(case["word"], v) for v in released), law)


@pytest.mark.parametrize(
    "case", [c for c in UNCONSTRAINED if 1 < c["length"] < 50][3:4], ids=lambda c: str(c["length"])
)
def test_releases_on_all_words(case):
    n, m = case["length"], case["alphabet_size"]
    mechanism = PermuteAndFlip(
        Language.all_words(range(m), n), epsilon=case["epsilon"], adjacency=case["adjacency"]
    )
    word = [k % m for k in range(n)]
    released = draws(mechanism, word, SAMPLES)
    law = {d: Fraction(p) for d, p in enumerate(case["permute_and_flip"])}
    assert_follows((distance(word, v) for v in released), law)

"""A pass near the trip only releases by the law of the whole network, and often leaves it."""

from __future__ import annotations

from fractions import Fraction

import oracles
import pytest
from arithmetic import draws, few_bits, in_balls, tapes
from sampling import assert_follows

from dpauto.language import Language
from dpauto.mechanisms import Exponential, PermuteAndFlip
from dpauto.mechanisms.base import Mechanism
from dpauto.models import MarkovChain
from dpauto.passes import CorridorFloats


def ring(size: int, length: int, initial: int | None = None) -> Language:
    steps = {k: dict.fromkeys([(k + 1) % size, (k - 1) % size], 0.5) for k in range(size)}
    return MarkovChain(states=range(size), transitions=steps, initial=initial).language(length)


def narrow(mechanism: Mechanism, radius: int) -> Mechanism:
    """The same mechanism, made to use corridors that wide."""
    mechanism._radius = radius
    return mechanism


CASES = [
    (ring(20, 3), (3, 4, 3), 1),
    (ring(22, 3), (21, 0, 1), 2),
    (ring(40, 5, initial=7), (8, 7, 8, 7, 6), 1),
]


@pytest.mark.parametrize(("language", "trip", "radius"), CASES)
@pytest.mark.parametrize("mechanism", [PermuteAndFlip, Exponential])
@pytest.mark.parametrize("epsilon", [1, 5])
def test_the_law_is_that_of_the_network(language, trip, radius, mechanism, epsilon):
    m = narrow(mechanism(language, epsilon=epsilon), radius)
    with m._precision(0):
        proposals = m._proposals(language.encode(trip), 0)
    assert isinstance(proposals, CorridorFloats)
    oracle = oracles.integral_law if mechanism is PermuteAndFlip else oracles.exponential_law
    law = oracle(list(language.words()), trip, Fraction(epsilon, 2))
    drawn = draws(m, trip, 1000)
    assert_follows(drawn, law)
    if epsilon == 1:
        # Away from the trip by more than the radius, and so outside the corridor.
        assert any(min(abs(s - t) for t in trip) > radius for v in drawn for s in v)


@pytest.mark.parametrize(("language", "trip", "radius"), CASES)
@pytest.mark.parametrize("mechanism", [PermuteAndFlip, Exponential])
def test_floats_release_the_words_of_balls(language, trip, radius, mechanism):
    m = narrow(mechanism(language, epsilon=2), radius)
    numbers = language.encode(trip)
    balls = [in_balls(m, trip, tape) for tape in tapes(50)]
    assert [language.decode(m._release(numbers, tape)) for tape in tapes(50)] == balls
    with few_bits(4):
        rough = [language.decode(m._release(numbers, tape)) for tape in tapes(50)]
    assert rough == balls


def test_an_infeasible_trip_takes_the_full_pass():
    language = ring(26, 4)
    m = narrow(PermuteAndFlip(language, epsilon=2), 1)
    trip = (3, 4, 9, 2)
    law = oracles.integral_law(list(language.words()), trip, Fraction(1))
    assert_follows(draws(m, trip, 1500), law)


def test_the_radius_is_public():
    """Chosen from language and exponent alone: small networks have none."""
    assert PermuteAndFlip(ring(26, 4), epsilon=4)._radius is None
    wide = PermuteAndFlip(ring(30_000, 50), epsilon=16)
    assert wide._radius is not None
    assert wide._radius == PermuteAndFlip(ring(30_000, 50), epsilon=16)._radius
    trip = wide.language.random_word(1)
    assert wide.release(trip) in wide.language

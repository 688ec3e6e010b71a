"""The test of samples itself: it accepts the right law and sees a difference of 3 %."""

from __future__ import annotations

import random

from sampling import SIGNIFICANCE, chi_square


def sample(law, size):
    return random.Random(1).choices(list(law), list(law.values()), k=size)


def test_the_right_law_passes():
    law = {k: 2.0**-k for k in range(1, 30)} | {30: 2.0**-29}
    assert chi_square(sample(law, 20_000), law) > 0.01


def test_three_percent_are_seen():
    law = {"a": 0.5, "b": 0.3, "c": 0.2}
    other = {"a": 0.53, "b": 0.27, "c": 0.2}
    assert chi_square(sample(other, 20_000), law) < SIGNIFICANCE


def test_an_impossible_outcome_is_seen():
    assert chi_square(["a"] * 50 + ["z"], {"a": 1.0}) == 0
    assert chi_square(["a"] * 50 + ["z"], {"a": 1.0, "z": 0}) == 0


def test_pooled_outcomes_count():
    law = {"often": 0.9, **dict.fromkeys(range(100), 0.001)}
    assert chi_square(["often"] * 1000, law) < SIGNIFICANCE

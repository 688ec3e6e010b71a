"""Known expected errors on the whole Porto network: 11,095 links, real trips."""

from __future__ import annotations

import csv
import gzip
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_array

from dpauto import MarkovChain
from dpauto.laws import error_law, error_moments, offline_moments, online_law, online_moments

# (trip, public start) -> epsilon -> (exponential, permute-and-flip), b = 1; the level counts are
# known too.
KNOWN = {
    (0, True): {1: (16.5226630225836, 16.5226617257677), 3: (0.892911871138108, 0.653264114094503)},
    (0, False): {3: (3.20400605863366, 2.85827915235472), 5: (0.39573900415555, 0.250359990538331)},
    (1, True): {
        3: (1.29437078917693, 0.987238004731432),
        8: (0.0394224789197964, 0.0203227721045815),
    },
    (1, False): {1: (32.9997104592595, 32.9997104592595), 3: (1.51613509756145, 1.18599808416349)},
}
FIRST_COUNTS = {(0, True): [1, 2, 7, 5, 0, 12], (1, False): [1, 2, 7, 17, 46, 123]}


@pytest.fixture(scope="module")
def steps(data: Path) -> csr_array:
    with gzip.open(data / "porto_taxi" / "porto_edges.csv.gz", "rt") as file:
        ends = [(int(row["u"]), int(row["v"])) for row in csv.DictReader(file)]
    u, v = np.array(ends).T
    follows: dict[int, list[int]] = {}
    for link, junction in enumerate(u.tolist()):
        follows.setdefault(junction, []).append(link)
    pairs = [(i, j) for i, junction in enumerate(v.tolist()) for j in follows.get(junction, ())]
    tail, head = np.array(pairs).T
    share = 1 / np.bincount(tail, minlength=len(ends))[tail]
    return csr_array((share, (tail, head)), shape=(len(ends),) * 2)


@pytest.fixture(scope="module")
def trips(data: Path) -> list[tuple[int, ...]]:
    with gzip.open(data / "porto_taxi" / "porto_routes.txt.gz", "rt") as file:
        lines = [line for line in file if not line.startswith("#")]
    return [tuple(map(int, line.partition(":")[2].split())) for line in lines]


@pytest.mark.parametrize(("trip", "public_start"), list(KNOWN))
def test_known_means(
    steps: csr_array, trips: list[tuple[int, ...]], trip: int, public_start: bool
) -> None:
    word = trips[trip][1:] if public_start else trips[trip]
    chain = MarkovChain.from_matrix(steps, initial=trips[trip][0] if public_start else None)
    language = chain.language(len(word))
    numbers = language.encode(word)
    if (trip, public_start) in FIRST_COUNTS:
        assert language.level_counts(word)[:6] == FIRST_COUNTS[trip, public_start]
    for epsilon, (exponential, ours) in KNOWN[trip, public_start].items():
        a = Fraction(epsilon, 2)
        for mechanism, expected in (("exponential", exponential), ("permute-and-flip", ours)):
            law = error_law(language, numbers, a, mechanism)
            found = error_moments(language, numbers, a, mechanism)
            assert law.mean == pytest.approx(expected, abs=1e-12)
            assert found.mean == pytest.approx(expected, abs=1e-10)
            assert found.variance == pytest.approx(law.variance, abs=1e-9)
            assert found.unchanged == pytest.approx(law.pmf[0], abs=1e-12)


def test_the_longest_trip_without_counts(steps: csr_array, trips: list[tuple[int, ...]]) -> None:
    # 174 links from anywhere; the value is that of the exact counts, which take longer.
    word = max(trips, key=len)
    language = MarkovChain.from_matrix(steps).language(len(word))
    numbers = language.encode(word)
    found = offline_moments(language, numbers, Fraction(4))
    assert found.mean == pytest.approx(0.030656330571108, abs=1e-12)
    baseline = offline_moments(language, numbers, Fraction(4), "exponential")
    assert baseline.mean / 2 <= found.mean <= baseline.mean


def test_online_on_the_network(steps: csr_array, trips: list[tuple[int, ...]]) -> None:
    language = MarkovChain.from_matrix(steps).language(len(trips[0]))
    numbers = language.encode(trips[0])
    law, found = (
        online_law(language, numbers, Fraction(3)),
        online_moments(language, numbers, Fraction(3)),
    )
    assert found.mean == pytest.approx(law.mean, abs=1e-11)
    assert found.variance == pytest.approx(law.variance, abs=1e-11)
    # A first wrong turn loses the trip for good: nearly every symbol is wrong.
    assert law.mean > 19

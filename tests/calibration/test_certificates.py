"""Certificates as values: what they bind, how they are kept, and what does not pass."""

from __future__ import annotations

import dataclasses
import gzip
import json
import os
from fractions import Fraction
from pathlib import Path

import pytest
from losses import true_loss

from dpauto import (
    Certificate,
    EmptyNeighbourhood,
    Exponential,
    InvalidArgument,
    InvalidCertificate,
    InvalidFile,
    InvalidWord,
    Language,
    MarkovChain,
    PermuteAndFlip,
    certify,
)
from dpauto.calibration import Budget
from dpauto.calibration.certificate import _digest
from dpauto.calibration.proof import Prover
from dpauto.privacy import Privacy


def grid(side: int, length: int) -> Language:
    """Walks on a square grid, with waiting, from its first corner."""
    steps = {}
    for x in range(side):
        for y in range(side):
            near = [(x, y), (x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)]
            inside = [p for p in near if 0 <= p[0] < side and 0 <= p[1] < side]
            steps[x, y] = dict.fromkeys(inside, 1 / len(inside))
    return MarkovChain(states=list(steps), transitions=steps, initial=(0, 0)).language(length)


@pytest.fixture(scope="module")
def language() -> Language:
    return grid(3, 5)


@pytest.fixture(scope="module")
def certificate(language: Language) -> Certificate:
    return certify(language, epsilon=5, adjacency=1)


def test_a_certificate_gains_and_is_true(language: Language, certificate: Certificate) -> None:
    assert certificate.gain > 1.3
    assert certificate.loss <= 5
    # The oracle needs no integral here: a longer list of words is fine.
    spent = true_loss(list(language.words()), float(certificate.exponent), 1, "exponential")
    assert spent is not None
    assert float(certificate.loss) - 0.1 < spent <= float(certificate.loss)
    certificate.check(language)


def test_mechanisms_use_certificates(language: Language, certificate: Certificate) -> None:
    mechanism = Exponential(language, epsilon=5, adjacency=1, certificate=certificate)
    word = language.random_word(1)
    assert mechanism.exponent == certificate.exponent
    assert mechanism.release(word, rng=2) in language
    assert mechanism.privacy_loss(1) == certificate.loss
    plain = Exponential(language, epsilon=5, adjacency=1)
    assert mechanism.error_law(word).mean < 0.8 * plain.error_law(word).mean
    with pytest.raises(InvalidWord, match="feasible"):
        mechanism.release([(2, 2)] * 5, rng=2)
    with pytest.raises(InvalidWord, match="ws: word 2 must be feasible") as caught:
        mechanism.release_many([word, [(2, 2)] * 5, word], rng=2)
    assert "(2, 2)" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epsilon": 4}, "epsilon"),
        ({"adjacency": 2}, "adjacency"),
        ({"language": grid(4, 5)}, "another language"),
        ({"language": grid(3, 4)}, "length 5, not 4"),
        ({"mechanism": PermuteAndFlip}, "not for permute-and-flip"),
    ],
)
def test_other_uses_are_refused(
    language: Language, certificate: Certificate, change: dict[str, object], message: str
) -> None:
    arguments = {"language": language, "epsilon": 5, "adjacency": 1, "mechanism": Exponential}
    arguments |= change
    build = arguments.pop("mechanism")
    with pytest.raises(InvalidCertificate, match=message):
        build(arguments.pop("language"), certificate=certificate, **arguments)  # type: ignore[operator]


def test_saved_certificates_come_back(certificate: Certificate, tmp_path: Path) -> None:
    path = tmp_path / "certificate.json"
    certificate.save(path)
    assert Certificate.load(path) == certificate
    certificate.save(path)
    assert [p.name for p in tmp_path.iterdir()] == ["certificate.json"]


def test_a_certificate_is_public_and_its_name_is_the_one_in_errors(
    certificate: Certificate, tmp_path: Path
) -> None:
    path, other = tmp_path / "certificate.json", tmp_path / "other"
    certificate.save(path)
    other.touch()
    assert path.stat().st_mode == other.stat().st_mode
    missing = tmp_path / "missing" / "certificate.json"
    with pytest.raises(FileNotFoundError) as caught:
        certificate.save(missing)
    assert caught.value.filename == str(missing)


@pytest.mark.parametrize(
    ("entry", "value"),
    [("exponent", "9"), ("loss", "1"), ("language", "0" * 64), ("adjacency", 7)],
)
def test_changed_files_are_refused(
    certificate: Certificate, tmp_path: Path, entry: str, value: object
) -> None:
    path = tmp_path / "certificate.json"
    certificate.save(path)
    content = json.loads(path.read_text())
    content[entry] = value
    path.write_text(json.dumps(content))
    with pytest.raises(InvalidCertificate, match="changed"):
        Certificate.load(path)


@pytest.mark.parametrize(
    "change",
    [
        {"schema": 2},
        {"kind": "recipe"},
        {"epsilon": "minus one"},
        {"exponent": "1/1000"},
        {"loss": "6"},
        {"mechanism": "online"},
        {"budget": {}},
        {"budget": None},
        {"adjacency": "1"},
    ],
)
def test_invalid_entries_are_refused_even_with_a_digest(
    certificate: Certificate, tmp_path: Path, change: dict[str, object]
) -> None:
    content = certificate._content() | change
    content["digest"] = _digest(content)
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(content))
    with pytest.raises(InvalidCertificate):
        Certificate.load(path)


@pytest.mark.parametrize("text", ["", "{", "[1]", "{}", "17"])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "certificate.json"
    path.write_text(text)
    with pytest.raises((InvalidFile, InvalidCertificate)):
        Certificate.load(path)


def test_checking_proves_again(language: Language, certificate: Certificate) -> None:
    inflated = dataclasses.replace(certificate, exponent=certificate.exponent * Fraction(21, 20))
    lowered = dataclasses.replace(certificate, loss=certificate.loss * Fraction(9, 10))
    for false in (inflated, lowered):
        with pytest.raises(InvalidCertificate, match="cannot be proven"):
            false.check(language)
    with pytest.raises(InvalidCertificate, match="another language"):
        certificate.check(grid(4, 5))


def test_a_failed_save_leaves_nothing(
    certificate: Certificate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        certificate.save(tmp_path / "certificate.json")
    assert not list(tmp_path.iterdir())


# -- certify -------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", ["1/2", 3])
@pytest.mark.parametrize("b", [1, 2, 9])
def test_all_words_give_randomized_response(epsilon: object, b: int) -> None:
    language = Language.all_words("abc", 4)
    certificate = certify(language, epsilon=epsilon, adjacency=b)  # type: ignore[arg-type]
    assert certificate.exponent == Fraction(epsilon) / min(b, 4)  # type: ignore[arg-type]
    assert certificate.method == "all words"
    certificate.check(language)


def test_permute_and_flip_on_all_words_is_sound() -> None:
    words = Language.all_words("ab", 4)
    certificate = certify(words, epsilon=4, adjacency=2, mechanism="permute-and-flip")
    assert certificate.gain > 1.2
    spent = true_loss(list(words.words()), float(certificate.exponent), 2, "permute-and-flip")
    assert spent is not None
    assert spent <= certificate.loss


def test_isolated_words_are_refused() -> None:
    with pytest.raises(EmptyNeighbourhood, match="larger adjacency"):
        certify(Language.of(["aa", "bb"]), epsilon=1, adjacency=1)
    certificate = certify(Language.of(["aa", "bb"]), epsilon=1, adjacency=2)
    assert float(certificate.exponent) == pytest.approx(1 / 2, rel=1e-3)


def test_calibrated_takes_the_better_mechanism(language: Language) -> None:
    told: list[tuple[str, float]] = []
    chosen = certify(
        language,
        epsilon=5,
        adjacency=2,
        mechanism="calibrated",
        budget=Budget(contexts=500),
        progress=lambda doing, done: told.append((doing, done)),
    )
    others = [
        certify(language, epsilon=5, adjacency=2, mechanism=m, budget=Budget(contexts=500))
        for m in ("exponential", "permute-and-flip")
    ]
    assert chosen in others
    mechanisms = {"exponential": Exponential, "permute-and-flip": PermuteAndFlip}
    words = [language.random_word(seed) for seed in range(40)]
    means = {
        c.mechanism: sum(
            mechanisms[c.mechanism](language, epsilon=5, adjacency=2, certificate=c)
            .error_law(w)
            .mean
            for w in words
        )
        for c in others
    }
    assert chosen.mechanism == min(means, key=means.__getitem__)
    shares = [done for _, done in told]
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_certify_refuses_bad_arguments(language: Language) -> None:
    for bad in (
        {"epsilon": 0, "adjacency": 1},
        {"epsilon": 1, "adjacency": 0},
        {"epsilon": 1, "adjacency": 1, "mechanism": "online"},
    ):
        with pytest.raises(InvalidArgument):
            certify(language, **bad)  # type: ignore[arg-type]


def test_nothing_is_gained_where_nothing_can_be_proven() -> None:
    language = grid(5, 40)
    prover = Prover(language, Privacy.of(epsilon="1/10", adjacency=1), "exponential", Budget(50))
    found = prover.prove(Fraction(1, 10), Fraction(0))
    assert found.loss == Fraction(1, 5)


def test_a_city_is_certified(data: Path) -> None:
    import scipy.sparse

    with gzip.open(data / "porto_taxi" / "porto_edges.csv.gz", "rt") as file:
        rows = [line.split(",") for line in file.read().splitlines()[1:]]
    tails, heads = ([int(row[k]) for row in rows] for k in (1, 2))
    n_links, n_nodes = len(rows), max(tails + heads) + 1
    ones = [1.0] * n_links
    into = scipy.sparse.csr_array((ones, (range(n_links), heads)), (n_links, n_nodes))
    out = scipy.sparse.csr_array((ones, (tails, range(n_links))), (n_nodes, n_links))
    steps = (into @ out).tocsr()
    degree = steps.sum(axis=1)
    steps.data /= degree.repeat(steps.indptr[1:] - steps.indptr[:-1])
    language = MarkovChain.from_matrix(steps).language(50)
    prover = Prover(language, Privacy.of(epsilon=10, adjacency=2), "exponential", Budget())
    # 1.96 times what sensitivity alone allows.
    assert prover.prove(Fraction(49, 10), Fraction(10)).loss <= 10

"""Finding the largest exponent that can be proven: the search proposes, `prove` decides."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from fractions import Fraction

from dpauto.accuracy.averages import WordErrors
from dpauto.calibration.attempt import Method, Proof
from dpauto.calibration.certificate import Certificate
from dpauto.calibration.neighbours import require_neighbours
from dpauto.calibration.proof import Budget, Progress, Prover
from dpauto.errors import NotPrivateWarning
from dpauto.language import Language, require_language
from dpauto.names import CALIBRATED, CERTIFIABLE, EXPONENTIAL, PERMUTE_AND_FLIP, parse_mechanism
from dpauto.privacy import Epsilon, Privacy
from dpauto.randomness import as_source
from dpauto.words import Word

__all__ = ["certify"]

#: Where the scan looks, as shares of the way from epsilon / (2 b) to epsilon / b.
SCAN = (0.98, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05)
#: Bisections after the scan, and how many may run out of contexts in a row.
REFINEMENTS = 6
PATIENCE = 3
#: Exponents are multiples of a power of two this much below epsilon / b.
RESOLUTION = 2048
#: Words that decide between mechanisms, and the public seed that samples them.
SAMPLES, SEED = 32, 0


def certify(
    language: Language,
    *,
    epsilon: Epsilon,
    adjacency: int,
    mechanism: str = EXPONENTIAL,
    budget: Budget | None = None,
    progress: Progress | None = None,
) -> Certificate:
    """Prove the largest exponent that can be found for a language at a privacy loss of epsilon.

    The factor 1/2 in exp(-epsilon d / (2 b)) pays for the change of the normaliser from one
    sensitive word to its neighbour. That change is public knowledge about the language and often
    small; what is not needed is given back to accuracy. Only public data enter, and a certificate
    serves every word.

    Parameters
    ----------
    language : Language
    epsilon : int, float, Fraction or str
        Positive; a float is read as written.
    adjacency : int
        b, at least 1: words *of the language* within b substitutions are protected from each
        other.
    mechanism : {"exponential", "permute-and-flip", "calibrated"}, optional
        "calibrated" proves both and takes the one with the smaller exact mean error over words of
        the language that are sampled uniformly with a public seed.
    budget : Budget, optional
        How much work one proof may take.
    progress : callable, optional
        Called with what is being done and the share done, between 0 and 1.

    Returns
    -------
    Certificate
        Its exponent is at least epsilon / (2 b); equal where nothing more could be proven.

    Raises
    ------
    InvalidArgument
        If a parameter is out of range.
    EmptyNeighbourhood
        If no two words of the language lie within b substitutions.

    Notes
    -----
    The bounds and their proofs are on the page *Certified calibration*. The loss need not grow with
    the exponent, so the search scans from above and refines; it only proposes.

    Examples
    --------
    >>> from dpauto import Language, certify
    >>> certificate = certify(Language.all_words("ab", 8), epsilon=3, adjacency=1)
    >>> certificate.exponent, certificate.method
    (Fraction(3, 1), 'all words')
    """
    privacy = Privacy.of(epsilon=epsilon, adjacency=adjacency)
    parse_mechanism(mechanism, CERTIFIABLE)
    budget = budget or Budget()
    require_neighbours(require_language(language), privacy.adjacency)
    tell = progress or (lambda _doing, _done: None)
    if mechanism == CALIBRATED:
        return _calibrated(language, privacy, budget, tell)
    certificate = _search(Prover(language, privacy, mechanism, budget), tell)
    tell("done", 1.0)
    return certificate


def _search(prover: Prover, tell: Progress) -> Certificate:
    """Scan from above, then bisect between the first success and the last failure."""
    privacy = prover.privacy
    # No proof allows more than epsilon / b: one of two words at distance b has the larger weight.
    low, high = privacy.exponent, privacy.epsilon / prover.b
    best = Proof(prover.prove(low, privacy.epsilon).loss, Method.NOMINAL, True)
    exponent, ceiling = low, high
    total = len(SCAN) + 1 + REFINEMENTS
    for step, candidate in enumerate(_scan(low, high)):
        tell(f"{prover.mechanism}: scan", step / total)
        found = prover.prove(
            candidate, privacy.epsilon, contexts=prover.budget.quick, patient=False
        )
        if found.loss <= privacy.epsilon:
            best, exponent = found, candidate
            break
        # What more contexts could still prove stays below the ceiling.
        if found.final:
            ceiling = candidate
    failures = 0
    for step in range(REFINEMENTS):
        tell(f"{prover.mechanism}: refine", (len(SCAN) + 1 + step) / total)
        candidate = _simple((exponent + ceiling) / 2, high)
        if not exponent < candidate < ceiling or failures >= PATIENCE:
            break
        found = prover.prove(candidate, privacy.epsilon, patient=False)
        if found.loss <= privacy.epsilon:
            best, exponent, failures = found, candidate, 0
        else:
            ceiling = candidate
            failures += not found.final
    return Certificate(
        language=prover.language.fingerprint,
        length=prover.language.length,
        epsilon=privacy.epsilon,
        adjacency=privacy.adjacency,
        mechanism=prover.mechanism,
        exponent=exponent,
        loss=_rounded_up(best.loss, privacy.epsilon),
        method=best.method,
        budget=prover.budget,
    )


def _scan(low: Fraction, high: Fraction) -> Iterator[Fraction]:
    """Exponents to try, from the largest one on."""
    yield high
    for share in SCAN:
        candidate = _simple(low + Fraction(share) * (high - low), high)
        if low < candidate < high:
            yield candidate


def _simple(exponent: Fraction, high: Fraction) -> Fraction:
    """The exponent rounded down to a multiple of a power of two."""
    step = Fraction(1)
    while step * RESOLUTION > high:
        step /= 2
    while step * RESOLUTION * 2 <= high:
        step *= 2
    return exponent // step * step


def _rounded_up(loss: Fraction, epsilon: Fraction) -> Fraction:
    """The loss with nine decimals, from above: rounding on another machine must not refute it."""
    unit = Fraction(1, 10**9)
    return min(epsilon, (-((-loss) // unit) + 1) * unit)


def _calibrated(
    language: Language, privacy: Privacy, budget: Budget, tell: Progress
) -> Certificate:
    """Certify both mechanisms and take the one with the smaller mean error on public words."""
    prover = Prover(language, privacy, EXPONENTIAL, budget)
    certificates = [
        _search(prover, lambda doing, done: tell(doing, 0.45 * done)),
        _search(
            prover.with_mechanism(PERMUTE_AND_FLIP),
            lambda doing, done: tell(doing, 0.45 + 0.45 * done),
        ),
    ]
    tell("compare mean errors", 0.9)
    errors = WordErrors(language, _samples(language), None)
    chosen = min(certificates, key=lambda one: errors.offline(one.mechanism, one.exponent).mean)
    tell("done", 1.0)
    return chosen


def _samples(language: Language) -> list[Word]:
    """Words sampled with a public seed."""
    with warnings.catch_warnings():
        # The words are public, so their seed may be too.
        warnings.simplefilter("ignore", NotPrivateWarning)
        source = as_source(SEED)
    return [language.random_word(source) for _ in range(SAMPLES)]

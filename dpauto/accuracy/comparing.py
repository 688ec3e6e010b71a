"""What error an epsilon means, for every mechanism."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpauto.accuracy.averages import WordErrors
from dpauto.arguments import each
from dpauto.errors import InvalidArgument
from dpauto.language import Language
from dpauto.laws import Moments
from dpauto.names import CALIBRATED, EVERY_NAME, ONLINE, UNCERTIFIED, parse_mechanism
from dpauto.privacy import Epsilon, Privacy, parse_epsilon
from dpauto.words import Symbol

if TYPE_CHECKING:
    from dpauto.calibration import Certificate

__all__ = ["Comparison", "compare"]


class Comparison(NamedTuple):
    """One mechanism at one epsilon: the error of a word drawn uniformly from the given ones.

    Attributes
    ----------
    epsilon : Fraction
    mechanism : str
        "permute-and-flip", "exponential", "online" or "calibrated".
    mean, deviation : float
        Expected number of wrong symbols (under costs: expected cost), and standard deviation.
    unchanged : float
        Probability that a word is released as it is.
    """

    epsilon: Fraction
    mechanism: str
    mean: float
    deviation: float
    unchanged: float


def compare(
    language: Language,
    words: Iterable[Iterable[Symbol]],
    *,
    epsilons: Iterable[Epsilon],
    adjacency: int,
    mechanisms: Iterable[str] = UNCERTIFIED,
    certificates: Mapping[Any, Certificate] | None = None,
    costs: Any = None,
) -> list[Comparison]:
    """Return the exact error of every mechanism at every epsilon.

    Parameters
    ----------
    language : Language
    words : iterable of words
        Public words, such as samples from the model. What is returned depends on them: a table made
        from sensitive words is as sensitive as they are.
    epsilons : iterable of int, float, Fraction or str
    adjacency : int
        b, at least 1.
    mechanisms : iterable of str, optional
        Names, in the order of the rows. With "calibrated" every epsilon needs a certificate.
    certificates : mapping {epsilon: Certificate}, optional
        Each epsilon that has one gets a last row, "calibrated": the mechanism that the certificate
        is for, at its exponent.
    costs : Costs, mapping, callable or integer matrix, optional
        Errors are then costs, and the online mechanism, which has no costs, is left out.

    Returns
    -------
    list of Comparison
        Grouped by epsilon.

    Raises
    ------
    InvalidArgument
        If a parameter is out of range, a mechanism is unknown, or a certificate comes with costs
        or is missing.
    InvalidCertificate
        If a certificate is for another language, epsilon or adjacency.
    InvalidWord, UnknownSymbol
        If a word does not fit the language or, with certificates, is not feasible.

    Examples
    --------
    >>> language = Language.all_words("abcd", 8)
    >>> for row in compare(language, ["abcdabcd"], epsilons=[4], adjacency=1):
    ...     print(f"{row.mechanism:16} {row.mean:.3f}")
    permute-and-flip 2.296
    exponential      2.310
    online           0.417
    """
    names = list(each(mechanisms, name="mechanisms", of="names"))
    for name in names:
        parse_mechanism(name, EVERY_NAME)
    errors = WordErrors(language, words, costs)
    if errors.costs is not None:
        names = [name for name in names if name != ONLINE]
    if certificates is not None and not isinstance(certificates, Mapping):
        raise InvalidArgument("certificates must be a mapping {epsilon: Certificate}")
    certified = {parse_epsilon(e): c for e, c in (certificates or {}).items()}
    if certified:
        if errors.costs is not None:
            raise InvalidArgument(
                "certificates hold for the Hamming distance only: leave costs out"
            )
        errors.require_feasible()
    plain = [name for name in names if name != CALIBRATED]
    rows = []
    for value in each(epsilons, name="epsilons", of="numbers"):
        privacy = Privacy.of(epsilon=value, adjacency=adjacency)
        rows += [_row(privacy, name, errors.at(name, privacy)) for name in plain]
        certificate = certified.get(privacy.epsilon)
        if certificate is not None:
            certificate.verify_for(language, privacy, certificate.mechanism)
            found = errors.offline(certificate.mechanism, certificate.exponent)
            rows.append(_row(privacy, CALIBRATED, found))
        elif CALIBRATED in names:
            raise InvalidArgument(
                f"certificates: {CALIBRATED!r} needs one for epsilon {privacy.epsilon}; certify"
                " makes it"
            )
    return rows


def _row(privacy: Privacy, name: str, found: Moments) -> Comparison:
    deviation = float(np.sqrt(found.variance))
    return Comparison(privacy.epsilon, name, found.mean, deviation, found.unchanged)

"""Theorem 2: bounds on the expected error when every word is feasible."""

from __future__ import annotations

from typing import NamedTuple

from dpauto.arguments import whole_number
from dpauto.laws.cells import Cells
from dpauto.laws.race import gains
from dpauto.privacy import Epsilon, Privacy

__all__ = ["Bounds", "bounds"]


class Bounds(NamedTuple):
    """Expected number of wrong symbols of permute-and-flip on all words, and what encloses it.

    Attributes
    ----------
    lower : float
        max(0, gruss, upper / 2).
    exact : float
        The expected error.
    upper : float
        The exponential mechanism's expected error, n C / (1 + C).
    gruss : float
        The theorem's lower bound as it is; it may be negative.
    """

    lower: float
    exact: float
    upper: float
    gruss: float


def bounds(length: int, alphabet_size: int, epsilon: Epsilon, adjacency: int) -> Bounds:
    """Return the expected error of permute-and-flip on all words, with its bounds.

    Parameters
    ----------
    length, alphabet_size : int
        n and m, at least 1; the cost is linear in n, so n = 10**5 takes about a second.
    epsilon : int, float, Fraction or str
        Positive.
    adjacency : int
        b, at least 1.

    Returns
    -------
    Bounds
        (lower, exact, upper, gruss). The values are accurate to a few units of 1e-15 relative to
        `upper`.

    Raises
    ------
    InvalidArgument
        If a parameter is out of range.

    Notes
    -----
    Let C = (m - 1) exp(-epsilon / (2 b)), let x be the exponential mechanism's law, Binomial(n,
    C / (1 + C)), and Phi(l) the integral of Mechanism 1 (Benvenuti, Rao and Hale, arXiv 2603.28903,
    Theorem 2). Then

        E[l] = E_x[l] + Cov_x(l, Phi) / E_x[Phi]
             >= n C / (1 + C) - (n / 4) (1 + C)^n (Phi(0) - Phi(n))        (Grüss' inequality).

    With Z = (1 + C)^n and G_l = Z Phi(l) - const = integral of F(u) y_l u / (1 - y_l u) du, the
    covariance is -sum_l x_l G_l (E_x[l] - l), and Z (Phi(0) - Phi(n)) = G_0 - G_n: no power of
    1 + C is ever formed, and no large numbers are subtracted.

    That E[l] >= upper / 2, on any language for a feasible word, follows from 1 - p t >= (1 - t)^p.

    Examples
    --------
    >>> lower, exact, upper, gruss = bounds(10, 26, 10, 1)
    >>> f"{lower:.4f} <= {exact:.4f} <= {upper:.4f}"
    '0.7208 <= 1.3503 <= 1.4416'
    """
    n = whole_number(length, name="length")
    m = whole_number(alphabet_size, name="alphabet_size")
    privacy = Privacy.of(epsilon=epsilon, adjacency=adjacency)
    cells = Cells.all_words(n, m, privacy.exponent)
    gain = gains(cells)
    upper = float(cells.share @ cells.cost)
    exact = upper - float((cells.share * gain) @ (upper - cells.cost))
    gruss = upper - n / 4 * float(gain[0] - gain[n])
    return Bounds(max(0.0, gruss, upper / 2), exact, upper, gruss)

"""The names of mechanisms in text: at the command line, in tables, plans and certificates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dpauto.arguments import one_of

__all__ = [
    "CALIBRATED",
    "CERTIFIABLE",
    "EVERY_NAME",
    "EXPONENTIAL",
    "OFFLINE",
    "ONLINE",
    "PERMUTE_AND_FLIP",
    "UNCERTIFIED",
    "parse_mechanism",
]

PERMUTE_AND_FLIP: Final = "permute-and-flip"
EXPONENTIAL: Final = "exponential"
ONLINE: Final = "online"
#: The better one of those that a certificate can be for, with its certificate.
CALIBRATED: Final = "calibrated"

#: The mechanisms that weigh whole words: only they take costs or a certificate.
OFFLINE: Final = (PERMUTE_AND_FLIP, EXPONENTIAL)
#: What runs without a certificate, in the order of tables.
UNCERTIFIED: Final = (*OFFLINE, ONLINE)
#: What `certify` takes; its default comes first.
CERTIFIABLE: Final = (EXPONENTIAL, PERMUTE_AND_FLIP, CALIBRATED)
EVERY_NAME: Final = (*UNCERTIFIED, CALIBRATED)


def parse_mechanism(name: str, known: Sequence[str] = EVERY_NAME) -> str:
    """Return the name of a mechanism if it is one of those that are known here.

    Raises
    ------
    InvalidArgument
        If it is not; the message lists them.

    Examples
    --------
    >>> parse_mechanism("online")
    'online'
    """
    return one_of(name, known, name="mechanism")

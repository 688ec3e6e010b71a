"""A mechanism by its name in text, built for a language when its length is known."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from dpauto.errors import InvalidArgument
from dpauto.formats.costtable import parse_costs
from dpauto.formats.files import open_text
from dpauto.formats.symbols import SymbolTexts
from dpauto.names import CALIBRATED, ONLINE, PERMUTE_AND_FLIP, parse_mechanism
from dpauto.privacy import Privacy
from dpauto.randomness import encode
from dpauto.words import Costs

if TYPE_CHECKING:
    from dpauto.calibration import Certificate
    from dpauto.language import Language
    from dpauto.mechanisms import Mechanism
    from dpauto.words import Symbol

__all__ = ["MechanismChoice"]


@dataclass(frozen=True)
class _CostFile:
    """A table of costs that waits for the symbols it is about."""

    name: str
    content: str

    @classmethod
    def read(cls, name: str) -> _CostFile:
        with open_text(name) as lines:
            return cls(name, lines.read())

    def parse(self, texts: SymbolTexts) -> dict[tuple[Symbol, Symbol], Fraction]:
        return parse_costs(io.StringIO(self.content, newline=""), self.name, texts)


class MechanismChoice:
    """A mechanism by its name in text, to be built for every length.

    Parameters
    ----------
    name : str
        "permute-and-flip", "exponential", "online" or "calibrated" (the better certified one).
    privacy : Privacy
    costs : str, Costs, mapping or integer matrix, optional
        Public symbol costs, or the CSV file that holds them.
    certificate : str or Certificate, optional
        A certificate or its file, for the one length that it was made for.

    Raises
    ------
    InvalidArgument
        If the options do not go together.
    InvalidCertificate
        If the certificate's file is damaged.
    OSError
        If a file cannot be opened.

    Notes
    -----
    Files are read here and now: whoever builds the mechanisms may run on another machine.
    """

    def __init__(
        self,
        name: str,
        privacy: Privacy,
        *,
        costs: Any = None,
        certificate: str | Certificate | None = None,
    ) -> None:
        parse_mechanism(name)
        if name == ONLINE and (costs is not None or certificate is not None):
            raise InvalidArgument("the online mechanism has neither costs nor a certificate")
        if costs is not None and (certificate is not None or name == CALIBRATED):
            raise InvalidArgument("costs and a certificate exclude each other")
        self.name, self.privacy = name, privacy
        self._costs = _CostFile.read(costs) if isinstance(costs, str) else costs
        if isinstance(certificate, str):
            from dpauto.calibration import Certificate

            certificate = Certificate.load(certificate)
        self._certificate = certificate

    def digest(self) -> bytes:
        """Return a SHA-256 of everything that decides which mechanism is built for a language.

        Raises
        ------
        InvalidArgument
            If the costs are a function.
        """
        costs = self._costs
        if isinstance(costs, Costs):
            told = encode(costs.denominator, costs.matrix.tobytes(), costs.alphabet.digest)
        elif isinstance(costs, _CostFile):
            told = encode(costs.content)
        elif isinstance(costs, Mapping):
            told = encode(*sorted(repr(item) for item in costs.items()))
        elif costs is None:
            told = b""
        elif callable(costs):
            raise InvalidArgument(
                "costs: a function cannot be compared with that of an earlier run; give a table"
            )
        else:
            told = encode(repr(np.asarray(costs).tolist()))
        epsilon = self.privacy.epsilon
        certificate = None if self._certificate is None else repr(self._certificate)
        return hashlib.sha256(
            encode(
                *(self.name, epsilon.numerator, epsilon.denominator, self.privacy.adjacency),
                *(told, certificate),
            )
        ).digest()

    def build(self, language: Language, texts: SymbolTexts) -> Mechanism:
        """Return the mechanism for a language.

        Raises
        ------
        InvalidCertificate
            If the certificate is another language's.
        InvalidFile
            If the costs do not fit the alphabet.
        """
        from dpauto.mechanisms import Exponential, Online, PermuteAndFlip

        promise: dict[str, Any] = {
            "epsilon": self.privacy.epsilon,
            "adjacency": self.privacy.adjacency,
        }
        if self.name == ONLINE:
            return Online(language, **promise)
        name = self.name
        certificate = self._certificate
        if name == CALIBRATED:
            if certificate is None:
                from dpauto.calibration import certify

                certificate = certify(language, mechanism=name, **promise)
            name = certificate.mechanism
        if self._costs is not None:
            given = self._costs
            promise["costs"] = given.parse(texts) if isinstance(given, _CostFile) else given
        kind = PermuteAndFlip if name == PERMUTE_AND_FLIP else Exponential
        return kind(language, certificate=certificate, **promise)

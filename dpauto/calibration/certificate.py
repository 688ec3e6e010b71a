"""Certificates: proofs that a language allows a larger exponent, as values to keep and check."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, field, fields
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpauto.calibration.proof import Budget, Prover
from dpauto.errors import InvalidArgument, InvalidCertificate, InvalidFile
from dpauto.language import Language
from dpauto.names import OFFLINE
from dpauto.outputs import writing
from dpauto.privacy import Privacy, parse_adjacency, parse_epsilon

__all__ = ["Certificate"]

SCHEMA = 1
KIND = "dpauto-certificate"


@dataclass(frozen=True)
class Certificate:
    """A proven bound on a mechanism's privacy loss at an exponent above epsilon / (2 b).

    `certify` makes it, a mechanism takes it as ``certificate=…``. It depends on public data only
    and serves every word of the language. The promise is narrower than without it: both words of
    an adjacent pair are words of the language.

    Attributes
    ----------
    language : str
        Fingerprint of the language.
    length : int
        n, the length of its words.
    epsilon : Fraction
    adjacency : int
        b.
    mechanism : str
        "exponential" or "permute-and-flip".
    exponent : Fraction
        A word at distance d weighs exp(-exponent d).
    loss : Fraction
        Proven bound on the privacy loss between feasible words within b substitutions; at most
        epsilon.
    method : str
        The bound that proves it.
    budget : Budget
        The work that the proof was allowed, and that `check` needs.

    Examples
    --------
    >>> from dpauto import Exponential, Language, certify
    >>> language = Language.all_words("abc", 5)
    >>> certificate = certify(language, epsilon=2, adjacency=2)
    >>> certificate.exponent, certificate.loss
    (Fraction(1, 1), Fraction(2, 1))
    >>> Exponential(language, epsilon=2, adjacency=2, certificate=certificate).exponent
    Fraction(1, 1)
    """

    language: str
    length: int
    epsilon: Fraction
    adjacency: int
    mechanism: str
    exponent: Fraction
    loss: Fraction
    method: str
    budget: Budget = field(default_factory=Budget)

    def __post_init__(self) -> None:
        if self.mechanism not in OFFLINE:
            raise InvalidCertificate("mechanism must be 'exponential' or 'permute-and-flip'")
        if not 0 < self.loss <= self.epsilon:
            raise InvalidCertificate("loss must be positive and at most epsilon")
        if self.exponent < self.privacy.exponent:
            raise InvalidCertificate("exponent must be at least epsilon / (2 adjacency)")

    @property
    def privacy(self) -> Privacy:
        """What is promised."""
        return Privacy(self.epsilon, self.adjacency)

    @property
    def gain(self) -> float:
        """The exponent, divided by epsilon / (2 b): 1 is no gain, and 2 the most on all words."""
        return float(self.exponent / self.privacy.exponent)

    def verify_for(self, language: Language, privacy: Privacy, mechanism: str) -> None:
        """Raise InvalidCertificate unless this certificate is for these very things.

        Parameters
        ----------
        language : Language
        privacy : Privacy
        mechanism : str

        Raises
        ------
        InvalidCertificate
            Naming what differs.
        """
        if self.mechanism != mechanism:
            raise InvalidCertificate(f"certificate is for {self.mechanism}, not for {mechanism}")
        if self.epsilon != privacy.epsilon:
            raise InvalidCertificate(
                f"certificate is for epsilon {self.epsilon}, not for {privacy.epsilon}"
            )
        if self.adjacency != privacy.adjacency:
            raise InvalidCertificate(
                f"certificate is for adjacency {self.adjacency}, not for {privacy.adjacency}"
            )
        self._verify_language(language)

    def _verify_language(self, language: Language) -> None:
        if self.length != language.length:
            raise InvalidCertificate(
                f"certificate is for words of length {self.length}, not {language.length}"
            )
        if self.language != language.fingerprint:
            raise InvalidCertificate(
                "certificate is for another language: the model or its alphabet differs"
            )

    def check(self, language: Language) -> None:
        """Prove the bound again, at the stated exponent and without any search.

        Parameters
        ----------
        language : Language

        Raises
        ------
        InvalidCertificate
            If the language is another one, or the stated loss cannot be proven.
        """
        self._verify_language(language)
        prover = Prover(language, self.privacy, self.mechanism, self.budget)
        proof = prover.prove(self.exponent, self.loss)
        if proof.loss > self.loss:
            raise InvalidCertificate(
                f"the stated loss cannot be proven at the stated exponent; the bound found is"
                f" {float(proof.loss):.6g}"
            )

    # -- files -----------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the certificate as JSON; an existing file is replaced at once or not at all.

        Parameters
        ----------
        path : str or path

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        content = self._content()
        content["digest"] = _digest(content)
        with writing(os.fspath(path)) as file:
            file.write(json.dumps(content, indent=2).encode() + b"\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Certificate:
        """Read a certificate that `save` wrote.

        Parameters
        ----------
        path : str or path

        Raises
        ------
        OSError
            If the file cannot be read.
        InvalidFile
            If the file is not JSON.
        InvalidCertificate
            If it is no certificate, is of a newer schema, or has been changed.
        """
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
        except ValueError:
            raise InvalidFile("certificate: the file must hold JSON") from None
        if not isinstance(content, dict) or content.get("kind") != KIND:
            raise InvalidCertificate("the file holds no certificate")
        if content.get("schema") != SCHEMA:
            raise InvalidCertificate(f"certificate must have schema {SCHEMA}")
        digest = content.pop("digest", None)
        if digest != _digest(content):
            raise InvalidCertificate("certificate has been changed: its digest does not fit")
        try:
            return cls._from(content)
        except (KeyError, TypeError, ValueError, InvalidArgument) as error:
            if isinstance(error, InvalidCertificate):
                raise
            raise InvalidCertificate("certificate lacks an entry, or has an invalid one") from None

    def _content(self) -> dict[str, Any]:
        return {
            "kind": KIND,
            "schema": SCHEMA,
            "language": self.language,
            "length": self.length,
            "epsilon": str(self.epsilon),
            "adjacency": self.adjacency,
            "mechanism": self.mechanism,
            "exponent": str(self.exponent),
            "loss": str(self.loss),
            "method": self.method,
            "budget": {part.name: getattr(self.budget, part.name) for part in fields(Budget)},
        }

    @classmethod
    def _from(cls, content: dict[str, Any]) -> Certificate:
        budget = {part.name: int(content["budget"][part.name]) for part in fields(Budget)}
        return cls(
            language=str(content["language"]),
            length=int(content["length"]),
            epsilon=parse_epsilon(content["epsilon"]),
            adjacency=parse_adjacency(content["adjacency"]),
            mechanism=str(content["mechanism"]),
            exponent=parse_epsilon(content["exponent"], name="exponent"),
            loss=parse_epsilon(content["loss"], name="loss"),
            method=str(content["method"]),
            budget=Budget(**budget),
        )


def _digest(content: dict[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()

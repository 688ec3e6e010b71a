"""A model, how its runs are observed and what it is called: all that languages come from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from dpauto.errors import DpautoError, EmptyLanguage, InvalidArgument
from dpauto.formats.rows import transition_rows
from dpauto.formats.wordsets import EveryWord, WordList
from dpauto.language import Language
from dpauto.models import MDP, NFA, MarkovChain

__all__ = ["ObservedModel"]


class ObservedModel:
    """A model with what its languages need besides the length.

    Parameters
    ----------
    model : NFA, MarkovChain, MDP, Language or anything that has ``language(length)``
        A `Language` serves words of its own length.
    observe : {"states", "actions", "both"}, optional
        What a symbol is in an MDP.
    name : str, optional
        What to call the model in errors.

    Raises
    ------
    InvalidArgument
        If `model` is none, or `observe` asks for actions that it does not have.
    """

    def __init__(self, model: Any, *, observe: str = "states", name: str = "model") -> None:
        if not isinstance(model, Language) and not callable(getattr(model, "language", None)):
            raise InvalidArgument(
                "model must be an NFA, MarkovChain, MDP or Language, or the name of a model's file"
            )
        self.model, self.name = model, name
        self._options: dict[str, Any] = {}
        if isinstance(model, MDP):
            self._options["observe"] = observe
        elif observe != "states":
            raise InvalidArgument("observe: only MDPs have actions to observe")

    def language(self, length: int) -> Language:
        """Return the language of a length.

        Raises
        ------
        DpautoError
            As the model's own method does, with the model's name in front where it is not about
            the length.
        """
        if isinstance(self.model, Language):
            if length != self.model.length:
                raise EmptyLanguage(f"length: the language has words of length {self.model.length}")
            return self.model
        try:
            language: Language = self.model.language(length, **self._options)
        except DpautoError as error:
            text = str(error)
            if text.startswith("length"):
                raise
            raise type(error)(f"{self.name}: {text}") from None
        return language

    def digest(self) -> bytes:
        """Return a SHA-256 that tells models apart, the same in every process.

        Raises
        ------
        InvalidArgument
            If the model is of a kind that has none.
        """
        whole = hashlib.sha256(repr(sorted(self._options.items())).encode())
        for row in _content(self.model):
            content = repr(row).encode()
            whole.update(len(content).to_bytes(8, "big") + content)
        return whole.digest()


def _content(model: Any) -> Iterable[object]:
    """Yield what a model is made of, in an order that does not depend on the process."""
    if isinstance(model, Language):
        return ["language", model.fingerprint]
    if isinstance(model, EveryWord):
        return ["all", *model.alphabet]
    if isinstance(model, WordList):
        return ["words", *model.words_by_length.items()]
    if isinstance(model, NFA):
        alphabet = list(model.alphabet)
        order = {state: k for k, state in enumerate(model.states)}
        final = sorted(order[state] for state in model.final)
        return ["nfa", order, alphabet, model.initial, final, *transition_rows(model)]
    if isinstance(model, MarkovChain | MDP):
        kind = type(model).__name__
        return [kind, list(model.states), model.initial, *transition_rows(model)]
    raise InvalidArgument("model: a model of another kind cannot be compared with an earlier run's")

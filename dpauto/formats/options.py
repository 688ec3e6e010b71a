"""What the readers of models may be told besides the file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from dpauto.formats.wordsets import EveryWord, WordList
    from dpauto.models import MDP, NFA, MarkovChain

__all__ = ["Model", "ModelOptions"]

#: Everything that has ``language(length)``.
Model: TypeAlias = "NFA | MarkovChain | MDP | EveryWord | WordList"


@dataclass(frozen=True)
class ModelOptions:
    """Options of `dpauto.formats.read_model`, which documents them."""

    links: bool = False
    initial: str | None = None
    alphabet: Sequence[str] | None = None
    after: str | None = None
    separator: str | None = None

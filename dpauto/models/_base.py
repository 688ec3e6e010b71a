"""What all models share: immutability, equality by content, pickling and display."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn, Self

import numpy as np

from dpauto.display import Drawable
from dpauto.words import IntArray

__all__ = ["Model"]


class Model(Drawable):
    """An immutable model; two are equal if they have the same content in the same order.

    Subclasses name in `_FIELDS` the attributes that make up the value. Anything else in an instance
    is derived from those, cached, and left out when the model is pickled or compared.
    """

    _FIELDS: ClassVar[tuple[str, ...]]

    # The head of every transition, in the order that the subclass defines.
    _head: IntArray

    @property
    def number_of_transitions(self) -> int:
        """How many transitions there are; found without building the graph."""
        return len(self._head)

    @classmethod
    def _new(cls, **fields: Any) -> Self:
        model = object.__new__(cls)
        model.__setstate__(fields)
        return model

    def __setstate__(self, state: dict[str, Any]) -> None:
        for value in state.values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
        self.__dict__.update(state)

    def __getstate__(self) -> dict[str, Any]:
        return {name: self.__dict__[name] for name in self._FIELDS}

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable: build a new one")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable: build a new one")

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        pairs = [(self.__dict__[name], other.__dict__[name]) for name in self._FIELDS]
        return all(
            np.array_equal(a, b) if isinstance(a, np.ndarray) else bool(a == b) for a, b in pairs
        )

    def __hash__(self) -> int:
        if "_hash" not in self.__dict__:
            values = [self.__dict__[name] for name in self._FIELDS]
            content = tuple(v.tobytes() if isinstance(v, np.ndarray) else v for v in values)
            self.__dict__["_hash"] = hash((type(self).__name__, content))
        return int(self.__dict__["_hash"])

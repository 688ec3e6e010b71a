"""Sources of random bits, and the tape of uniforms that one release reads from.

A release takes its decisions on finitely many uniform reals, each an endless string of bits of
which only the first are read (`Tape`). When those do not decide, the same release is run again on
*the same bits*, extended. So a source must give every uniform a string that can be continued later,
whatever the others read meanwhile.

Where the bits come from is a `BitSource`: the operating system, a seed (for experiments) or a key
(for pipelines, where a retried task must repeat its release and not make a second one).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Hashable, Sequence
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dpauto.arguments import warn
from dpauto.errors import DuplicateRecord, InvalidArgument, NotPrivateWarning

__all__ = [
    "BitSource",
    "KeyedBits",
    "Random",
    "SeededBits",
    "SystemBits",
    "Tape",
    "as_source",
    "encode",
]

WORD_BITS = 64


def encode(*parts: object) -> bytes:
    """Return an injective encoding of nested tuples of bytes, str, int and None.

    Each part is a type letter, a length and its content, so that no two different inputs share an
    encoding: ("ab", "c") and ("a", "bc") do not.

    Raises
    ------
    InvalidArgument
        If a part has another type.
    """
    out = []
    for part in parts:
        if part is None:
            kind, content = b"n", b""
        elif isinstance(part, bytes):
            kind, content = b"b", part
        elif isinstance(part, str):
            kind, content = b"s", part.encode("utf-8", "surrogatepass")
        elif isinstance(part, int | np.integer) and not isinstance(part, bool):
            kind, content = b"i", str(int(part)).encode()
        elif isinstance(part, tuple):
            kind, content = b"t", encode(*part)
        else:
            raise InvalidArgument(
                f"record must be an int, a str, bytes or a tuple of them, not {type(part).__name__}"
            )
        out += [kind, len(content).to_bytes(8, "big"), content]
    return b"".join(out)


@runtime_checkable
class BitSource(Protocol):
    """Where random bits come from.

    Attributes
    ----------
    private : bool
        Whether a release drawn from it is private.
    """

    private: bool

    def seeds(
        self, contexts: Sequence[bytes], records: Sequence[Hashable] | None
    ) -> list[bytes | None]:
        """Return the seed of each release's tape, or None where the system's generator serves.

        `contexts` encode all that a release depends on; `records` are the ids of the words.
        """
        ...


class SystemBits:
    """Bits of the operating system's cryptographic generator: the default.

    Examples
    --------
    >>> SystemBits().private
    True
    """

    private = True

    def seeds(
        self, contexts: Sequence[bytes], records: Sequence[Hashable] | None
    ) -> list[bytes | None]:
        """Return None for every release: each tape asks the system itself."""
        return [None] * len(contexts)

    def __repr__(self) -> str:
        return "SystemBits()"


class SeededBits:
    """Reproducible bits for experiments; a release drawn from them is not private.

    Every release takes the next number of the sequence, so asking twice gives two releases, and
    mechanisms that share a seed do not share noise.

    Parameters
    ----------
    seed : int

    Raises
    ------
    InvalidArgument
        If `seed` is not an integer.
    """

    private = False

    def __init__(self, seed: int) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
            raise InvalidArgument("seed must be an integer")
        warn(
            "random bits come from a seed: the release is reproducible and not private",
            NotPrivateWarning,
        )
        self._seed = int(seed)
        self._used = 0

    def seeds(
        self, contexts: Sequence[bytes], records: Sequence[Hashable] | None
    ) -> list[bytes | None]:
        """Return one seed per release, from the running number of the release."""
        first, self._used = self._used, self._used + len(contexts)
        return [
            _digest(encode("seeded", self._seed, first + k, context))
            for k, context in enumerate(contexts)
        ]

    def __repr__(self) -> str:
        return "SeededBits(...)"


class KeyedBits:
    """Bits derived from a secret key and a record id: asked twice, the same release comes out.

    A retried task thus spends nothing. The bits depend on *all* that the release depends on (key,
    record, word, mechanism, epsilon, adjacency, costs, certificate and language), because the same
    bits at two values of epsilon would make an unbounded loss.

    Parameters
    ----------
    key : bytes
        At least 16 secret bytes from a good generator, such as ``secrets.token_bytes(32)``. Whoever
        learns it can undo every release.

    Raises
    ------
    InvalidArgument
        If `key` is not bytes or is too short.

    Notes
    -----
    SHAKE-256 of an injective encoding, used as an extendable-output function.
    """

    private = True

    def __init__(self, key: bytes) -> None:
        if not isinstance(key, bytes | bytearray) or len(key) < 16:
            raise InvalidArgument(
                "key must be at least 16 bytes, for example secrets.token_bytes(32)"
            )
        self._key = bytes(key)

    def seeds(
        self, contexts: Sequence[bytes], records: Sequence[Hashable] | None
    ) -> list[bytes | None]:
        """Return one seed per release.

        Raises
        ------
        InvalidArgument
            If a record id is missing.
        DuplicateRecord
            If an id occurs twice.
        """
        if records is None or len(records) != len(contexts) or any(r is None for r in records):
            raise InvalidArgument(
                "record must be given with KeyedBits: one distinct id for each word"
            )
        # Compared as encoded: that is what the bits depend on.
        ids = [encode(record) for record in records]
        if len(set(ids)) != len(ids):
            raise DuplicateRecord(
                "record ids must be distinct: two words would share their random bits"
            )
        return [
            _digest(encode("keyed", self._key, record, context))
            for record, context in zip(ids, contexts, strict=True)
        ]

    def __repr__(self) -> str:
        return "KeyedBits(...)"


Random: TypeAlias = BitSource | np.random.Generator | int | None


def as_source(rng: Random) -> BitSource:
    """Return the bit source that `rng` stands for.

    Parameters
    ----------
    rng : None, int, numpy.random.Generator or BitSource
        None is the system's generator. A seed or a generator is reproducible and not private
        (`NotPrivateWarning`).

    Raises
    ------
    InvalidArgument
        If `rng` is something else.
    """
    if rng is None:
        return SystemBits()
    if isinstance(rng, np.random.Generator):
        return SeededBits(int.from_bytes(rng.bytes(32), "big"))
    if isinstance(rng, int | np.integer) and not isinstance(rng, bool):
        return SeededBits(int(rng))
    if isinstance(rng, BitSource):
        return rng
    raise InvalidArgument("rng must be None, an int seed, a numpy Generator or a bit source")


def _digest(content: bytes) -> bytes:
    return hashlib.shake_256(b"dpauto/1:" + content).digest(32)


class Tape:
    """The uniform reals of one release, in the order in which its decisions read them.

    Uniform k is an endless bit string. `rewind` starts the release again on the same strings, read
    to more bits.

    Parameters
    ----------
    seed : bytes or None
        Seed of SHAKE-256, or None for the system's generator.
    """

    __slots__ = ("_extensions", "_next", "_seed", "_words", "bits")

    def __init__(self, seed: bytes | None) -> None:
        self._seed = seed
        self._words: NDArray[np.uint64] = np.empty(0, dtype=np.uint64)
        self._extensions: dict[int, list[int]] = {}
        self._next = 0
        #: How many bits of each uniform are read now.
        self.bits = WORD_BITS

    def rewind(self, bits: int) -> None:
        """Go back to the first uniform, and read `bits` bits of each from now on."""
        self._next = 0
        self.bits = bits

    def uniform(self) -> tuple[int, int]:
        """Return (u, bits): the next uniform lies in [u, u + 1] / 2**bits."""
        return self.at(self.reserve(1))

    def reserve(self, count: int) -> int:
        """Set the next `count` uniforms aside, to be read by number; return the first number."""
        first = self._next
        self._next += count
        return first

    def at(self, index: int) -> tuple[int, int]:
        """Return (u, bits) of the uniform with this number."""
        if index >= len(self._words):
            self._provide(index + 1)
        return self._read(index, self.bits), self.bits

    def uniforms(self, count: int) -> NDArray[np.uint64]:
        """Return the first 64 bits of the next `count` uniforms, shape (count,)."""
        return self.leading(self.reserve(count), count)

    def leading(self, first: int, count: int) -> NDArray[np.uint64]:
        """Return the first 64 bits of `count` uniforms from number `first` on, shape (count,)."""
        self._provide(first + count)
        return self._words[first : first + count]

    def below(self, bound: int) -> int:
        """Return floor(U * bound), uniform on 0 … bound - 1, reading as much of U as it takes."""
        index = self._next
        u, bits = self.uniform()
        while u * bound >> bits != ((u + 1) * bound - 1) >> bits:
            bits += max(self.bits, bound.bit_length())
            u = self._read(index, bits)
        return u * bound >> bits

    def below_many(self, count: int, bound: int) -> NDArray[np.int64]:
        """Return `count` draws of `below`, shape (count,); `bound` is at most 2**32."""
        first = self._next
        u = self.uniforms(count)
        low = (u & np.uint64(0xFFFFFFFF)) * np.uint64(bound)
        high = (u >> np.uint64(32)) * np.uint64(bound) + (low >> np.uint64(32))
        drawn = (high >> np.uint64(32)).astype(np.int64)
        # The next u may give a larger one only if the product's last 64 bits are near full.
        for k in np.flatnonzero(u * np.uint64(bound) > np.uint64(2**64 - bound)).tolist():
            self._next = first + k
            drawn[k] = self.below(bound)
        self._next = first + count
        return drawn

    def _provide(self, count: int) -> None:
        """Have at least `count` words; word k depends on k alone, not on how many are asked for."""
        while count > len(self._words):
            have = len(self._words)
            fresh = self._fresh(("main", have), max(have, 16))
            self._words = np.concatenate((self._words, fresh))

    def _read(self, index: int, bits: int) -> int:
        """Return the first `bits` bits of uniform number `index`."""
        value, have = int(self._words[index]), WORD_BITS
        if bits > have:
            more = self._extensions.setdefault(index, [])
            while bits > have + WORD_BITS * len(more):
                more += self._fresh(("more", index, len(more)), 4).tolist()
            for word in more:
                value = value << WORD_BITS | word
            have += WORD_BITS * len(more)
        return value >> (have - bits)

    def _fresh(self, place: tuple[object, ...], count: int) -> NDArray[np.uint64]:
        """Return `count` new 64-bit words; with a seed they depend on the place alone."""
        size = 8 * count
        if self._seed is None:
            raw = os.urandom(size)
        else:
            raw = hashlib.shake_256(self._seed + encode(*place)).digest(size)
        return np.frombuffer(raw, dtype="<u8").astype(np.uint64, copy=False)

"""Files that are written all or nothing.

Output is written beside its place and renamed when it is complete, so that a reader never meets
half a file and a failed run leaves the old one as it was.
"""

from __future__ import annotations

import errno
import gzip
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import BinaryIO, cast

__all__ = ["writing"]


@contextmanager
def writing(name: str, *, beside: str | None = None) -> Iterator[BinaryIO]:
    """Open a file for writing bytes that appears under its name only when all went well.

    With "-" or a device the bytes go there directly. A name that ends in ``.gz`` is compressed,
    without a time stamp, so that equal content gives equal files.

    Parameters
    ----------
    name : str
    beside : str, optional
        File that holds the bytes until they are complete; by default one with a new random name.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    if name == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    # Through a symbolic link the file it points to is replaced, not the link.
    place = os.path.realpath(name)
    if os.path.exists(place) and not stat.S_ISREG(os.stat(place).st_mode):
        if os.path.isdir(place):
            raise IsADirectoryError(errno.EISDIR, "a folder, not a file", name)
        with open(place, "wb") as device:
            yield device
        return
    folder, base = os.path.split(place)
    try:
        if beside is None:
            handle, beside = tempfile.mkstemp(prefix=f".{base}.", suffix=".part", dir=folder)
        else:
            handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, name) from None
    with ExitStack() as undo:
        undo.callback(_remove, beside)
        with os.fdopen(handle, "wb") as raw:
            if name.lower().endswith(".gz"):
                with gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as packed:
                    yield cast(BinaryIO, packed)
            else:
                yield raw
        os.chmod(beside, _mode(place))
        os.replace(beside, place)
        undo.pop_all()


def _remove(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)


def _mode(place: str) -> int:
    """Return the permissions of the file that is replaced, or those that a new file gets."""
    if os.path.exists(place):
        return stat.S_IMODE(os.stat(place).st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask

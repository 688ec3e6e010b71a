"""Transition matrices in numpy's and scipy's files (.npy, .npz); states are 0, 1, …."""

from __future__ import annotations

import zipfile
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from dpauto.errors import InvalidFile
from dpauto.formats.files import read_bytes
from dpauto.formats.options import ModelOptions
from dpauto.formats.steps import Steps

if TYPE_CHECKING:
    from dpauto.models import MarkovChain

__all__ = ["read_matrix_file"]


def read_matrix_file(name: str, options: ModelOptions) -> MarkovChain:
    """Read a matrix saved by numpy.save, numpy.savez (one array) or scipy.sparse.save_npz.

    Pickled objects are refused: loading them would run code.

    Raises
    ------
    InvalidFile
        If the file holds something else, or the matrix is not square and stochastic.
    """
    matrix = _load(name, read_bytes(name))
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.dtype.kind not in "biuf":
        raise InvalidFile(
            f"{name}: the array must be a square matrix of real numbers, not {matrix.dtype} of"
            f" shape {matrix.shape}"
        )
    from scipy.sparse import coo_array

    triplets = coo_array(matrix)
    tail, head = (np.asarray(index, dtype=np.int64) for index in triplets.coords)
    return Steps(
        range(matrix.shape[0]),
        tail,
        head,
        triplets.data.astype(float),
        rows=tail.tolist(),
        file=name,
    ).chain(options.initial)


def _load(name: str, content: bytes) -> Any:
    try:
        if not zipfile.is_zipfile(BytesIO(content)):
            return np.load(BytesIO(content), allow_pickle=False)
        with np.load(BytesIO(content), allow_pickle=False) as archive:
            keys = list(archive.files)
            if "format" in keys and "shape" in keys:
                from scipy.sparse import load_npz

                return load_npz(BytesIO(content))
            if len(keys) != 1:
                raise InvalidFile(f"{name}: the archive holds {len(keys)} arrays; save one matrix")
            return archive[keys[0]]
    except InvalidFile:
        raise
    except (ValueError, EOFError, OSError, KeyError, zipfile.BadZipFile):
        raise InvalidFile(f"{name}: not a matrix that numpy or scipy saved") from None

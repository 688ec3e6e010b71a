"""Backward passes and forward walks on arrays, in float64 with proven bounds and in balls."""

from dpauto.passes.layers import BallLayers, FloatLayers, Layers, Undecided, uniform_ball
from dpauto.passes.nearest import Leaving, Nearest, NearestWords, WordItself
from dpauto.passes.weights import Weights

__all__ = [
    "BallLayers",
    "FloatLayers",
    "Layers",
    "Leaving",
    "Nearest",
    "NearestWords",
    "Undecided",
    "Weights",
    "WordItself",
    "uniform_ball",
]

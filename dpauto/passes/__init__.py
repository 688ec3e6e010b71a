"""Backward passes and forward walks on arrays, in float64 with proven bounds and in balls."""

from dpauto.passes.balls import BallLayers
from dpauto.passes.corridor import Corridor, CorridorBalls, CorridorFloats, radius_for
from dpauto.passes.draws import FloatLayers, draw_outside
from dpauto.passes.floating import FloatPass
from dpauto.passes.layers import Layers, Undecided, uniform_ball
from dpauto.passes.nearest import Leaving, Nearest, NearestWords, words_themselves
from dpauto.passes.weights import Weights

__all__ = [
    "BallLayers",
    "Corridor",
    "CorridorBalls",
    "CorridorFloats",
    "FloatLayers",
    "FloatPass",
    "Layers",
    "Leaving",
    "Nearest",
    "NearestWords",
    "Undecided",
    "Weights",
    "draw_outside",
    "radius_for",
    "uniform_ball",
    "words_themselves",
]

"""Mechanisms: how a sensitive word becomes a released one."""

from dpauto.mechanisms.base import Mechanism
from dpauto.mechanisms.exponential import Exponential
from dpauto.mechanisms.online import Online
from dpauto.mechanisms.permute_and_flip import PermuteAndFlip

__all__ = ["Exponential", "Mechanism", "Online", "PermuteAndFlip"]

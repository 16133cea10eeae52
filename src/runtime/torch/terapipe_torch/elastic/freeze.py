"""How many layers are frozen in an epoch, from the bottom. The rules of `terapipe elastic`, on the norms of the run itself."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Protocol

from terapipe_torch.errors import RuntimeRefusal

# of each epoch so far, one a layer; None where the layer was frozen
Norms = Sequence[Sequence[float | None]]
# that a product of fractions may bring: 4.000000000000001 layers are 4
_rounding = 1e-9


class FreezeRule(Protocol):
    """Decides between epochs. The run never thaws a layer."""

    def frozen_layers(self, epoch: int, previous: int, norms: Norms) -> int:
        """Of an epoch, counted from 0, after `previous` of the epoch before."""


class AlphaRule:
    """PipeTransformer's schedule: after T epochs ceil(L (1 - (1 - alpha)^T)) of L layers (section 3.1). alpha 0 freezes nothing."""

    def __init__(self, layers: int, alpha: float) -> None:
        self.layers, self.alpha = layers, _fraction(alpha)

    def frozen_layers(self, epoch: int, previous: int, norms: Norms) -> int:
        return min(self.layers, _whole(self.layers * (1 - (1 - self.alpha) ** epoch)))


class GradientRule:
    """
    min(F + alpha (L - F), layers up to and with the one of the smallest norm in the epoch before); of equal norms
    the lowest layer counts (equation 1).
    """

    def __init__(self, layers: int, alpha: float) -> None:
        self.layers, self.alpha = layers, _fraction(alpha)

    def frozen_layers(self, epoch: int, previous: int, norms: Norms) -> int:
        if epoch == 0 or previous >= self.layers:
            return previous
        active = _active(norms, epoch - 1, previous)
        return min(_whole(previous + self.alpha * (self.layers - previous)), previous + active.index(min(active)) + 1)


class ChangeRule:
    """
    Up to and with the first layer whose norm changed, between the last two epochs, by at least the median of the
    layers left: the second rule of PipeTransformer's released code (freeze/auto_freeze.py).
    """

    def __init__(self, layers: int) -> None:
        self.layers = layers

    def frozen_layers(self, epoch: int, previous: int, norms: Norms) -> int:
        if epoch < 2 or previous >= self.layers:
            return previous
        pairs = zip(_active(norms, epoch - 1, previous), _active(norms, epoch - 2, previous), strict=True)
        changes = [0.0 if now == 0 or before == 0 else abs(before - now) / before for now, before in pairs]
        return previous + next(place for place, change in enumerate(changes) if change >= _median(changes)) + 1


class GivenRule:
    """As listed, one number an epoch; the last one holds on. Raises RuntimeRefusal for a list that falls or is too large."""

    def __init__(self, layers: int, listed: Sequence[int]) -> None:
        ascending = all(before <= after for before, after in itertools.pairwise(listed))
        if not listed or not ascending or not 0 <= listed[0] <= listed[-1] <= layers:
            raise RuntimeRefusal(f"frozenLayers must be ascending numbers from 0 to {layers}, one an epoch")
        self.listed = listed

    def frozen_layers(self, epoch: int, previous: int, norms: Norms) -> int:
        return self.listed[min(epoch, len(self.listed) - 1)]


def freeze_rule(name: str, layers: int, alpha: float, listed: Sequence[int]) -> FreezeRule:
    """By the name of `elastic.freezing`: alpha, gradients, changes or given. Raises RuntimeRefusal."""
    if name == "alpha":
        return AlphaRule(layers, alpha)
    if name == "gradients":
        return GradientRule(layers, alpha)
    if name == "changes":
        return ChangeRule(layers)
    if name == "given":
        return GivenRule(layers, listed)
    raise RuntimeRefusal(f"freezing is {name!r}, not alpha, gradients, changes or given")


def _active(norms: Norms, epoch: int, frozen: int) -> list[float]:
    """The norms of the layers left. Raises RuntimeRefusal where one is missing or not a number."""
    listed = [math.nan if norm is None else norm for norm in norms[epoch][frozen:]]
    missing = next((place for place, norm in enumerate(listed) if not math.isfinite(norm)), None)
    if missing is not None:
        raise RuntimeRefusal(f"layer {frozen + missing} has no gradient norm in epoch {epoch}")
    return listed


def _fraction(alpha: float) -> float:
    if not 0 <= alpha < 1:
        raise RuntimeRefusal(f"alpha is {alpha:g}: give it a number from 0 and below 1")
    return alpha


def _whole(layers: float) -> int:
    return max(0, math.ceil(layers - _rounding))


def _median(values: Sequence[float]) -> float:
    ordered, middle = sorted(values), len(values) // 2
    return ordered[middle] if len(values) % 2 == 1 else (ordered[middle - 1] + ordered[middle]) / 2

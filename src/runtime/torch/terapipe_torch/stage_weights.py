"""ZeRO 3: the weights of a stage are whole only while they are used, as with FSDP's reshard after forward."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from terapipe_torch.model.stage import Stage

if TYPE_CHECKING:
    from terapipe_torch.gradients import Bucket


def layer_of(name: str) -> str | None:
    """The number of the layer that a parameter is of, None for embedding, last norm and head."""
    return name.split(".")[1] if name.startswith("layers.") else None


class StageWeights:
    """
    Weights of a layer are whole from the start to the end of its forward, and of its backward; those of the
    embedding and the head during a whole pass. The W pass needs none.
    """

    def __init__(self, stage: Stage, buckets: list[Bucket]) -> None:
        self._layers = [
            _LayerWeights(block, own)
            for number, block in stage.layers.items()
            if (own := [bucket for bucket in buckets if layer_of(bucket.slots[0].name) == number])
        ]
        self._ends = [bucket for bucket in buckets if layer_of(bucket.slots[0].name) is None]

    def begin(self) -> None:
        """Before a pass."""
        for bucket in self._ends:
            bucket.gather_weights()

    def end(self) -> None:
        """After a pass."""
        for bucket in self._ends:
            bucket.free_weights()
        for layer in self._layers:
            layer.free()


class _LayerWeights:
    def __init__(self, block: nn.Module, buckets: list[Bucket]) -> None:
        self._buckets = buckets
        self._in_backward = False
        block.register_forward_pre_hook(lambda *_: self._gather())
        block.register_forward_hook(self._after_forward)

    def free(self) -> None:
        self._in_backward = False
        for bucket in self._buckets:
            bucket.free_weights()

    def _gather(self) -> None:
        for bucket in self._buckets:
            bucket.gather_weights()

    def _after_forward(self, _: nn.Module, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
        # a forward that a backward runs again: that backward still needs the weights
        if self._in_backward:
            return
        self.free()
        if output.requires_grad:
            output.register_hook(self._begin_backward)
            if inputs[0].requires_grad:
                inputs[0].register_hook(lambda _: self.free())

    def _begin_backward(self, _: torch.Tensor) -> None:
        self._in_backward = True
        self._gather()

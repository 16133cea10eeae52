"""
Gradients of the weights of linear layers, now or in the W pass. `torch.autograd` cannot defer them
without walking the whole graph twice, so a linear layer hands its input and output gradient to a queue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import nn

Key = tuple[int, int]


def accumulate(parameter: nn.Parameter, gradient: torch.Tensor) -> None:
    """Adds to the fp32 gradient of a parameter; sums of many slices in bf16 lose 2.7 times as much."""
    if "main_grad" not in parameter.__dict__ and "bucket" in parameter.__dict__:
        parameter.bucket.open()
    main = parameter.__dict__.get("main_grad")
    if main is None:
        parameter.main_grad = gradient.detach().float().clone()
    else:
        main.add_(gradient)


def accumulate_grads(parameters: Iterable[nn.Parameter]) -> None:
    """Moves what autograd left in `grad`, as of norms and embeddings, to the fp32 gradients."""
    for parameter in parameters:
        if parameter.grad is not None:
            accumulate(parameter, parameter.grad)
            parameter.grad = None


@dataclass(frozen=True)
class _Linear:
    weight: nn.Parameter
    bias: nn.Parameter | None
    full_input: Callable[[], torch.Tensor]
    output_grad: torch.Tensor


class WeightGradients:
    """
    `split` holds the (stage, unit) of the pass that is running where it is a backward of the input (I),
    None otherwise: then gradients are added at once.
    """

    def __init__(self) -> None:
        self.split: Key | None = None
        self._queued: dict[Key, list[_Linear]] = {}

    def add(
        self,
        weight: nn.Parameter,
        bias: nn.Parameter | None,
        full_input: Callable[[], torch.Tensor],
        output_grad: torch.Tensor,
    ) -> None:
        """full_input() [..., in], output_grad [..., out]: weight gets out x in."""
        item = _Linear(weight, bias, full_input, output_grad)
        if self.split is None:
            _add_linear(item)
        else:
            self._queued.setdefault(self.split, []).append(item)

    def run(self, key: Key) -> None:
        """The W pass of a (stage, unit)."""
        for item in self._queued.pop(key, []):
            _add_linear(item)

    def tensors(self) -> Iterator[torch.Tensor]:
        """What the queue keeps: output gradients, and what `full_input` makes inputs of."""
        for items in self._queued.values():
            for item in items:
                kept = [cell.cell_contents for cell in item.full_input.__closure__ or ()]
                yield from (item.output_grad, *filter(torch.is_tensor, kept))

    def forget(self) -> None:
        """Drops what is queued."""
        self._queued.clear()

    @property
    def pending(self) -> list[Key]:
        return list(self._queued)


def _add_linear(item: _Linear) -> None:
    dy = item.output_grad.flatten(0, -2)
    x = item.full_input().flatten(0, -2)
    accumulate(item.weight, dy.t() @ x)
    if item.bias is not None:
        accumulate(item.bias, dy.sum(0))

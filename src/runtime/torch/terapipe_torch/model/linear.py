"""Linear layers whose weight gradients can wait, cut by column or row over the ranks of tensor parallelism."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from terapipe_torch.collectives import all_gather, all_reduce, reduce_scatter
from terapipe_torch.mesh import Axis
from terapipe_torch.weight_grads import WeightGradients


@dataclass(frozen=True)
class Parallel:
    """What layers know of the layout: the tp and cp axes, and the queue of weight gradients."""

    tp: Axis
    cp: Axis
    sequence_parallel: bool
    weight_gradients: WeightGradients
    recompute: str = "none"


def parameter(shape: Sequence[int], shard_dim: int | None = None, axis: Axis | None = None, partial: bool = False) -> nn.Parameter:
    """
    A parameter of this rank. `shape`: of the whole; `shard_dim`: the dimension cut over `axis`;
    `partial`: its gradient is a part of the sum over tp, as of norms under sequence parallelism.
    `model.refusals` has what the axis must divide.
    """
    local = list(shape)
    if shard_dim is not None and axis is not None:
        assert local[shard_dim] % axis.size == 0, f"{local[shard_dim]} cannot be split over {axis.size} ranks"
        local[shard_dim] //= axis.size
    made = nn.Parameter(torch.empty(local))
    made.whole_shape, made.shard_dim, made.shard_axis = tuple(shape), shard_dim, axis
    made.partial = partial
    return made


class Projection(nn.Module):
    """
    weight [out, in] and bias [out] of one linear layer, cut along `dim` of the weight (0: columns, 1: rows
    in Megatron's words). `partial`: its gradients are parts of the sum over tp.
    """

    def __init__(self, inputs: int, outputs: int, bias: bool, dim: int | None, parallel: Parallel, partial: bool = False) -> None:
        super().__init__()
        self.weight = parameter((outputs, inputs), dim, parallel.tp, partial)
        is_row = dim == 1
        partial_bias = partial or (is_row and parallel.sequence_parallel)
        self.bias = parameter((outputs,), None if is_row else dim, parallel.tp, partial_bias) if bias else None


class _ColumnLinear(torch.autograd.Function):
    """Several projections of one input: one collective for all of them, forward and backward."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, parallel: Parallel, projections: list[Projection], *weights: torch.Tensor) -> Any:
        ctx.parallel, ctx.projections = parallel, projections
        ctx.save_for_backward(x)
        full = all_gather(x, parallel.tp, 1) if parallel.sequence_parallel else x
        return tuple(F.linear(full, each.weight, each.bias) for each in projections)

    @staticmethod
    def backward(ctx: Any, *outputs: torch.Tensor) -> Any:
        (x,) = ctx.saved_tensors
        parallel: Parallel = ctx.parallel
        x = x.detach()
        dx = None
        for each, dy in zip(ctx.projections, outputs, strict=True):
            part = dy @ each.weight
            dx = part if dx is None else dx.add_(part)
        assert dx is not None
        dx = reduce_scatter(dx, parallel.tp, 1) if parallel.sequence_parallel else all_reduce(dx, parallel.tp)
        for each, dy in zip(ctx.projections, outputs, strict=True):
            parallel.weight_gradients.add(each.weight, each.bias, _full_input(x, parallel), dy)
        return (dx, None, None, *(None for _ in ctx.needs_input_grad[3:]))


def _full_input(x: torch.Tensor, parallel: Parallel) -> Callable[[], torch.Tensor]:
    """Gathered again where the weights' gradients are computed, as Megatron-LM does, so that only a part is kept."""
    return lambda: all_gather(x, parallel.tp, 1) if parallel.sequence_parallel else x


def column_linear(x: torch.Tensor, projections: list[Projection], parallel: Parallel) -> tuple[torch.Tensor, ...]:
    """x [batch, tokens (of this rank where sequence parallel), in] to [batch, tokens, out / tensor] for each projection."""
    return _ColumnLinear.apply(x, parallel, projections, *(each.weight for each in projections))


class _RowLinear(torch.autograd.Function):
    """One projection of inputs that are cut over the ranks: the sum over them, this rank's tokens of it where sequence parallel."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, parallel: Parallel, projection: Projection, weight: torch.Tensor) -> torch.Tensor:
        ctx.parallel, ctx.projection = parallel, projection
        ctx.save_for_backward(x)
        y = F.linear(x, weight)
        return reduce_scatter(y, parallel.tp, 1) if parallel.sequence_parallel else all_reduce(y, parallel.tp)

    @staticmethod
    def backward(ctx: Any, dy: torch.Tensor) -> Any:
        (x,) = ctx.saved_tensors
        parallel: Parallel = ctx.parallel
        x = x.detach()
        full = all_gather(dy, parallel.tp, 1) if parallel.sequence_parallel else dy
        parallel.weight_gradients.add(ctx.projection.weight, None, lambda: x, full)
        return full @ ctx.projection.weight, None, None, None


def row_linear(x: torch.Tensor, projection: Projection, parallel: Parallel) -> torch.Tensor:
    """x [batch, tokens, in / tensor] to [batch, tokens, out]; the bias is added once, after the sum."""
    y = _RowLinear.apply(x, parallel, projection, projection.weight)
    return y if projection.bias is None else y + projection.bias


class _Linear(torch.autograd.Function):
    """A projection without collectives, computed in `dtype`."""

    @staticmethod
    def forward(
        ctx: Any, x: torch.Tensor, store: WeightGradients, projection: Projection, dtype: torch.dtype, weight: torch.Tensor
    ) -> torch.Tensor:
        ctx.store, ctx.projection, ctx.dtype = store, projection, dtype
        ctx.save_for_backward(x)
        bias = None if projection.bias is None else projection.bias.to(dtype)
        return F.linear(x.to(dtype), weight.to(dtype), bias)

    @staticmethod
    def backward(ctx: Any, dy: torch.Tensor) -> Any:
        (x,) = ctx.saved_tensors
        x, dtype = x.detach(), ctx.dtype
        ctx.store.add(ctx.projection.weight, ctx.projection.bias, lambda: x.to(dtype), dy)
        return (dy @ ctx.projection.weight.to(dtype)).to(x.dtype), None, None, None, None


def linear(x: torch.Tensor, projection: Projection, store: WeightGradients, dtype: torch.dtype | None = None) -> torch.Tensor:
    """x [..., in] to [..., out of this rank] without collectives, in `dtype` (that of x if None): a router, an expert, a latent."""
    return _Linear.apply(x, store, projection, dtype or x.dtype, projection.weight)

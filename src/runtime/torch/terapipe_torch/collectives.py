"""Collectives along one axis, and their autograd counterparts for tensor and sequence parallelism."""

from __future__ import annotations

from typing import Any, TypeVar

import torch
import torch.distributed as dist

from terapipe_torch.mesh import Axis

T = TypeVar("T")


def all_reduce(x: torch.Tensor, axis: Axis) -> torch.Tensor:
    """The sum over the axis, in place."""
    if axis.group is not None:
        dist.all_reduce(x, group=axis.group)
    return x


def all_gather(x: torch.Tensor, axis: Axis, dim: int) -> torch.Tensor:
    """The parts of all ranks of the axis, joined along `dim`."""
    if axis.group is None:
        return x
    # empty_like keeps strides: all parts have the layout of what is sent
    x = x.contiguous()
    parts = [torch.empty_like(x) for _ in range(axis.size)]
    dist.all_gather(parts, x, group=axis.group)
    return torch.cat(parts, dim)


def reduce_scatter(x: torch.Tensor, axis: Axis, dim: int) -> torch.Tensor:
    """This rank's part along `dim` of the sum over the axis. gloo has no reduce-scatter in older PyTorch: it sums all of it."""
    if axis.group is None:
        return x
    if dist.get_backend(axis.group) == "gloo":
        whole = x.clone()
        dist.all_reduce(whole, group=axis.group)
        return whole.chunk(axis.size, dim)[axis.index].contiguous()
    parts = [part.contiguous() for part in x.chunk(axis.size, dim)]
    mine = torch.empty_like(parts[0])
    dist.reduce_scatter(mine, parts, group=axis.group)
    return mine


def all_gather_object(value: T, axis: Axis) -> list[T]:
    """The value that each rank of the axis has; any that pickle can write."""
    if axis.group is None:
        return [value]
    values: list[Any] = [None] * axis.size
    dist.all_gather_object(values, value, group=axis.group)
    return values


class _Copy(torch.autograd.Function):
    """Forward: as it is; backward: the sum over the axis."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, axis: Axis) -> torch.Tensor:
        ctx.axis = axis
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, dy: torch.Tensor) -> tuple[torch.Tensor, None]:
        return all_reduce(dy.clone(), ctx.axis), None


class _Reduce(torch.autograd.Function):
    """Forward: the sum over the axis; backward: as it is."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, axis: Axis) -> torch.Tensor:
        return all_reduce(x.clone(), axis)

    @staticmethod
    def backward(ctx: Any, dy: torch.Tensor) -> tuple[torch.Tensor, None]:
        return dy, None


class _GatherTokens(torch.autograd.Function):
    """Forward: tokens (dim 1) of all ranks; backward: this rank's part of the sum."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, axis: Axis) -> torch.Tensor:
        ctx.axis = axis
        return all_gather(x, axis, 1)

    @staticmethod
    def backward(ctx: Any, dy: torch.Tensor) -> tuple[torch.Tensor, None]:
        return reduce_scatter(dy, ctx.axis, 1), None


class _ScatterTokens(torch.autograd.Function):
    """Forward: this rank's tokens (dim 1) of the sum; backward: the gradients of all ranks."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, axis: Axis) -> torch.Tensor:
        ctx.axis = axis
        return reduce_scatter(x, axis, 1)

    @staticmethod
    def backward(ctx: Any, dy: torch.Tensor) -> tuple[torch.Tensor, None]:
        return all_gather(dy, ctx.axis, 1), None


def enter_tensor_parallel(x: torch.Tensor, axis: Axis, sequence_parallel: bool) -> torch.Tensor:
    """x [batch, tokens, hidden] for layers whose heads or columns are split over the axis."""
    if axis.group is None:
        return x
    return _GatherTokens.apply(x, axis) if sequence_parallel else _Copy.apply(x, axis)


def leave_tensor_parallel(x: torch.Tensor, axis: Axis, sequence_parallel: bool) -> torch.Tensor:
    """The sum of what each rank made of its heads or columns."""
    if axis.group is None:
        return x
    return _ScatterTokens.apply(x, axis) if sequence_parallel else _Reduce.apply(x, axis)


def sum_both_ways(x: torch.Tensor, axis: Axis) -> torch.Tensor:
    """The sum over the axis of parts that all ranks then use, as the squares of a norm over heads that are split."""
    return x if axis.group is None else _Copy.apply(_Reduce.apply(x, axis), axis)

"""This rank's place in the layout, and its process groups. Axes are named as PyTorch names them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import torch
import torch.distributed as dist

from terapipe_torch.errors import RuntimeRefusal
from terapipe_torch.plan import Layout
from terapipe_torch.waiting import new_group

_names = {"tensor": "tp", "context": "cp", "data": "dp", "pipeline": "pp"}


@dataclass(frozen=True)
class Axis:
    """One group of ranks that this rank belongs to. `group` is None for a single rank."""

    size: int = 1
    index: int = 0
    ranks: tuple[int, ...] = (0,)
    group: dist.ProcessGroup | None = None


@dataclass(frozen=True)
class Mesh:
    """
    tp, cp, dp, pp: axes of the layout. `replicas`: dp x cp, over which gradients are summed. `pipelines`:
    ranks of all groups along pp, this rank's among them. `groups`: those made for this mesh; `is_active` is
    false on ranks that the layout leaves idle.
    """

    rank: int
    device: torch.device
    tp: Axis
    cp: Axis
    dp: Axis
    pp: Axis
    replicas: Axis
    world: Axis
    pipelines: tuple[tuple[int, ...], ...] = ((0,),)
    groups: tuple[dist.ProcessGroup, ...] = ()
    is_active: bool = True

    def rank_at(self, pipeline: int) -> int:
        """Rank of the world with the same place on all other axes."""
        return self.pp.ranks[pipeline]


def single_mesh(device: torch.device | str = "cpu") -> Mesh:
    """A mesh of one rank, without torch.distributed."""
    one = Axis()
    return Mesh(0, torch.device(device), one, one, one, one, one, one)


def make_mesh(layout: Layout, device: torch.device, ranks: Sequence[int] | None = None) -> Mesh:
    """
    The mesh of `layout` on `ranks` of the world, all of them if None, the others idle. Every rank of the world
    calls it, after init_process_group. Raises RuntimeRefusal for another number of ranks.
    """
    world = dist.get_world_size()
    everyone = tuple(range(world)) if ranks is None else tuple(ranks)
    if len(everyone) != layout.world:
        raise RuntimeRefusal(
            f"the plan needs {layout.world} processes (pipeline {layout.pipeline} x tensor {layout.tensor} x "
            f"context {layout.context} x data {layout.data}), torchrun started {len(everyone)}"
        )
    if sorted(layout.rank_order) != sorted(_names):
        raise RuntimeRefusal(f"rankOrder names {', '.join(layout.rank_order)}, not {', '.join(_names)}")
    made: list[dist.ProcessGroup] = []
    axes = {_names[axis]: _axis(_ranks_along(layout, (axis,), everyone), made) for axis in layout.rank_order}
    replicas = _axis(_ranks_along(layout, ("data", "context"), everyone), made)
    if len(everyone) < world:
        whole = _axis([everyone], made)
    else:
        whole = Axis(world, dist.get_rank(), everyone, dist.group.WORLD if world > 1 else None)
    return Mesh(
        rank=dist.get_rank(),
        device=device,
        **axes,
        replicas=replicas,
        world=whole,
        pipelines=tuple(_ranks_along(layout, ("pipeline",), everyone)),
        groups=tuple(made),
        is_active=dist.get_rank() in everyone,
    )


def release(mesh: Mesh) -> None:
    """Ends the groups of a mesh that nothing uses any more. Every rank of the world calls it."""
    for group in mesh.groups:
        dist.destroy_process_group(group)


def pair_groups(mesh: Mesh, pairs: Iterable[tuple[int, int]]) -> dict[tuple[int, int], dist.ProcessGroup]:
    """
    This rank's groups of two pipeline ranks, by pair. All ranks of the world call it with the same pairs
    and make all groups: those made by their members only (use_local_synchronization) take their names
    from the number of groups that a rank made before, and ranks with different numbers wait forever.
    """
    groups = {}
    for pair in pairs:
        for pipeline in mesh.pipelines:
            ranks = sorted(pipeline[place] for place in pair)
            group = new_group(ranks)
            if mesh.rank in ranks:
                groups[pair] = group
    return groups


def _axis(groups: Iterable[tuple[int, ...]], made: list[dist.ProcessGroup]) -> Axis:
    """This rank's one of groups of ranks; all ranks make all of them, in one order, and add their own to `made`."""
    mine = Axis()
    for ranks in groups:
        group = new_group(ranks) if len(ranks) > 1 else None
        if dist.get_rank() in ranks:
            mine = Axis(len(ranks), ranks.index(dist.get_rank()), ranks, group)
            made.extend([group] if group is not None else [])
    return mine


def _ranks_along(layout: Layout, axes: tuple[str, ...], everyone: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Ranks of each group along `axes`."""
    slow_first = list(reversed(layout.rank_order))
    grid = torch.tensor(everyone).reshape([layout.size(axis) for axis in slow_first])
    others = [axis for axis in slow_first if axis not in axes]
    for place in itertools.product(*(range(layout.size(axis)) for axis in others)):
        index = tuple(place[others.index(axis)] if axis in others else slice(None) for axis in slow_first)
        yield tuple(grid[index].flatten().tolist())

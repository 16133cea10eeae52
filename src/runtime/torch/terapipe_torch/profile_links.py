"""Times of sends between neighbouring stages and of collectives, by size."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
import torch.distributed as dist

from terapipe_torch.mesh import Axis, Mesh, pair_groups
from terapipe_torch.stopwatch import spread

_rounds = 12
_smallest, _largest = 2**10, 2**24
_largest_on_gpu = 2**28


def sizes(mesh: Mesh) -> Iterator[int]:
    """Bytes, each four times the one before it."""
    size = _smallest
    while size <= (_largest_on_gpu if mesh.device.type == "cuda" else _largest):
        yield size
        size *= 4


def send_times(mesh: Mesh, hosts: list[str]) -> list[dict[str, Any]]:
    """
    Half of a message there and back between each two neighbours; all ranks call it, the first of a pair gets
    the times. `hosts`: of each rank; `joined`: whether both are on one.
    """
    found: list[dict[str, Any]] = []
    neighbours = list(itertools.pairwise(range(mesh.pp.size)))
    groups = pair_groups(mesh, neighbours)
    for first, second in neighbours:
        group, pair = groups.get((first, second)), [mesh.rank_at(first), mesh.rank_at(second)]
        if group is not None:
            for size in sizes(mesh):
                times = [_there_and_back(size, pair, group, mesh) for _ in range(_rounds + 2)][2:]
                if mesh.rank == pair[0]:
                    found.append({"from": first, "to": second, "joined": _joined(pair, hosts), "bytes": size, **spread(times)})
        dist.barrier()
    return found


def _there_and_back(size: int, pair: list[int], group: dist.ProcessGroup, mesh: Mesh) -> float:
    sent = torch.zeros(size, dtype=torch.uint8, device=mesh.device)
    received = torch.empty_like(sent)
    other = pair[1] if mesh.rank == pair[0] else pair[0]

    def work() -> None:
        if mesh.rank == pair[0]:
            dist.send(sent, other, group=group)
            dist.recv(received, other, group=group)
        else:
            dist.recv(received, other, group=group)
            dist.send(sent, other, group=group)

    return _wall_ms(work, mesh) / 2


def collective_times(mesh: Mesh, hosts: list[str]) -> list[dict[str, Any]]:
    """All-reduce of `bytes` and all-gather to `bytes`, over each axis with more than one rank; its first rank gets the times."""
    found: list[dict[str, Any]] = []
    axes = {"tp": mesh.tp, "cp": mesh.cp, "replicas": mesh.replicas}
    for name, axis in axes.items():
        if axis.group is None:
            continue
        for size in sizes(mesh):
            for kind, work in _collectives(size, axis, mesh):
                times = [_wall_ms(work, mesh) for _ in range(_rounds + 2)][2:]
                if axis.index == 0:
                    joined = _joined(axis.ranks, hosts)
                    found.append({"kind": kind, "group": name, "ranks": axis.size, "joined": joined, "bytes": size, **spread(times)})
        dist.barrier(group=axis.group)
    return found


def _collectives(size: int, axis: Axis, mesh: Mesh) -> Iterator[tuple[str, Callable[[], object]]]:
    whole = torch.zeros(size // 4, dtype=torch.float32, device=mesh.device)
    yield "all-reduce", lambda: dist.all_reduce(whole, group=axis.group)
    part = torch.zeros(size // 4 // axis.size, dtype=torch.float32, device=mesh.device)
    parts = [torch.empty_like(part) for _ in range(axis.size)]
    yield "all-gather", lambda: dist.all_gather(parts, part, group=axis.group)


def _joined(ranks: Sequence[int], hosts: list[str]) -> bool:
    return len({hosts[rank] for rank in ranks}) == 1


def _wall_ms(work: Callable[[], object], mesh: Mesh) -> float:
    begin = time.perf_counter()
    work()
    if mesh.device.type == "cuda":
        torch.cuda.synchronize()
    return 1e3 * (time.perf_counter() - begin)

"""AutoDP: where the pipelines of an epoch run, and their weights and optimizer state, sent to the ranks that need them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn

from terapipe_torch.checkpoint import KINDS
from terapipe_torch.plan import Plan
from terapipe_torch.training import Trainer


def active_ranks(first_length: int, first_replicas: int, length: int, replicas: int) -> tuple[int, ...]:
    """
    Ranks of the pipelines, one pipeline after the other. Those of the first epoch form groups of ranks, each of which holds
    as many shorter pipelines as there are (arXiv 2102.03161, section 3.3).
    """
    if replicas % first_replicas != 0:
        return tuple(range(length * replicas))
    share = length * (replicas // first_replicas)
    return tuple(group * first_length + rank for group in range(first_replicas) for rank in range(share))


@dataclass(frozen=True)
class Placement:
    """A plan on ranks of the world, pipeline after pipeline."""

    plan: Plan
    ranks: tuple[int, ...]

    def holders(self, stage: int) -> list[int]:
        """Ranks that have a stage, one a replica."""
        return list(self.ranks[self.plan.rank_of(stage) :: self.plan.layout.pipeline])

    def parts(self) -> dict[str, int]:
        """The stage of each part of the model that moves as one: the embedding, a layer, the head with its norm."""
        held = {"embed_tokens": 0, "head": len(self.plan.stages) - 1}
        for number, stage in enumerate(self.plan.stages):
            held.update({f"layers.{layer}": number for layer in range(stage.first_layer, stage.first_layer + stage.layers)})
        return held


@dataclass(frozen=True)
class Transfer:
    """One part of the model, from a rank to another or to itself."""

    part: str
    source: int
    target: int


def transfers(old: Placement, new: Placement) -> list[Transfer]:
    """What each rank of the new pipelines receives: from itself where it has it, else from one of the old replicas in turn."""
    before, result = old.parts(), []
    for part, stage in new.parts().items():
        sources = old.holders(before[part])
        for number, target in enumerate(new.holders(stage)):
            result.append(Transfer(part, target if target in sources else sources[number % len(sources)], target))
    return result


def move_state(moves: list[Transfer], frozen_layers: int, old: Trainer | None, new: Trainer | None) -> None:
    """
    Weights, and optimizer state of what still trains with `frozen_layers`, to the trainers of the new pipelines. All ranks
    of the world call it; a trainer is None where the rank is idle. Part after part: no rank holds its model twice for it.
    """
    rank = dist.get_rank()
    for part in dict.fromkeys(move.part for move in moves):
        trains = _trains(part, frozen_layers)
        sent, received, operations = None, None, []
        for move in (move for move in moves if move.part == part and rank in (move.source, move.target)):
            if move.source == rank and sent is None:
                assert old is not None
                sent = torch.cat([each.flatten() for each in _kept(old, part, trains)])
            if move.target == rank:
                assert new is not None
                received = sent if move.source == rank else _room(new, part, trains)
            if move.source != move.target:
                is_sent = move.source == rank
                operations.append(dist.P2POp(dist.isend, sent, move.target) if is_sent else dist.P2POp(dist.irecv, received, move.source))
        for work in dist.batch_isend_irecv(operations) if operations else ():
            work.wait()
        if received is not None and new is not None:
            _take(new, part, trains, received)
    if new is not None:
        new.optimizer.publish()


def _trains(part: str, frozen_layers: int) -> bool:
    if part == "embed_tokens":
        return frozen_layers == 0
    return part == "head" or int(part.partition(".")[2]) >= frozen_layers


def _parameters(trainer: Trainer, part: str) -> Iterator[tuple[str, nn.Parameter]]:
    for name, parameter in trainer.pipeline.parameters().items():
        owner = ".".join(name.split(".")[: 2 if name.startswith("layers.") else 1])
        if owner == part or (part == "head" and owner in ("norm", "lm_head")):
            yield name, parameter


def _kept(trainer: Trainer, part: str, trains: bool) -> Iterator[torch.Tensor]:
    """In fp32: masters and moments of what trains, else the weights."""
    masters = {piece.name: master for piece, master in trainer.optimizer.masters}
    for name, parameter in _parameters(trainer, part):
        if trains:
            yield from (trainer.optimizer.state(masters[name], kind) for kind in KINDS)
        else:
            yield parameter.detach().float()


def _room(trainer: Trainer, part: str, trains: bool) -> torch.Tensor:
    size = sum(parameter.numel() for _, parameter in _parameters(trainer, part)) * (len(KINDS) if trains else 1)
    return torch.empty(size, dtype=torch.float32, device=trainer.mesh.device)


def _take(trainer: Trainer, part: str, trains: bool, received: torch.Tensor) -> None:
    masters = {piece.name: master for piece, master in trainer.optimizer.masters}
    at = 0
    for name, parameter in _parameters(trainer, part):
        if not trains:
            parameter.data.copy_(received[at : at + parameter.numel()].view_as(parameter))
            at += parameter.numel()
            continue
        saved = dict(zip(KINDS, received[at : at + 3 * parameter.numel()].view(3, -1), strict=True))
        trainer.optimizer.set_state(masters[name], saved)
        at += 3 * parameter.numel()

"""AdamW over fp32 copies of the weights, and clipping by the norm of all gradients of the model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn

from terapipe_torch.collectives import all_reduce
from terapipe_torch.gradients import Bucket, Gradients
from terapipe_torch.mesh import Mesh
from terapipe_torch.plan import Training


def stage_squares(gradients: Gradients, mesh: Mesh) -> torch.Tensor:
    """
    Sums of squares [stages] of the gradients as they were computed, the same on all ranks. Each parameter
    counts once, whatever ranks have copies or shards of it; the root of the total is the norm of the model.
    """
    squares = torch.zeros(gradients.stages, dtype=torch.float32, device=mesh.device)
    for stage, buckets in gradients.buckets.items():
        parts = [part.gradient for bucket in buckets for part in pieces(bucket) if gradients.counted(part.name, part.parameter)]
        if parts:
            squares[stage] = torch.nn.utils.get_total_norm(parts).square()
    if gradients.is_sharded:
        all_reduce(squares, mesh.replicas)
    all_reduce(squares, mesh.tp)
    return all_reduce(squares, mesh.pp)


def overflowed_stages(squares: torch.Tensor, mesh: Mesh) -> list[int]:
    """Stages with a gradient that is not finite on any rank; all ranks get the same, so that they skip a step alike."""
    flags = (~squares.isfinite()).float()
    if mesh.world.group is not None:
        dist.all_reduce(flags, op=dist.ReduceOp.MAX, group=mesh.world.group)
    return flags.nonzero().flatten().tolist()


@dataclass(frozen=True)
class Piece:
    """Elements start..end of a parameter (of this rank's part, flat), and their gradients [end - start]."""

    name: str
    parameter: nn.Parameter
    start: int
    end: int
    gradient: torch.Tensor
    place: slice


def pieces(bucket: Bucket) -> Iterator[Piece]:
    """What this rank steps of the parameters of a bucket; `place`: where in the shard."""
    shard = bucket.shard
    for slot in bucket.slots:
        start, end = max(slot.start, shard.start), min(slot.end, shard.stop)
        if start < end:
            place = slice(start - shard.start, end - shard.start)
            yield Piece(slot.name, slot.parameter, start - slot.start, end - slot.start, bucket.shard_gradient[place], place)


class Optimizer:
    """Weights stay in the precision that they are computed with; a shard of each bucket has fp32 masters, which AdamW steps."""

    def __init__(self, gradients: Gradients, training: Training) -> None:
        self.training, self.buckets = training, list(gradients)
        # that changed the weights
        self.steps = 0
        self.flat = [bucket.shard_weights.float().clone() for bucket in self.buckets]
        self.masters = [
            (piece, _master(flat, piece)) for bucket, flat in zip(self.buckets, self.flat, strict=True) for piece in pieces(bucket)
        ]
        decayed = [master for piece, master in self.masters if piece.parameter.dim() > 1]
        others = [master for piece, master in self.masters if piece.parameter.dim() <= 1]
        self.adam = torch.optim.AdamW(
            [{"params": decayed, "weight_decay": training.weight_decay}, {"params": others, "weight_decay": 0.0}],
            lr=training.learning_rate,
            betas=(training.beta1, training.beta2),
            eps=training.epsilon,
            fused=True,
        )

    def step(self, norm: torch.Tensor, learning_rate: float | None = None, loss_scale: float = 1.0) -> None:
        """
        One step. `norm`: of the true gradients, those computed divided by `loss_scale`; they are clipped to
        `gradient_clip` where it is above that.
        """
        clip = self.training.gradient_clip
        scale = torch.clamp(clip / (norm + 1e-6), max=1.0) if clip > 0 else torch.ones_like(norm)
        for group in self.adam.param_groups:
            group["lr"] = self.training.learning_rate if learning_rate is None else learning_rate
        for bucket in self.buckets:
            bucket.shard_gradient.mul_(scale / loss_scale)
        self.adam.step()
        self.steps += 1
        self.publish()

    def set_state(self, master: torch.Tensor, saved: dict[str, torch.Tensor]) -> None:
        """`saved`: master, exp_avg and exp_avg_sq, each like `master`, after `steps`. Call `publish` after all of them."""
        master.data.copy_(saved["master"])
        moments = {name: saved[name].clone() for name in ("exp_avg", "exp_avg_sq")}
        self.adam.state[master] = {"step": torch.tensor(float(self.steps), device=master.device), **moments}

    def state(self, master: torch.Tensor, kind: str) -> torch.Tensor:
        """`master`, or its exp_avg or exp_avg_sq: zeros before the first step."""
        if kind == "master":
            return master.detach()
        saved = self.adam.state.get(master, {})
        return saved[kind] if kind in saved else torch.zeros_like(master)

    def publish(self) -> None:
        """Copies the masters to the weights of all replicas."""
        for bucket, flat in zip(self.buckets, self.flat, strict=True):
            bucket.shard_weights.copy_(flat)
            bucket.publish_weights()


def _master(flat: torch.Tensor, piece: Piece) -> torch.Tensor:
    """A leaf [piece] that shares its memory with the flat masters."""
    master = flat[piece.place].detach().requires_grad_()
    master.grad = piece.gradient
    return master

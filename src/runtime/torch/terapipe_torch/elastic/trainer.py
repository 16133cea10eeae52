"""Steps of an epoch on the pipelines that it has, and the gradient norms of its layers."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

import torch

from terapipe_torch.collectives import all_reduce
from terapipe_torch.elastic.auto_cache import ActivationCache
from terapipe_torch.elastic.samples import EpochOrder, Samples, share_of_step
from terapipe_torch.gradients import Gradients
from terapipe_torch.learning_rate import learning_rate
from terapipe_torch.loop import Pipeline, valid_labels
from terapipe_torch.mesh import Mesh
from terapipe_torch.optimizer import pieces
from terapipe_torch.training import StepResult, Trainer


@dataclass
class Progress:
    """
    Where a run is: `step` of `epoch`, and its decisions: frozen layers of the epochs up to this one. `norms`: of the
    epochs before, `sums`: of the steps of this one, by layer, with the sum of its losses. A checkpoint has all of it.
    """

    layers: int
    epoch: int = 0
    step: int = 0
    frozen: list[int] = field(default_factory=list)
    norms: list[list[float | None]] = field(default_factory=list)
    sums: list[float] = field(default_factory=list)
    loss: float = 0.0

    def begin(self, frozen: int) -> None:
        """Begins an epoch with this many frozen layers."""
        self.frozen.append(frozen)
        self.step, self.sums, self.loss = 0, [0.0] * self.layers, 0.0

    def end(self) -> None:
        """The epoch has taken its steps: its norms are the means over them."""
        frozen = self.frozen[self.epoch]
        self.norms.append([None if layer < frozen else total / self.step for layer, total in enumerate(self.sums)])
        self.epoch += 1


class ElasticTrainer(Trainer):
    """A trainer of one shape of pipelines. `first_steps`: of an epoch with the batch of the first one, for the learning rate."""

    def __init__(self, pipeline: Pipeline, samples: Samples, progress: Progress, first_steps: int, steps: int, log: str | None) -> None:
        super().__init__(pipeline, None, steps, log)
        self.samples, self.progress, self.first_steps = samples, progress, first_steps
        self.cache: ActivationCache | None = None

    def begin_epoch(self, order: EpochOrder, cache: ActivationCache | None) -> None:
        self.order, self.cache = order, cache

    def step(self) -> StepResult:
        result = super().step()
        self.progress.step += 1
        self.progress.loss += result.loss
        return result

    def state(self) -> dict[str, Any]:
        return {"elastic": asdict(self.progress)}

    def _run(self, number: int) -> float:
        count, mesh = self.plan.replica_batch, self.mesh
        numbers, batch = share_of_step(self.samples, self.order, self.progress.step, mesh.dp.index * count, count)
        self.pipeline.zero_gradients()
        valid = valid_labels(batch.labels, mesh)
        if self.cache is not None and 0 in self.pipeline.stages:
            batch = self.cache.outputs(self.pipeline.stages[0], self.plan.frozen_layers, numbers, batch.to(mesh.device))
        return self.pipeline.run_batch(batch, valid, self.loss_scale.value)

    def _rate(self, number: int) -> float:
        """Steps of later epochs may be fewer: what counts is the part of the epoch."""
        done = self.progress.epoch * self.first_steps + self.progress.step * self.first_steps / self.order.steps
        return learning_rate(self.plan.training, done, self.steps)

    def _squares(self) -> torch.Tensor:
        squares = layer_squares(self.pipeline.gradients, self.mesh, self.progress.layers) / self.loss_scale.value**2
        for layer, square in enumerate(squares.tolist()):
            self.progress.sums[layer] += math.sqrt(square) if math.isfinite(square) else 0.0
        return super()._squares()


def layer_squares(gradients: Gradients, mesh: Mesh, layers: int) -> torch.Tensor:
    """Sums of squares [layers] of the gradients of each layer, the same on all ranks of a pipeline; 0 of frozen ones."""
    squares = torch.zeros(layers, dtype=torch.float32, device=mesh.device)
    for bucket in gradients:
        for piece in pieces(bucket):
            if piece.name.startswith("layers."):
                squares[int(piece.name.split(".")[1])] += piece.gradient.square().sum()
    return all_reduce(squares, mesh.pp)

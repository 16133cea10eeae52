"""Steps of training: passes, sums, clipping, optimizer, and what is printed and logged of them."""

from __future__ import annotations

import json
import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from terapipe_torch.collectives import all_reduce
from terapipe_torch.data import TokenSource
from terapipe_torch.learning_rate import learning_rate
from terapipe_torch.loop import Pipeline, valid_labels
from terapipe_torch.loss_scale import LossScale
from terapipe_torch.optimizer import Optimizer, overflowed_stages, stage_squares


@dataclass(frozen=True)
class StepResult:
    """`loss` per token, norm of the true gradients; `skipped`: why the weights did not change, else None."""

    step: int
    loss: float
    gradient_norm: float
    learning_rate: float
    seconds: float
    tokens: int
    skipped: str | None = None

    def line(self) -> str:
        """What rank 0 prints."""
        what = self.skipped or f"step {self.step}: loss {self.loss:.5f}, gradient norm {self.gradient_norm:.4f}"
        return f"{what}, {self.seconds * 1e3:.0f} ms, {self.tokens / self.seconds:,.0f} tokens/s"

    def json(self) -> str:
        """A line of `--log`."""
        values = {
            "step": self.step,
            "loss": _number(self.loss),
            "gradientNorm": _number(self.gradient_norm),
            "learningRate": self.learning_rate,
            "milliseconds": self.seconds * 1e3,
            "tokensPerSecond": self.tokens / self.seconds,
            "skipped": self.skipped is not None,
        }
        return json.dumps(values)


def _number(value: float) -> float | None:
    """JSON has no NaN."""
    return value if math.isfinite(value) else None


class Trainer:
    """`next_step` and `sequences`: where the run is, counted from its first start; `steps`: where it ends."""

    def __init__(self, pipeline: Pipeline, source: TokenSource | None, steps: int, log: str | None = None) -> None:
        self.pipeline, self.source, self.steps = pipeline, source, steps
        self.plan, self.mesh = pipeline.plan, pipeline.mesh
        self.optimizer = Optimizer(pipeline.gradients, self.plan.training)
        self.loss_scale = LossScale(self.plan.training.precision)
        self.next_step = self.sequences = 0
        self.log = Path(log) if log is not None and self.mesh.rank == 0 else None

    @property
    def global_batch(self) -> int:
        return self.plan.replica_batch * self.mesh.dp.size

    def step(self) -> StepResult:
        """One step, printed and logged by rank 0."""
        begin = time.perf_counter()
        number, recorder = self.next_step, self.pipeline.recorder
        share = self._run(number)
        with recorder.operation("reduce", "reduce"):
            self.pipeline.reduce_gradients()
        with recorder.operation("norm", "reduce"):
            squares = self._squares()
            bad = overflowed_stages(squares, self.mesh)
        # each tp rank of the last stage has the same loss
        loss = all_reduce(torch.tensor(share, dtype=torch.float64, device=self.mesh.device), self.mesh.world).item() / self.mesh.tp.size
        rate = self._rate(number)
        norm = squares.sum().sqrt() / self.loss_scale.value
        skipped = self.loss_scale.shrink(number, bad, loss) if bad else None
        if skipped is None:
            with recorder.operation("optimizer", "optimizer"):
                self.optimizer.step(norm, rate, self.loss_scale.value)
            self.loss_scale.grow()
        self.next_step += 1
        self.sequences += self.global_batch
        tokens = self.global_batch * self.plan.training.sequence_length
        return self._written(StepResult(number, loss, norm.item(), rate, time.perf_counter() - begin, tokens, skipped))

    def state(self) -> dict[str, Any]:
        """What the index of a checkpoint holds for this kind of run."""
        return {}

    def _squares(self) -> torch.Tensor:
        return stage_squares(self.pipeline.gradients, self.mesh)

    def _rate(self, number: int) -> float:
        return learning_rate(self.plan.training, number, self.steps)

    def _run(self, number: int) -> float:
        """Passes of a step; this rank's share of the loss."""
        count = self.plan.replica_batch
        assert self.source is not None
        tokens = self.source.batch(number, self.mesh.dp.index * count, count)
        self.pipeline.zero_gradients()
        return self.pipeline.run(tokens, valid_labels(tokens[:, 1:], self.mesh), self.loss_scale.value)

    def _written(self, result: StepResult) -> StepResult:
        if self.mesh.rank == 0:
            print(result.line(), flush=True)
        if self.log is not None:
            with self.log.open("a", encoding="utf-8") as file:
                file.write(result.json() + "\n")
        return result

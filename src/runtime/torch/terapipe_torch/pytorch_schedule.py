"""`--pytorch-schedule`: the passes of a plan of whole sequences by PyTorch's own pipeline runtime, to compare it with ours."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from terapipe_torch.errors import RuntimeRefusal
from terapipe_torch.loop import Pipeline
from terapipe_torch.mesh import Mesh
from terapipe_torch.model.slice import SliceContext
from terapipe_torch.model.stage import Stage
from terapipe_torch.plan import BACKWARD_INPUT, Plan
from terapipe_torch.weight_grads import WeightGradients, accumulate_grads
from terapipe_torch.weights.load import Weights


class PyTorchPipeline(Pipeline):
    """
    Pipeline whose passes torch.distributed.pipelining runs. It has no token slices, and its micro-batches
    are equal. Raises RuntimeRefusal for other plans, and where this PyTorch has no such runtime.
    """

    def __init__(self, plan: Plan, mesh: Mesh, weights: Weights | None = None) -> None:
        _require_equal(plan)
        _require_whole_weights(plan, mesh)
        super().__init__(plan, mesh, weights)
        group = mesh.pp.group or dist.group.WORLD
        modules = [_Submodule(stage, self.places[0]) for stage in self.stages.values()]
        self._schedule = _schedule(self, modules, group)
        self._infer_shapes()

    def run(self, tokens: torch.Tensor, valid: int, loss_scale: float = 1.0) -> float:
        """As Pipeline.run."""
        self._factor = loss_scale / valid
        losses = self._passes(tokens.to(self.mesh.device))
        accumulate_grads(self.parameters().values())
        for action in self.plan.actions[self.mesh.pp.index]:
            self.gradients.after(action)
        if self.weight_gradients.pending:
            raise AssertionError(f"W passes that PyTorch did not run: {self.weight_gradients.pending}")
        return float(sum(loss.item() for loss in losses)) / loss_scale

    def loss_of(self, hidden: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """The part of a micro-batch in the mean loss, scaled."""
        return self.stages[len(self.plan.stages) - 1].lm_head.loss(hidden, labels) * self._factor

    def _infer_shapes(self) -> None:
        """PyTorch runs passes of its own in its first step, to know the shapes of messages: their gradients are dropped."""
        self._factor = 1.0
        length = self.plan.training.sequence_length
        self._passes(torch.zeros(self.plan.replica_batch, length + 1, dtype=torch.int64, device=self.mesh.device))
        self.weight_gradients.forget()
        for parameter in self.parameters().values():
            parameter.grad = None
        self.gradients.zero()

    def _passes(self, tokens: torch.Tensor) -> list[torch.Tensor]:
        """All passes of tokens [replica batch, length + 1]; the losses of the micro-batches where this rank has the head."""
        positions = self.places[0].positions
        inputs = [tokens.index_select(1, positions)] if self._has(0) else []
        target = tokens.index_select(1, positions + 1) if self._has(len(self.plan.stages) - 1) else None
        losses: list[torch.Tensor] = []
        self._schedule.step(*inputs, target=target, losses=losses)
        return losses

    def _has(self, stage: int) -> bool:
        return stage in self.stages


class _Submodule(nn.Module):
    """A stage with the place of its tokens, which are the same for every whole sequence."""

    def __init__(self, stage: Stage, place: SliceContext) -> None:
        super().__init__()
        self.stage, self.place = stage, place

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.stage(x, self.place)


def _require_equal(plan: Plan) -> None:
    if any(unit.tokens != plan.training.sequence_length for unit in plan.units):
        raise RuntimeRefusal("PyTorch's runtime has no token slices: leave out --pytorch-schedule")
    if len({unit.batch for unit in plan.units}) > 1:
        raise RuntimeRefusal("PyTorch's runtime has micro-batches of one size: leave out --pytorch-schedule")


def _require_whole_weights(plan: Plan, mesh: Mesh) -> None:
    if plan.layout.zero_stage == 3 and mesh.replicas.size > 1:
        raise RuntimeRefusal("weights that are gathered for each pass need our loop: leave out --pytorch-schedule")


def _schedule(pipeline: PyTorchPipeline, modules: list[_Submodule], group: dist.ProcessGroup) -> Any:
    """PyTorch's runtime with the plan's order, which is its CSV of passes only."""
    try:
        from torch.distributed.pipelining import PipelineStage
        from torch.distributed.pipelining.schedules import _PipelineScheduleRuntime
    except ImportError as error:
        raise RuntimeRefusal(f"PyTorch {torch.__version__} has no pipeline runtime that reads an order: {error}") from error
    plan = pipeline.plan
    splits = any(action.kind == BACKWARD_INPUT for row in plan.actions for action in row)
    deferred = _deferred(pipeline.weight_gradients) if splits else None
    stages = [
        PipelineStage(
            module,
            index,
            len(plan.stages),
            pipeline.mesh.device,
            group=group,
            dw_builder=deferred,
        )
        for index, module in zip(pipeline.stages, modules, strict=True)
    ]
    schedule = _PipelineScheduleRuntime(stages, len(plan.units), loss_fn=pipeline.loss_of, scale_grads=False)
    with tempfile.NamedTemporaryFile("w", suffix=".csv", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([str(action) for action in row] for row in plan.actions)
        file.flush()
        schedule._load_csv(file.name, format="compute_only")
    return schedule


def _deferred(queue: WeightGradients) -> Callable[[], Callable[[], None]]:
    """PyTorch calls it after each backward of the input, and what it returns in the W pass."""
    count = 0

    def build() -> Callable[[], None]:
        nonlocal count
        key = (-1, count)
        count += 1
        queue.split = (-1, count)
        return lambda: queue.run(key)

    queue.split = (-1, count)
    return build

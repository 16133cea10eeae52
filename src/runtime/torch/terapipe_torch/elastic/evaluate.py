"""Loss and accuracy on samples that are not trained on: forward only, through the pipelines of the epoch."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import torch

from terapipe_torch.collectives import all_reduce
from terapipe_torch.data import Batch
from terapipe_torch.elastic.samples import EpochOrder, Samples, share_of_step
from terapipe_torch.elastic.schedules import units_of
from terapipe_torch.loop import Pipeline
from terapipe_torch.model.slice import SliceContext
from terapipe_torch.model.vocabulary import IGNORED
from terapipe_torch.p2p import Mailbox
from terapipe_torch.plan import FORWARD, Action, Message, message_after, message_before


@dataclass(frozen=True)
class Evaluation:
    """Loss a label, and the share of labels whose class (or token) has the highest score."""

    loss: float
    accuracy: float


class Evaluator:
    """Runs whole sequences through the stages of a pipeline. `after_batch` is called when one has gone through."""

    def __init__(self, pipeline: Pipeline, after_batch: Callable[[], None]) -> None:
        plan = pipeline.plan
        micro_batches, length = len({unit.micro_batch for unit in plan.units}), plan.training.sequence_length
        units = tuple(units_of(plan.replica_batch, micro_batches, (length,)))
        rows = tuple(
            tuple(Action(stage, FORWARD, unit) for unit in range(len(units)) for stage in plan.stages_of(rank))
            for rank in range(plan.layout.pipeline)
        )
        self._after_batch = after_batch
        self.pipeline, self.plan = pipeline, dataclasses.replace(plan, units=units, actions=rows)
        self.positions = torch.arange(length, device=pipeline.mesh.device)
        self.mailbox = Mailbox(self.plan, pipeline.mesh, self._empty, lambda: None, pipeline.mailbox.groups)

    @torch.no_grad()
    def evaluate(self, samples: Samples) -> Evaluation:
        """All samples. Collective over the ranks of the pipelines."""
        count, mesh = self.plan.replica_batch, self.pipeline.mesh
        order = EpochOrder(samples.count, 0, 0, count * mesh.dp.size)
        self._sums = torch.zeros(3, dtype=torch.float64, device=mesh.device)
        for step in range(order.steps):
            _, batch = share_of_step(samples, order, step, mesh.dp.index * count, count)
            self._run(batch.to(mesh.device))
            self._after_batch()
        loss, correct, labels = all_reduce(self._sums, mesh.world).tolist()
        return Evaluation(loss / labels, correct / labels)

    def _run(self, batch: Batch) -> None:
        self.mailbox.begin()
        first = self.plan.first_sequence()
        for action in self.plan.actions[self.pipeline.mesh.pp.index]:
            unit, stage = self.plan.units[action.unit], self.pipeline.stages[action.stage]
            rows = slice(first[unit.micro_batch], first[unit.micro_batch] + unit.batch)
            place = SliceContext(unit, self.positions, None, None, unit.tokens)
            needed = message_before(action, len(self.plan.stages))
            x = batch.inputs[rows] if needed is None else self.mailbox.receive(needed, action.stage - 1)
            y = stage(x, place)
            message = message_after(action, len(self.plan.stages))
            if message is not None:
                self.mailbox.send(message, y)
            else:
                self._count(stage.lm_head.logits(y), batch.labels[rows])
        self.mailbox.finish()

    def _count(self, logits: torch.Tensor, labels: torch.Tensor) -> None:
        valid = labels != IGNORED
        logits, labels = logits[valid], labels[valid]
        self._sums[0] += torch.nn.functional.cross_entropy(logits, labels, reduction="sum")
        self._sums[1] += (logits.argmax(-1) == labels).sum()
        self._sums[2] += len(labels)

    def _empty(self, message: Message) -> torch.Tensor:
        unit, model = self.plan.units[message.unit], self.plan.model
        return torch.empty(unit.batch, unit.tokens, model.hidden, dtype=self.pipeline.dtype, device=self.pipeline.mesh.device)

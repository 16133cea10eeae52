"""The loop: every rank runs its row of actions. It knows no schedule by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import nn

from terapipe_torch.collectives import all_reduce
from terapipe_torch.data import Batch, token_batch
from terapipe_torch.errors import PassFailed
from terapipe_torch.gradients import Gradients
from terapipe_torch.kv_cache import KeyValueCache
from terapipe_torch.mesh import Mesh
from terapipe_torch.model.linear import Parallel
from terapipe_torch.model.slice import SliceContext, context_positions
from terapipe_torch.model.stage import Stage
from terapipe_torch.model.vocabulary import IGNORED
from terapipe_torch.p2p import Mailbox, Unsent
from terapipe_torch.plan import (
    BACKWARD_INPUT,
    BACKWARD_WEIGHT,
    FORWARD,
    Action,
    Message,
    Plan,
    message_after,
    message_before,
)
from terapipe_torch.recorder import Recorder
from terapipe_torch.weight_grads import WeightGradients, accumulate_grads
from terapipe_torch.weights.load import Weights, fill

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


class Pipeline:
    """
    This rank's stages with what a step needs of them. `run(batch)` makes the gradients of each parameter
    and starts their sums over replicas; waiting for them, clipping and the optimizer come after it. Without
    `fills` the weights are not set.
    """

    def __init__(self, plan: Plan, mesh: Mesh, weights: Weights | None = None, fills: bool = True) -> None:
        self.plan, self.mesh, self.weights = plan, mesh, weights
        self.weight_gradients = WeightGradients()
        sequence_parallel = plan.layout.sequence_parallel and mesh.tp.size > 1
        self.parallel = Parallel(mesh.tp, mesh.cp, sequence_parallel, self.weight_gradients, plan.training.recompute)
        self.dtype = DTYPES[plan.training.precision]
        self.stages = {
            index: Stage(plan.model, plan.stages[index], self.parallel, plan.frozen_layers).to(mesh.device, self.dtype)
            for index in plan.stages_of(mesh.pp.index)
        }
        for stage in self.stages.values() if fills else ():
            fill(stage, plan, weights)
        self.recorder = Recorder(mesh.device)
        self.mailbox = Mailbox(plan, mesh, self._empty, self.recorder.received)
        self._messages: Mailbox | Unsent = self.mailbox
        self.places = [self._place(index) for index in range(len(plan.units))]
        self.gradients = Gradients(plan, mesh, self.stages)
        self._first_sequence = plan.first_sequence()
        self._caches: dict[tuple[int, int], dict[int, KeyValueCache]] = {}
        self.after_pass: Callable[[], None] | None = None
        self._is_warm = mesh.device.type != "cuda" or mesh.pp.size == 1

    def parameters(self) -> dict[str, nn.Parameter]:
        """By global name; the parameters of a stage that shares one are listed once."""
        named: dict[str, nn.Parameter] = {}
        for stage in self.stages.values():
            named.update(stage.named_parameters())
        return named

    def run(self, tokens: torch.Tensor, valid: int, loss_scale: float = 1.0) -> float:
        """As `run_batch`, of token numbers: int64 [replica batch, length + 1]."""
        return self.run_batch(token_batch(tokens), valid, loss_scale)

    def run_batch(self, batch: Batch, valid: int, loss_scale: float = 1.0) -> float:
        """
        All passes of a step. valid: labels of the global batch that count; gradients are those of the loss
        times `loss_scale`. Returns this replica's share of the mean loss, 0 on ranks without the head.
        Raises PassFailed.
        """
        if not self._is_warm:
            self.warm_up(batch)
        return self._run_passes(batch, valid, loss_scale)

    def warm_up(self, batch: Batch) -> None:
        """
        The passes of a step without messages; gradients are zeroed after it. The first start of a CUDA kernel and
        the first blocks of the allocator wait for all that runs on the GPU, and a receive that runs waits for passes of
        other ranks, which may need one of this rank (CUDA C++ Programming Guide, Lazy Loading, Concurrent execution).
        """
        self._is_warm = True
        records, self.recorder.active = self.recorder.active, False
        self._messages = Unsent(self._empty)
        self._run_passes(batch, 1, 1.0)
        self._messages, self.recorder.active = self.mailbox, records
        self.zero_gradients()

    def _run_passes(self, batch: Batch, valid: int, loss_scale: float) -> float:
        self._batch, self._factor = batch.to(self.mesh.device), loss_scale / valid
        self._loss = torch.zeros((), dtype=torch.float64, device=self.mesh.device)
        self._saved: dict[tuple[int, int], tuple[torch.Tensor, torch.Tensor]] = {}
        self._messages.begin()
        for action in self.plan.actions[self.mesh.pp.index]:
            unit = self.plan.units[action.unit]
            details = {"stage": action.stage, "unit": action.unit, "mb_id": unit.micro_batch, "slice": unit.slice}
            try:
                with self.recorder.operation(str(action), "pass", **details):
                    self.gradients.before(action)
                    self._perform(action)
                self.gradients.after(action)
            except Exception as error:
                raise PassFailed(str(action)) from error
            if self.after_pass is not None:
                self.after_pass()
        self._messages.finish()
        self._check_finished()
        return self._loss.item() / valid

    def reduce_gradients(self) -> None:
        """Waits for the sums over tp, replicas and tied weights that began during `run`."""
        self.gradients.finish()

    def zero_gradients(self) -> None:
        """Before each `run`, which sums what it adds over replicas."""
        self.gradients.zero()

    def kept_tensors(self) -> Iterator[torch.Tensor]:
        """What later passes need in addition to what autograd saves."""
        for x, y in self._saved.values():
            yield from (x, y)
        for caches in self._caches.values():
            for cache in caches.values():
                yield from cache.tensors()
        yield from self.weight_gradients.tensors()

    def _perform(self, action: Action) -> None:
        if action.kind == FORWARD:
            self._forward(action)
        elif action.kind == BACKWARD_WEIGHT:
            self.weight_gradients.run((action.stage, action.unit))
        else:
            self._backward(action)

    def _forward(self, action: Action) -> None:
        stage, place = self.stages[action.stage], self._place_in(action)
        needed = message_before(action, len(self.plan.stages))
        x = self._columns(action, self._batch.inputs) if needed is None else self._messages.receive(needed, action.stage - 1)
        trains = action.stage >= self.plan.frozen_stages
        if action.stage > self.plan.frozen_stages:
            x.requires_grad_()
        labels = self._columns(action, self._batch.labels) if stage.lm_head is not None else None
        with torch.set_grad_enabled(trains):
            y = stage(x, place, labels, self._batch.hidden)
        message = message_after(action, len(self.plan.stages))
        if message is not None:
            self._messages.send(message, y.detach())
        else:
            self._loss += y.detach()
            y = y * self._factor
        if trains:
            self._saved[action.stage, action.unit] = (x, y)
        elif place.unit.end == place.length:
            self._caches.pop((action.stage, place.unit.micro_batch), None)

    def _backward(self, action: Action) -> None:
        x, y = self._saved.pop((action.stage, action.unit))
        needed = message_before(action, len(self.plan.stages))
        gradient = None if needed is None else self._messages.receive(needed, action.stage + 1)
        self.weight_gradients.split = (action.stage, action.unit) if action.kind == BACKWARD_INPUT else None
        torch.autograd.backward(y, gradient)
        self.weight_gradients.split = None
        accumulate_grads(self.stages[action.stage].parameters())
        message = message_after(action, len(self.plan.stages), self.plan.frozen_stages)
        if message is not None:
            assert x.grad is not None
            self._messages.send(message, x.grad)
        unit = self.plan.units[action.unit]
        if unit.slice == 0:
            self._caches.pop((action.stage, unit.micro_batch), None)

    def _columns(self, action: Action, whole: torch.Tensor) -> torch.Tensor:
        """What `whole` [replica batch, tokens, ...] has of a unit, at this cp rank's positions."""
        unit = self.plan.units[action.unit]
        first = self._first_sequence[unit.micro_batch]
        return whole[first : first + unit.batch].index_select(1, self.places[action.unit].positions)

    def _place(self, index: int) -> SliceContext:
        """Without caches, which are of one stage and micro-batch."""
        unit, cp = self.plan.units[index], self.mesh.cp
        positions = context_positions(unit, cp.size).to(self.mesh.device)
        order = positions.flatten().argsort() if cp.size > 1 else None
        return SliceContext(unit, positions[cp.index], order, None, self.plan.training.sequence_length, cp)

    def _place_in(self, action: Action) -> SliceContext:
        place = self.places[action.unit]
        is_whole = place.unit.tokens == place.length and place.order is None
        if is_whole:
            return place
        caches = self._caches.setdefault((action.stage, place.unit.micro_batch), {})
        return SliceContext(place.unit, place.positions, place.order, caches, place.length, place.cp)

    def _empty(self, message: Message) -> torch.Tensor:
        unit = self.plan.units[message.unit]
        tokens = unit.tokens // self.mesh.cp.size
        if self.parallel.sequence_parallel:
            tokens //= self.mesh.tp.size
        return torch.empty(unit.batch, tokens, self.plan.model.hidden, dtype=self.dtype, device=self.mesh.device)

    def _check_finished(self) -> None:
        left = [*self._saved, *self.weight_gradients.pending, *self._caches]
        if left:
            raise AssertionError(f"passes that no backward took: {left}")


def valid_labels(labels: torch.Tensor, mesh: Mesh) -> int:
    """Labels of the global batch that count; [replica batch, tokens] of this replica."""
    count = (labels != IGNORED).sum().to(mesh.device)
    return int(all_reduce(count, mesh.dp).item())

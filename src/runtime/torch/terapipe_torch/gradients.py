"""Gradients of a rank's stages in flat fp32 buffers, and their sums over the ranks that have the same parameters."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import nn

from terapipe_torch.collectives import all_reduce
from terapipe_torch.mesh import Axis, Mesh, pair_groups
from terapipe_torch.model.stage import EMBEDDING, HEAD, Stage
from terapipe_torch.plan import BACKWARD_WEIGHT, FORWARD, Action, Plan
from terapipe_torch.stage_weights import StageWeights, layer_of


@dataclass(frozen=True)
class Slot:
    """A parameter of a bucket: its elements begin at `start`, in the order of the parameter's own."""

    name: str
    parameter: nn.Parameter
    start: int

    @property
    def end(self) -> int:
        return self.start + self.parameter.numel()


class Bucket:
    """
    Parameters that are summed together: their values and their fp32 gradients are views of two flat
    buffers of `size` elements, a multiple of the replicas. `shard`: the part that this rank steps, all of
    it without ZeRO. `gradient` is whole between passes, except with ZeRO 2 and 3: there it exists from the
    first backward of a micro-batch to its last, and `shard_gradient` [shard] collects the sums. With ZeRO 3
    `weights` have memory only from `gather_weights` to `free_weights`, and `shard_weights` [shard] keep them.
    """

    def __init__(self, parameters: dict[str, nn.Parameter], mesh: Mesh, zero_stage: int) -> None:
        self.tp, self.replicas = mesh.tp, mesh.replicas
        # those that tp sums come first, in one piece
        named = sorted(parameters.items(), key=lambda item: not item[1].partial)
        self.slots = list(_slots(named))
        self.partial = sum(slot.parameter.numel() for slot in self.slots if slot.parameter.partial)
        self.size = -(-self.slots[-1].end // self.replicas.size) * self.replicas.size
        self.is_sharded = zero_stage > 0 and self.replicas.size > 1
        part = self.size // self.replicas.size
        self.shard = slice(part * self.replicas.index, part * (self.replicas.index + 1)) if self.is_sharded else slice(0, self.size)
        self.weights = self._flat_weights()
        self.keeps_weights = not self.is_sharded or zero_stage < 3
        self.shard_weights = self.weights[self.shard]
        if not self.keeps_weights:
            self.shard_weights = self.shard_weights.clone()
            self.free_weights()
        self.gradient: torch.Tensor | None = None
        self._running: tuple[dist.Work, torch.Tensor, torch.Tensor] | None = None
        self.keeps_whole = not self.is_sharded or zero_stage < 2
        if self.keeps_whole:
            self.shard_gradient = self.open()[self.shard]
        else:
            self.shard_gradient = self.weights.new_zeros(part, dtype=torch.float32)
        for slot in self.slots:
            slot.parameter.bucket = self

    def _flat_weights(self) -> torch.Tensor:
        like = self.slots[0].parameter
        flat = torch.zeros(self.size, dtype=like.dtype, device=like.device)
        for slot in self.slots:
            flat[slot.start : slot.end] = slot.parameter.detach().flatten()
            slot.parameter.data = flat[slot.start : slot.end].view_as(slot.parameter)
        return flat

    def open(self) -> torch.Tensor:
        """Makes the whole gradient, of zeros, and `main_grad` of each parameter a view of it."""
        self.gradient = torch.zeros(self.size, dtype=torch.float32, device=self.weights.device)
        for slot in self.slots:
            slot.parameter.main_grad = self.gradient[slot.start : slot.end].view_as(slot.parameter)
        return self.gradient

    def zero(self) -> None:
        """Forgets the gradients of the step before, and of a sum that is running."""
        self.wait()
        self.shard_gradient.zero_()
        if self.gradient is not None:
            self.gradient.zero_()

    def start_sum(self) -> None:
        """Sums the gradients made since the last call over tp, where they are parts, and starts the sum over replicas."""
        self.wait()
        if self.gradient is None:
            return
        whole = self.gradient
        if self.partial:
            all_reduce(whole[: self.partial], self.tp)
        if self.replicas.group is None:
            return
        work, received = _start_reduce(whole, self.shard if self.is_sharded else None, self.replicas)
        self._running = work, whole, received
        if not self.keeps_whole:
            self.gradient = None
            for slot in self.slots:
                del slot.parameter.main_grad

    def wait(self) -> None:
        """Until the sum that was started is in `shard_gradient`."""
        if self._running is None:
            return
        work, _, received = self._running
        work.wait()
        self._running = None
        if not self.keeps_whole:
            self.shard_gradient += received

    def publish_weights(self) -> None:
        """The values that each replica stepped, to all replicas. With ZeRO 3 they wait for `gather_weights`."""
        if self.is_sharded and self.keeps_weights:
            dist.all_gather_into_tensor(self.weights, self.shard_weights.clone(), group=self.replicas.group)

    def gather_weights(self) -> None:
        """Makes the weights whole. Collective over replicas, except where they are whole."""
        storage = self.weights.untyped_storage()
        if not self.keeps_weights and storage.nbytes() == 0:
            storage.resize_(self.size * self.weights.element_size())
            dist.all_gather_into_tensor(self.weights, self.shard_weights, group=self.replicas.group)

    def free_weights(self) -> None:
        """With ZeRO 3: gives the memory of the whole weights back. What autograd saved of them is valid again when they are whole."""
        if not self.keeps_weights:
            self.weights.untyped_storage().resize_(0)

    def whole_gradient(self) -> torch.Tensor:
        """Sums of all elements [size], gathered from the shards."""
        if not self.is_sharded:
            return self.shard_gradient
        whole = torch.empty(self.size, dtype=torch.float32, device=self.weights.device)
        dist.all_gather_into_tensor(whole, self.shard_gradient.contiguous(), group=self.replicas.group)
        return whole


def _slots(named: Iterable[tuple[str, nn.Parameter]]) -> Iterator[Slot]:
    start = 0
    for name, parameter in named:
        slot = Slot(name, parameter, start)
        start = slot.end
        yield slot


def _start_reduce(whole: torch.Tensor, shard: slice | None, replicas: Axis) -> tuple[dist.Work, torch.Tensor]:
    """Work whose end leaves the sum of `whole`, or of its shard, in the tensor returned. gloo of older PyTorch has no reduce-scatter."""
    if shard is None or dist.get_backend(replicas.group) == "gloo":
        work = dist.all_reduce(whole, group=replicas.group, async_op=True)
        return work, whole if shard is None else whole[shard]
    received = whole[shard]
    return dist.reduce_scatter_tensor(received, whole, group=replicas.group, async_op=True), received


class Gradients:
    """
    The buckets of a rank's stages. A stage's are summed while other passes run, as soon as its last
    backward of the step is done; with ZeRO 2 and 3 after its last backward of each micro-batch.
    """

    def __init__(self, plan: Plan, mesh: Mesh, stages: dict[int, Stage]) -> None:
        zero_stage = plan.layout.zero_stage
        self._plan, self._mesh = plan, mesh
        self.stages = len(plan.stages)
        self.buckets = {index: _buckets(plan, mesh, stage) for index, stage in stages.items()}
        self._due = set(_last_backwards(plan, mesh.pp.index, by_micro_batch=zero_stage >= 2 and mesh.replicas.size > 1))
        self._weights = {index: StageWeights(stage, self.buckets[index]) for index, stage in stages.items()} if zero_stage == 3 else {}
        self._tied = self._tied_group()

    def __iter__(self) -> Iterator[Bucket]:
        for buckets in self.buckets.values():
            yield from buckets

    @property
    def is_sharded(self) -> bool:
        return any(bucket.is_sharded for bucket in self)

    def zero(self) -> None:
        for bucket in self:
            bucket.zero()

    def before(self, action: Action) -> None:
        """To be called before each pass."""
        if action.stage in self._weights and action.kind != BACKWARD_WEIGHT:
            self._weights[action.stage].begin()

    def after(self, action: Action) -> None:
        """To be called after each pass."""
        if action.stage in self._weights:
            self._weights[action.stage].end()
        if action in self._due:
            for bucket in self.buckets[action.stage]:
                bucket.start_sum()

    def finish(self) -> None:
        """Waits for the sums, and adds up embedding and head of one weight."""
        for bucket in self:
            bucket.wait()
        self._sum_tied()

    @contextlib.contextmanager
    def whole_weights(self) -> Iterator[None]:
        """All weights of this rank's stages are whole meanwhile. Collective over replicas with ZeRO 3."""
        try:
            for bucket in self:
                bucket.gather_weights()
            yield
        finally:
            for bucket in self:
                bucket.free_weights()

    def gathered(self) -> dict[str, torch.Tensor]:
        """The gradients of all parameters of this rank by global name. Collective over replicas."""
        return {
            slot.name: whole[slot.start : slot.end].view_as(slot.parameter)
            for bucket in self
            for whole in (bucket.whole_gradient(),)
            for slot in bucket.slots
        }

    def counted(self, name: str, parameter: nn.Parameter) -> bool:
        """Whether this rank counts a parameter in the norm: tied copies and what tp does not cut count once."""
        is_copy = self._plan.model.tied_embeddings and name == HEAD
        return not is_copy and (parameter.shard_dim is not None or self._mesh.tp.index == 0)

    def _tied_group(self) -> dist.ProcessGroup | None:
        ends = self._plan.stages[0].rank, self._plan.stages[-1].rank
        if not self._plan.model.tied_embeddings or ends[0] == ends[1]:
            return None
        return pair_groups(self._mesh, [ends]).get(ends)

    def _sum_tied(self) -> None:
        """Embedding and head of one weight on two stages: both get the sum."""
        held = [bucket for bucket in self if len(self._plan.stages) > 1 and _is_tied(self._plan, bucket.slots[0].name)]
        if self._tied is not None:
            dist.all_reduce(held[0].shard_gradient, group=self._tied)
        elif len(held) == 2:
            held[0].shard_gradient += held[1].shard_gradient
            held[1].shard_gradient.copy_(held[0].shard_gradient)


def _buckets(plan: Plan, mesh: Mesh, stage: Stage) -> list[Bucket]:
    """One for each type of a stage's parameters, and one for a weight that another stage has too. With ZeRO 3 each layer has its own."""
    parts: dict[tuple[bool, torch.dtype, str | None], dict[str, nn.Parameter]] = {}
    for name, parameter in stage.named_parameters():
        if not parameter.requires_grad:
            continue
        layer = layer_of(name) if plan.layout.zero_stage == 3 else None
        parts.setdefault((_is_tied(plan, name), parameter.dtype, layer), {})[name] = parameter
    return [Bucket(part, mesh, plan.layout.zero_stage) for part in parts.values()]


def _is_tied(plan: Plan, name: str) -> bool:
    return plan.model.tied_embeddings and len(plan.stages) > 1 and name in (EMBEDDING, HEAD)


def _last_backwards(plan: Plan, rank: int, by_micro_batch: bool) -> Iterable[Action]:
    """The last B or W of each stage of a rank, or of each of its micro-batches in that stage."""
    last: dict[tuple[int, int], Action] = {}
    for action in plan.actions[rank]:
        if action.kind != FORWARD:
            micro_batch = plan.units[action.unit].micro_batch if by_micro_batch else 0
            last[action.stage, micro_batch] = action
    return last.values()

"""AutoPipe: after a freeze, the layers left on fewer stages, as even as can be, with micro-batches chosen again."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from terapipe_torch.elastic.plan import ElasticPlan
from terapipe_torch.elastic.schedules import rows_of, units_of
from terapipe_torch.errors import RuntimeRefusal
from terapipe_torch.mesh import Axis
from terapipe_torch.model.linear import Parallel
from terapipe_torch.model.spec import ModelSpec
from terapipe_torch.model.stage import Stage
from terapipe_torch.plan import Layout, Plan, StageLayers, check_plan
from terapipe_torch.weight_grads import WeightGradients

# of a forward and backward
_forward_share = 1 / 3


@dataclass(frozen=True)
class Shape:
    """
    How an epoch is run: `cut`: layers of each stage, frozen ones counted; `batch`: sequences of a step of one pipeline.
    """

    frozen_layers: int
    replicas: int
    cut: tuple[int, ...]
    batch: int
    micro_batches: int
    slices: tuple[int, ...]

    @property
    def length(self) -> int:
        return len(self.cut)


@dataclass(frozen=True)
class ModelSize:
    """Parameters of the embedding, of each layer, and of the last norm with the head."""

    embedding: int
    layers: tuple[int, ...]
    head: int


def model_size(spec: ModelSpec) -> ModelSize:
    """Counted without memory for them."""
    with torch.device("meta"):
        whole = Stage(spec, StageLayers(0, 0, spec.layers, True, True), Parallel(Axis(), Axis(), False, WeightGradients()))
    count = {name: sum(each.numel() for each in module.parameters()) for name, module in whole.named_children()}
    layers = tuple(sum(each.numel() for each in block.parameters()) for block in whole.layers.values())
    return ModelSize(count["embed_tokens"], layers, count["norm"] + count["lm_head"])


def balanced(costs: Sequence[float], stages: int) -> tuple[int, ...]:
    """Lengths of `stages` consecutive parts of `costs`, none of them empty, whose largest sum is smallest. At least `stages` costs."""
    best: list[list[tuple[float, int]]] = [[(0.0, 0)] + [(float("inf"), 0)] * len(costs)]
    sums = [sum(costs[:end]) for end in range(len(costs) + 1)]
    for stage in range(1, stages + 1):
        row = [(float("inf"), 0)] * (len(costs) + 1)
        for end in range(stage, len(costs) + 1):
            row[end] = min((max(best[stage - 1][start][0], sums[end] - sums[start]), start) for start in range(stage - 1, end))
        best.append(row)
    ends = [len(costs)]
    for stage in range(stages, 0, -1):
        ends.append(best[stage][ends[-1]][1])
    ends.reverse()
    return tuple(end - start for start, end in itertools.pairwise(ends))


def cut_layers(size: ModelSize, frozen: int, stages: int, is_inside: bool) -> tuple[int, ...]:
    """
    Layers of each stage. Those that train are balanced by parameters, and the frozen ones run on the first stage; inside
    the pipeline frozen layers are balanced too, as the third of the work that their forward is.
    """
    first, last = (size.embedding if frozen == 0 else 0), size.head
    if is_inside or frozen == 0:
        costs = [cost * (_forward_share if layer < frozen else 1.0) for layer, cost in enumerate(size.layers)]
        return balanced([costs[0] + first, *costs[1:-1], costs[-1] + last] if len(costs) > 1 else [costs[0] + first + last], stages)
    active = list(size.layers[frozen:]) or [0]
    active[-1] += last
    cut = balanced(active, stages)
    return (len(size.layers) - sum(cut[1:]), *cut[1:])


def largest_stage(size: ModelSize, frozen: int, cut: Sequence[int]) -> int:
    """Parameters that train, of the stage that has most of them."""
    sums, end = [], 0
    for stage, count in enumerate(cut):
        start, end = end, end + count
        held = sum(size.layers[max(start, frozen) : end])
        held += size.embedding if stage == 0 and frozen == 0 else 0
        sums.append(held + (size.head if stage == len(cut) - 1 else 0))
    return max(sums)


def shorter(length: int, largest: Callable[[int], int | None], largest_at_first: int) -> int:
    """
    The length, halved while the largest stage is not larger than that of the first epoch (arXiv 2102.03161, section 3.2),
    or while there are fewer layers left than stages. `largest(stages)`: that stage, None where there is no such cut.
    """
    while length >= 2:
        found = largest(length // 2)
        if largest(length) is not None and (found is None or found > largest_at_first):
            break
        length //= 2
    return length


def table_micro_batches(length: int) -> int:
    """PipeTransformer's numbers by pipeline length (its released code)."""
    return 16 if length >= 2 else 4


def plan_of_shape(plan: ElasticPlan, shape: Shape) -> Plan:
    """What the loop runs in an epoch. Raises RuntimeRefusal."""
    stages, first = [], 0
    for number, layers in enumerate(shape.cut):
        stages.append(StageLayers(number, first, layers, number == 0, number == shape.length - 1))
        first += layers
    units = tuple(units_of(shape.batch, shape.micro_batches, shape.slices))
    made = Plan(
        title=plan.title,
        schedule=plan.schedule,
        model=plan.model,
        layout=Layout(shape.length, data=shape.replicas, rank_order=("tensor", "context", "pipeline", "data")),
        stages=tuple(stages),
        units=units,
        actions=(),
        training=dataclasses.replace(plan.training, global_batch=shape.batch * shape.replicas),
        frozen_layers=shape.frozen_layers,
    )
    rows = rows_of(plan.schedule, shape.length, made.frozen_stages, units)
    made = dataclasses.replace(made, actions=tuple(map(tuple, rows)))
    check_plan(made)
    return made


class AutoPipe:
    """Shapes of epochs, from the frozen layers of each."""

    def __init__(self, plan: ElasticPlan) -> None:
        self.plan, self.size = plan, model_size(plan.model)
        self.first_cut = cut_layers(self.size, 0, plan.pipeline_length, False)
        self._largest_at_first = largest_stage(self.size, 0, self.first_cut)

    def shape(self, epoch: int, frozen: int) -> Shape:
        """Of an epoch as it was planned, else by the rules. Raises RuntimeRefusal for a batch that does not divide."""
        plan, planned = self.plan, self.plan.planned[epoch] if self.plan.planned else None
        is_inside = plan.frozen_inside if planned is None else planned.is_frozen_inside
        length = self._length(frozen, is_inside) if planned is None else planned.pipeline_length
        replicas = plan.replicas * (plan.pipeline_length // length if plan.mechanisms.replicas else 1)
        if planned is not None:
            replicas = planned.replicas
        batch, rest = (plan.batch, 0) if plan.batch_scaling == "scaled" else divmod(plan.batch * plan.replicas, replicas)
        if rest != 0:
            raise RuntimeRefusal(f"{plan.batch * plan.replicas} sequences of a step cannot be divided over {replicas} pipelines")
        micro_batches = planned.micro_batches if planned is not None else plan.micro_batches or table_micro_batches(length)
        slices = planned.slices if planned is not None and planned.slices else plan.slices or (plan.training.sequence_length,)
        if not plan.mechanisms.pipe:
            cut = self.first_cut
        elif self._cut(frozen, length, is_inside) is None:
            raise RuntimeRefusal(f"{plan.model.layers} layers, {frozen} frozen, cannot be cut into {length} stages")
        else:
            cut = cut_layers(self.size, frozen, length, is_inside)
        return Shape(frozen, replicas, cut, batch, min(micro_batches, batch), tuple(slices))

    def _length(self, frozen: int, is_inside: bool) -> int:
        if not self.plan.mechanisms.pipe:
            return self.plan.pipeline_length

        def largest(stages: int) -> int | None:
            cut = self._cut(frozen, stages, is_inside)
            return None if cut is None else largest_stage(self.size, frozen, cut)

        return shorter(self.plan.pipeline_length, largest, self._largest_at_first)

    def _cut(self, frozen: int, stages: int, is_inside: bool) -> tuple[int, ...] | None:
        room = self.plan.model.layers - (0 if is_inside else min(frozen, self.plan.model.layers - 1))
        return cut_layers(self.size, frozen, stages, is_inside) if stages <= room else None

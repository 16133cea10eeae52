"""plan.json: the model, the layout and, for each pipeline rank, the order of its passes."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from terapipe_torch.errors import RuntimeRefusal
from terapipe_torch.model.refusals import check_model
from terapipe_torch.model.spec import ModelSpec, from_json

FORWARD, BACKWARD, BACKWARD_INPUT, BACKWARD_WEIGHT = "F", "B", "I", "W"
_action = re.compile(r"(\d+)([FBIW])(\d+)")
_versions = (1,)


class Action(NamedTuple):
    """One pass of a unit through a stage. `kind` is PyTorch's letter: F, B, or I and then W."""

    stage: int
    kind: str
    unit: int

    def __str__(self) -> str:
        return f"{self.stage}{self.kind}{self.unit}"


@dataclass(frozen=True)
class Unit:
    """A token slice of a micro-batch: `batch` sequences, `tokens` each, after `context` tokens."""

    micro_batch: int
    slice: int
    batch: int
    tokens: int
    context: int

    @property
    def end(self) -> int:
        return self.context + self.tokens


@dataclass(frozen=True)
class StageLayers:
    """The part of the model that a stage (PyTorch's word; a chunk in Megatron-LM) holds."""

    rank: int
    first_layer: int
    layers: int
    embedding: bool = False
    head: bool = False


@dataclass(frozen=True)
class Layout:
    """Sizes of the parallel groups. `rank_order` names the axes, the fastest first."""

    pipeline: int
    tensor: int = 1
    context: int = 1
    data: int = 1
    expert: int = 1
    sequence_parallel: bool = False
    zero_stage: int = 0
    rank_order: tuple[str, ...] = ("tensor", "context", "data", "pipeline")

    @property
    def world(self) -> int:
        return self.pipeline * self.tensor * self.context * self.data

    def size(self, axis: str) -> int:
        return getattr(self, axis)


@dataclass(frozen=True)
class Training:
    """
    What the step does around the passes. `sequence_length` in tokens, `global_batch` in sequences. No
    defaults: the export chooses every value and writes it.
    """

    sequence_length: int
    global_batch: int
    optimizer: str
    precision: str
    recompute: str
    learning_rate: float
    learning_rate_schedule: str
    warmup_steps: int
    decay_steps: int | None
    min_learning_rate: float
    weight_decay: float
    beta1: float
    beta2: float
    epsilon: float
    gradient_clip: float
    seed: int


@dataclass(frozen=True)
class Plan:
    """
    plan.json. `actions` has a row for each pipeline rank; `digest` is that of the file. The embedding and the
    first `frozen_layers` do not train, where that is not 0: stages of nothing else run forward only.
    """

    title: str
    schedule: str
    model: ModelSpec
    layout: Layout
    stages: tuple[StageLayers, ...]
    units: tuple[Unit, ...]
    actions: tuple[tuple[Action, ...], ...]
    training: Training
    predicted: dict[str, Any] = field(default_factory=dict)
    digest: str = ""
    frozen_layers: int = 0

    @property
    def frozen_stages(self) -> int:
        """The first stages, which have nothing that trains. The last has the head, which always does."""
        ends = [stage.first_layer + stage.layers for stage in self.stages[:-1]]
        return sum(end <= self.frozen_layers for end in ends) if self.frozen_layers > 0 else 0

    def rank_of(self, stage: int) -> int:
        """Pipeline rank that holds a stage."""
        return self.stages[stage].rank

    def stages_of(self, rank: int) -> list[int]:
        return [index for index, stage in enumerate(self.stages) if stage.rank == rank]

    def slices(self) -> dict[int, list[Unit]]:
        """Units by micro-batch, in their order."""
        slices: dict[int, list[Unit]] = {}
        for unit in self.units:
            slices.setdefault(unit.micro_batch, []).append(unit)
        return slices

    def first_sequence(self) -> dict[int, int]:
        """Where the sequences of each micro-batch begin in the batch of a replica."""
        sizes = {unit.micro_batch: unit.batch for unit in self.units}
        first, starts = 0, {}
        for micro_batch in sorted(sizes):
            starts[micro_batch] = first
            first += sizes[micro_batch]
        return starts

    @property
    def replica_batch(self) -> int:
        """Sequences that one replica trains in a step."""
        return sum({unit.micro_batch: unit.batch for unit in self.units}.values())


class Message(NamedTuple):
    """What one stage sends to the next (kind F) or to the one before it (kind B), named by its receiver."""

    stage: int
    kind: str
    unit: int


def message_after(action: Action, stages: int, frozen_stages: int = 0) -> Message | None:
    """What an action sends when it is done, or None; nothing goes back to frozen stages."""
    if action.kind == FORWARD and action.stage + 1 < stages:
        return Message(action.stage + 1, FORWARD, action.unit)
    if action.kind in (BACKWARD, BACKWARD_INPUT) and action.stage > frozen_stages:
        return Message(action.stage - 1, BACKWARD, action.unit)
    return None


def message_before(action: Action, stages: int) -> Message | None:
    """What an action waits for, or None."""
    if action.kind == FORWARD and action.stage > 0:
        return Message(action.stage, FORWARD, action.unit)
    if action.kind in (BACKWARD, BACKWARD_INPUT) and action.stage + 1 < stages:
        return Message(action.stage, BACKWARD, action.unit)
    return None


def messages_by_edge(plan: Plan) -> dict[tuple[int, int], list[Message]]:
    """
    For each directed pair of pipeline ranks, its messages in the order in which they are sent. NCCL
    has no tags: a receiver posts its receives in this order, whatever order it needs them in.
    """
    edges: dict[tuple[int, int], list[Message]] = {}
    for rank, row in enumerate(plan.actions):
        for action in row:
            message = message_after(action, len(plan.stages), plan.frozen_stages)
            if message is not None and plan.rank_of(message.stage) != rank:
                edges.setdefault((rank, plan.rank_of(message.stage)), []).append(message)
    return edges


def load_plan(path: str | Path) -> Plan:
    """Reads and checks plan.json. Raises RuntimeRefusal in one sentence."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        data = json.loads(text)
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise RuntimeRefusal(f"{path} cannot be read: {error}") from error
    if not isinstance(data, dict) or data.get("kind") != "terapipe-torch-plan":
        raise RuntimeRefusal(f"{path} is not a plan that terapipe export --to torchrun wrote")
    if data.get("version") not in _versions:
        raise RuntimeRefusal(f"{path} has version {data.get('version')}; this runtime reads {_versions[0]}: export both again")
    try:
        plan = _parsed(data, hashlib.sha256(text.encode()).hexdigest())
    except (KeyError, TypeError, ValueError) as error:
        raise RuntimeRefusal(f"{path} is damaged ({error!r}): export it again") from error
    check_plan(plan)
    return plan


def _parsed(data: dict[str, Any], digest: str) -> Plan:
    return Plan(
        title=str(data.get("title", "")),
        schedule=str(data.get("schedule", "")),
        model=from_json(ModelSpec, data["model"]),
        layout=from_json(Layout, data["layout"]),
        stages=tuple(from_json(StageLayers, stage) for stage in data["stages"]),
        units=tuple(from_json(Unit, unit) for unit in data["units"]),
        actions=tuple(tuple(map(parse_action, row)) for row in data["actions"]),
        training=from_json(Training, data["training"]),
        predicted=data.get("predicted") or {},
        digest=digest,
    )


def parse_action(text: str) -> Action:
    """An action of its text, such as 0F3. Raises ValueError."""
    match = _action.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not an action")
    return Action(int(match[1]), match[2], int(match[3]))


def check_plan(plan: Plan) -> None:
    """Whether this plan trains: a model that there are layers for, a complete order on the ranks of its stages, no deadlock."""
    check_model(plan.model, plan.layout.tensor)
    _check_layout(plan)
    _check_stages(plan)
    _check_units(plan)
    _check_complete(plan)
    for rank, row in enumerate(plan.actions):
        _check_slice_order(plan, rank, row)
    _check_progress(plan)


def _check_layout(plan: Plan) -> None:
    layout, model, length = plan.layout, plan.model, plan.training.sequence_length
    if min(layout.pipeline, layout.tensor, layout.context, layout.data, layout.expert) < 1:
        raise RuntimeRefusal("every size of the layout must be 1 or more")
    if layout.expert > 1:
        raise RuntimeRefusal(f"the runtime has no expert parallelism ({layout.expert}): plan with layout.expert=1")
    if model.positions == "learned" and length > (model.max_positions or 0):
        raise RuntimeRefusal(f"the model has {model.max_positions} positions, the sequences {length} tokens")
    parts = layout.context * (layout.tensor if layout.sequence_parallel else 1)
    uneven = next((unit for unit in plan.units if unit.tokens % parts != 0), None)
    if uneven is not None:
        raise RuntimeRefusal(f"a slice of {uneven.tokens} tokens cannot be split over {parts} ranks of context and sequence parallelism")


def _check_stages(plan: Plan) -> None:
    layer = 0
    for index, stage in enumerate(plan.stages):
        if stage.first_layer != layer or stage.layers < 0:
            raise RuntimeRefusal(f"stage {index} begins at layer {stage.first_layer}, not {layer}")
        if not 0 <= stage.rank < plan.layout.pipeline:
            raise RuntimeRefusal(f"stage {index} is on rank {stage.rank} of {plan.layout.pipeline}")
        layer += stage.layers
    if layer != plan.model.layers:
        raise RuntimeRefusal(f"the stages hold {layer} layers, the model has {plan.model.layers}")
    ends = [index for index, stage in enumerate(plan.stages) if stage.embedding], [i for i, stage in enumerate(plan.stages) if stage.head]
    if ends != ([0], [len(plan.stages) - 1]):
        raise RuntimeRefusal("the first stage must have the embedding and the last one the head")
    if len(plan.actions) != plan.layout.pipeline:
        raise RuntimeRefusal(f"{len(plan.actions)} rows of actions for {plan.layout.pipeline} ranks")


def _check_units(plan: Plan) -> None:
    batch = plan.replica_batch * plan.layout.data
    if batch != plan.training.global_batch:
        raise RuntimeRefusal(f"the units are of {batch} sequences, the global batch has {plan.training.global_batch}")
    for micro_batch, units in plan.slices().items():
        if len(units) > 1 and not plan.model.causal:
            raise RuntimeRefusal("sequences of an encoder cannot be cut into slices: its tokens attend to later ones")
        end = 0
        for number, unit in enumerate(units):
            if (unit.slice, unit.context) != (number, end) or unit.tokens < 1 or unit.batch < 1:
                raise RuntimeRefusal(f"slice {unit.slice} of micro-batch {micro_batch} does not follow {end} tokens")
            end = unit.end
        if end != plan.training.sequence_length:
            raise RuntimeRefusal(f"the slices of micro-batch {micro_batch} have {end} of {plan.training.sequence_length} tokens")


def _check_complete(plan: Plan) -> None:
    seen: dict[tuple[int, int], str] = {}
    for rank, row in enumerate(plan.actions):
        for action in row:
            if action.stage >= len(plan.stages) or action.unit >= len(plan.units):
                raise RuntimeRefusal(f"{action}: the plan has no such stage or unit")
            if plan.rank_of(action.stage) != rank:
                raise RuntimeRefusal(f"{action} is in the row of rank {rank}, its stage on rank {plan.rank_of(action.stage)}")
            key = (action.stage, action.unit)
            seen[key] = seen.get(key, "") + action.kind
    for stage in range(len(plan.stages)):
        for unit in range(len(plan.units)):
            allowed = ("F",) if stage < plan.frozen_stages else ("FB", "FIW")
            if seen.get((stage, unit)) not in allowed:
                raise RuntimeRefusal(
                    f"stage {stage} runs unit {unit} as {seen.get((stage, unit), 'nothing')!r}, not {' or '.join(allowed)}"
                )


def _check_slice_order(plan: Plan, rank: int, row: tuple[Action, ...]) -> None:
    """Keys and values of earlier slices are needed forward, gradients of later slices backward."""
    slices = plan.slices()
    forward: dict[tuple[int, int], int] = {}
    backward: dict[tuple[int, int], int] = {}
    for action in row:
        unit = plan.units[action.unit]
        key = (action.stage, unit.micro_batch)
        if action.kind == FORWARD:
            if unit.slice != forward.get(key, 0):
                raise RuntimeRefusal(f"{action} on rank {rank}: slices must go forward first to last")
            forward[key] = unit.slice + 1
        elif action.kind != BACKWARD_WEIGHT:
            last = backward.get(key, len(slices[unit.micro_batch]))
            if unit.slice != last - 1:
                raise RuntimeRefusal(f"{action} on rank {rank}: slices must go backward last to first")
            backward[key] = unit.slice


def _check_progress(plan: Plan) -> None:
    """Runs the order without computing; raises RuntimeRefusal where ranks wait for one another."""
    sent: set[Message] = set()
    rows = [iter(row) for row in plan.actions]
    waiting = [next(row, None) for row in rows]
    while any(waiting):
        moved = [_advance(rank, rows, waiting, sent, plan) for rank in range(len(rows))]
        if not any(moved):
            stuck = ", ".join(f"rank {rank} at {action}" for rank, action in enumerate(waiting) if action)
            raise RuntimeRefusal(f"this order deadlocks: {stuck}")


def _advance(rank: int, rows: list[Iterator[Action]], waiting: list[Action | None], sent: set[Message], plan: Plan) -> bool:
    moved = False
    while (action := waiting[rank]) is not None:
        needed = message_before(action, len(plan.stages))
        if needed is not None and needed not in sent:
            return moved
        message = message_after(action, len(plan.stages), plan.frozen_stages)
        if message is not None:
            sent.add(message)
        waiting[rank] = next(rows[rank], None)
        moved = True
    return moved


def with_training(plan: Plan, **changes: Any) -> Plan:
    """The plan with other settings of its training."""
    return dataclasses.replace(plan, training=dataclasses.replace(plan.training, **changes))

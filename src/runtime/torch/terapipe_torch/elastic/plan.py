"""elastic.json: a run that freezes layers, with its rule or what `terapipe elastic` planned for each epoch."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from terapipe_torch.elastic.freeze import GivenRule, freeze_rule
from terapipe_torch.errors import RuntimeRefusal
from terapipe_torch.model.refusals import check_model
from terapipe_torch.model.spec import ModelSpec, from_json
from terapipe_torch.plan import Training

KIND = "terapipe-torch-elastic"
_version = 1
_schedules = ("GPipe", "1F1B")


@dataclass(frozen=True)
class Freezing:
    """The rule by its name in `elastic.freezing`, with what it needs."""

    rule: str = "alpha"
    alpha: float = 1 / 3
    frozen_layers: tuple[int, ...] = ()


@dataclass(frozen=True)
class Mechanisms:
    """PipeTransformer's parts, each on or off: shorter pipelines, more replicas, cached outputs of frozen layers."""

    pipe: bool = True
    replicas: bool = True
    cache: bool = True


@dataclass(frozen=True)
class PlannedEpoch:
    """What `terapipe elastic` decided for an epoch; it has the rest of its answer in `elasticJson`."""

    frozen_layers: int
    pipeline_length: int
    replicas: int
    micro_batches: int
    slices: tuple[int, ...] = ()
    is_frozen_inside: bool = False
    epoch_ms: float | None = None


@dataclass(frozen=True)
class ElasticPlan:
    """
    elastic.json. `pipeline_length` and `replicas`: of the first epoch, in ranks; `batch`: sequences of a step of one
    pipeline in it, which stay ("scaled", so that a step grows with the replicas) or are divided ("kept").
    `micro_batches`: of a step of one pipeline, or None for PipeTransformer's table. `slices`: tokens of the slices of
    every sequence, none for whole sequences. `frozen_inside`: frozen layers run through the stages, not before them.
    `cache_bytes`, `cache_disk_bytes`: what the cache may take of a machine's memory and disk.
    """

    model: ModelSpec
    training: Training
    epochs: int
    pipeline_length: int
    replicas: int
    batch: int
    samples: int | None = None
    title: str = ""
    batch_scaling: str = "scaled"
    micro_batches: int | None = None
    schedule: str = "GPipe"
    slices: tuple[int, ...] = ()
    frozen_inside: bool = False
    freezing: Freezing = field(default_factory=Freezing)
    mechanisms: Mechanisms = field(default_factory=Mechanisms)
    cache_bytes: int = 1 << 32
    cache_disk_bytes: int = 1 << 36
    planned: tuple[PlannedEpoch, ...] = ()
    digest: str = ""

    @property
    def world(self) -> int:
        return self.pipeline_length * self.replicas


def is_elastic(path: str | Path) -> bool:
    """Whether a file is an elastic.json; false too where it cannot be read, which the reader of plans explains."""
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(data, dict) and data.get("kind") == KIND


def load_elastic(path: str | Path) -> ElasticPlan:
    """Reads and checks elastic.json. Raises RuntimeRefusal in one sentence."""
    try:
        text = Path(path).read_text(encoding="utf-8")
        data = json.loads(text)
    except (OSError, ValueError) as error:
        raise RuntimeRefusal(f"{path} cannot be read: {error}") from error
    if not isinstance(data, dict) or data.get("kind") != KIND:
        raise RuntimeRefusal(f"{path} is not a run that freezes layers ({KIND})")
    if data.get("version") != _version:
        raise RuntimeRefusal(f"{path} has version {data.get('version')}; this runtime reads {_version}: export both again")
    values = {name: value for name, value in data.items() if name not in ("kind", "version")}
    try:
        plan = from_json(ElasticPlan, {**values, "planned": [_planned(each) for each in values.get("planned") or []]})
    except (KeyError, TypeError, ValueError) as error:
        raise RuntimeRefusal(f"{path} is damaged ({error!r}): export it again") from error
    check_elastic(plan)
    return dataclasses.replace(plan, digest=hashlib.sha256(text.encode()).hexdigest())


def _planned(epoch: dict[str, Any]) -> dict[str, Any]:
    """Of an epoch in `elasticJson`, what is run."""
    names = ("frozenLayers", "pipelineLength", "replicas", "microBatches", "slices", "isFrozenInside", "epochMs")
    return {name: epoch[name] for name in names if name in epoch}


def check_elastic(plan: ElasticPlan) -> None:
    """Raises RuntimeRefusal for a run that cannot be."""
    check_model(plan.model, 1)
    numbers = (plan.epochs, plan.pipeline_length, plan.replicas, plan.batch, plan.micro_batches or 1, plan.samples or 1)
    if min(numbers) < 1 or min(plan.cache_bytes, plan.cache_disk_bytes) < 0:
        raise RuntimeRefusal("epochs, samples, pipelines and batches must be 1 or more")
    if plan.model.tied_embeddings:
        raise RuntimeRefusal("the head is tied to the embedding, which freezes: set tiedEmbeddings to false")
    if plan.schedule not in _schedules or plan.batch_scaling not in ("scaled", "kept"):
        raise RuntimeRefusal(
            f"schedule {plan.schedule!r} and batchScaling {plan.batch_scaling!r}: the runtime has GPipe, 1F1B, scaled, kept"
        )
    if plan.pipeline_length > plan.model.layers:
        raise RuntimeRefusal(f"{plan.model.layers} layers cannot be cut into {plan.pipeline_length} stages")
    if plan.mechanisms.cache and not plan.mechanisms.pipe:
        raise RuntimeRefusal("the cache needs the frozen layers on the first stage: switch mechanisms.pipe on, or the cache off")
    freeze_rule(plan.freezing.rule, plan.model.layers, plan.freezing.alpha, plan.freezing.frozen_layers)
    _check_planned(plan)


def _check_planned(plan: ElasticPlan) -> None:
    if not plan.planned:
        return
    if len(plan.planned) < plan.epochs:
        raise RuntimeRefusal(f"{len(plan.planned)} epochs are planned, the run has {plan.epochs}")
    GivenRule(plan.model.layers, [each.frozen_layers for each in plan.planned])
    for number, each in enumerate(plan.planned):
        if min(each.pipeline_length, each.replicas, each.micro_batches) < 1 or each.pipeline_length * each.replicas > plan.world:
            raise RuntimeRefusal(f"epoch {number} has {each.replicas} pipelines of {each.pipeline_length}, the run {plan.world} ranks")

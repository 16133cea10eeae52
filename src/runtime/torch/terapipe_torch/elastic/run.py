"""A run that freezes layers: between epochs it decides, makes new pipelines and moves the state; each epoch is logged."""

from __future__ import annotations

import json
import math
import os
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from terapipe_torch.checkpoint import is_unsaved, load_checkpoint, newest_checkpoint, read_index, save_checkpoint
from terapipe_torch.elastic.auto_cache import ActivationCache, CacheSize, memory_folder
from terapipe_torch.elastic.auto_dp import Placement, active_ranks, move_state, transfers
from terapipe_torch.elastic.auto_pipe import AutoPipe, Shape, plan_of_shape
from terapipe_torch.elastic.evaluate import Evaluation, Evaluator
from terapipe_torch.elastic.freeze import FreezeRule, GivenRule, freeze_rule
from terapipe_torch.elastic.plan import ElasticPlan
from terapipe_torch.elastic.samples import EpochOrder, Samples
from terapipe_torch.elastic.trainer import ElasticTrainer, Progress
from terapipe_torch.errors import RuntimeRefusal
from terapipe_torch.loop import DTYPES, Pipeline
from terapipe_torch.mesh import Mesh, make_mesh, release
from terapipe_torch.p2p import join_edge_groups
from terapipe_torch.waiting import IdleRanks, new_group
from terapipe_torch.weights.load import Weights


@dataclass(frozen=True)
class ElasticOptions:
    """Files and folders of a run: checkpoints, logs of steps and of epochs, the cache's disk, weights to start from."""

    save: str | None = None
    save_every: int | None = None
    resume: str | None = None
    log: str | None = None
    epochs_log: str | None = None
    cache: str | None = None
    weights: str | None = None


class ElasticRun:
    """All ranks make one, after init_process_group, and call `train`. `trainer` is None while this rank is idle."""

    def __init__(
        self, plan: ElasticPlan, samples: Samples, evaluation: Samples | None, device: torch.device, options: ElasticOptions
    ) -> None:
        if dist.get_world_size() != plan.world:
            raise RuntimeRefusal(f"the run needs {plan.world} processes, torchrun started {dist.get_world_size()}")
        self.plan, self.samples, self.evaluation, self.device, self.options = plan, samples, evaluation, device, options
        self.control, self.idle_ranks = new_group(backend="gloo"), IdleRanks()
        self.auto_pipe, self.rule = AutoPipe(plan), _rule(plan)
        self.progress = Progress(plan.model.layers)
        self.trainer: ElasticTrainer | None = None
        self.shape: Shape | None = None
        self.mesh: Mesh | None = None
        self.cache = _cache(plan, samples, options.cache)
        self.records: list[dict[str, Any]] = []

    def train(self) -> list[dict[str, Any]]:
        """All epochs that are left. On rank 0, what was logged of each; [] elsewhere."""
        path = self._checkpoint()
        if path is not None:
            self._resume(path)
        else:
            if self.options.resume is not None:
                self._shorten_logs(0)
            self.progress.begin(self._decided())
        self._open_cache()
        while self.progress.epoch < self.plan.epochs:
            self._epoch()
        self.idle_ranks.leave()
        return self.records

    def change(self, shape: Shape, resumed: bool = False) -> None:
        """Pipelines of another shape, with the state of those there were. Collective over all ranks."""
        old_trainer, old_mesh, old_shape = self.trainer, self.mesh, self.shape
        new = self._placement(shape)
        self.mesh = make_mesh(new.plan.layout, self.device, new.ranks)
        self.trainer = self._trainer(new, self.mesh, is_first=old_shape is None and not resumed)
        self.shape = shape
        if old_shape is None or old_mesh is None:
            return
        self._share_counters(old_trainer)
        move_state(transfers(self._placement(old_shape), new), shape.frozen_layers, old_trainer, self.trainer)
        dist.barrier(group=self.control)
        if old_trainer is not None:
            old_trainer.pipeline.mailbox.close()
        release(old_mesh)

    def _epoch(self) -> None:
        begin = time.perf_counter()
        shape = self.auto_pipe.shape(self.progress.epoch, self.progress.frozen[self.progress.epoch])
        if shape != self.shape:
            self.change(shape)
        transition_ms = _ms_since(begin)
        order = EpochOrder(self.samples.count, self.plan.training.seed, self.progress.epoch, shape.batch * shape.replicas)
        first_step, processor, begin = self.progress.step, time.process_time(), time.perf_counter()
        if self.trainer is not None:
            self._steps(self.trainer, order)
        train_ms, begin = _ms_since(begin), time.perf_counter()
        processor_ms = (time.process_time() - processor) * 1e3
        found = self._evaluated()
        self.idle_ranks.meet(self.trainer is None)
        times = {"transitionMs": transition_ms, "trainMs": train_ms, "evaluationMs": _ms_since(begin)}
        self._end(shape, order, order.steps - first_step, found, times, processor_ms)

    def _steps(self, trainer: ElasticTrainer, order: EpochOrder) -> None:
        if self.cache is not None:
            self.cache.count()
        trainer.begin_epoch(order, self.cache if self._is_cached() else None)
        while self.progress.step < order.steps:
            trainer.step()
            is_last = self.progress.step == order.steps
            if self.options.save_every is not None and trainer.next_step % self.options.save_every == 0 and not is_last:
                save_checkpoint(trainer, self.options.save)

    def _is_cached(self) -> bool:
        """All frozen layers are on the first stage, so that their outputs are what it begins with."""
        return self.cache is not None and self.shape is not None and 0 < self.shape.frozen_layers <= self.shape.cut[0]

    def _evaluated(self) -> Evaluation | None:
        if self.evaluation is None or self.trainer is None:
            return None
        return Evaluator(self.trainer.pipeline, self.idle_ranks.count).evaluate(self.evaluation)

    def _end(
        self, shape: Shape, order: EpochOrder, steps: int, found: Evaluation | None, times: dict[str, float], processor_ms: float
    ) -> None:
        """Norms and the decision on the next epoch go to all ranks; then rank 0 logs, and all save."""
        epoch, loss = self.progress.epoch, self.progress.loss / order.steps
        self._agree_on_next()
        numbers = [processor_ms, *((self.cache.computed, self.cache.advanced, self.cache.read) if self.cache else (0, 0, 0))]
        sums = torch.tensor(numbers, dtype=torch.float64)
        dist.all_reduce(sums, group=self.control)
        if dist.get_rank() == 0:
            record = self._record(epoch, shape, order, steps, times, loss, found)
            record |= {"processorMs": sums[0].item()}
            record["cache"] |= {name: int(count) for name, count in zip(("computed", "advanced", "read"), sums[1:].tolist(), strict=True)}
            self._log(record)
        if self.options.save is not None and self.trainer is not None:
            save_checkpoint(self.trainer, self.options.save)
        self.idle_ranks.meet(self.trainer is None)

    def _agree_on_next(self) -> None:
        """Idle ranks have no norms: what rank 0, which never is idle, has and decides holds."""
        if dist.get_rank() == 0:
            self.progress.end()
            self.progress.begin(self._decided())
        values: list[Any] = [asdict(self.progress)]
        dist.broadcast_object_list(values, src=0, group=self.control)
        for name, value in values[0].items():
            setattr(self.progress, name, value)

    def _decided(self) -> int:
        """Frozen layers of the epoch that begins. No layer thaws."""
        previous = self.progress.frozen[-1] if self.progress.frozen else 0
        return max(previous, self.rule.frozen_layers(self.progress.epoch, previous, self.progress.norms))

    def _record(
        self, epoch: int, shape: Shape, order: EpochOrder, steps: int, times: dict[str, float], loss: float, found: Evaluation | None
    ) -> dict[str, Any]:
        """Of an epoch, with the names of `terapipe elastic --json`. `norms` makes a list of them a log of gradient norms."""
        placement = self._placement(shape)
        seconds = times["trainMs"] / 1e3
        planned = self.plan.planned[epoch].epoch_ms if self.plan.planned else None
        state = "none" if not self._is_cached() else "read" if self.cache is not None and self.cache.computed == 0 else "fill"
        return {
            "epoch": epoch,
            "frozenLayers": shape.frozen_layers,
            "pipelineLength": shape.length,
            "replicas": shape.replicas,
            "activeRanks": list(placement.ranks[:: shape.length]),
            "microBatches": shape.micro_batches,
            "batch": shape.batch,
            "steps": order.steps,
            "slices": list(shape.slices),
            "stageLayers": _stage_units(shape),
            "isFrozenInside": shape.frozen_layers > 0 and shape.cut[0] < shape.frozen_layers,
            "cache": {"state": state},
            **times,
            "epochMs": sum(times.values()),
            **({} if planned is None else {"plannedMs": planned}),
            "samplesPerSecond": min(steps * order.global_batch, self.samples.count) / seconds if seconds > 0 else None,
            "loss": loss if math.isfinite(loss) else None,
            "norms": self.progress.norms[epoch],
            **({} if found is None else {"accuracy": found.accuracy, "evaluationLoss": found.loss}),
        }

    def _log(self, record: dict[str, Any]) -> None:
        self.records.append(record)
        planned = f" ({record['plannedMs'] / 1e3:.2f} s planned)" if "plannedMs" in record else ""
        accuracy = f", accuracy {record['accuracy']:.2%}" if "accuracy" in record else ""
        print(
            f"epoch {record['epoch']}: {record['frozenLayers']} of {self.plan.model.layers} layers frozen, "
            f"{record['replicas']} x {record['pipelineLength']} ranks, loss {record['loss']}{accuracy}, "
            f"{record['epochMs'] / 1e3:.2f} s{planned}",
            flush=True,
        )
        if self.options.epochs_log is not None:
            with Path(self.options.epochs_log).open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")

    def _shorten_logs(self, step: int) -> None:
        """Epochs and steps that were logged after the checkpoint, which is of `step`, are run and logged again."""
        if dist.get_rank() == 0:
            _shorten(self.options.epochs_log, "epoch", self.progress.epoch)
            _shorten(self.options.log, "step", step)

    def _checkpoint(self) -> Path | None:
        """Where the run continues, if anywhere. As rank 0 finds it: it may have saved a newer one when an idle rank looks."""
        found: list[Any] = [None]
        resume = self.options.resume
        if dist.get_rank() == 0 and resume is not None and not is_unsaved(resume, self.options.save):
            found = [str(newest_checkpoint(resume))]
        dist.broadcast_object_list(found, src=0, group=self.control)
        return None if found[0] is None else Path(found[0])

    def _resume(self, path: Path) -> None:
        """Into the shape of the epoch that the checkpoint is in, or of the last. Raises RuntimeRefusal for one of another kind of run."""
        index = read_index(path)
        saved = index.get("elastic")
        if saved is None or saved["layers"] != self.plan.model.layers:
            raise RuntimeRefusal(f"{path} is not of this run: it has no epochs of a model of {self.plan.model.layers} layers")
        for name, value in saved.items():
            setattr(self.progress, name, value)
        self._shorten_logs(index["step"])
        epoch = min(self.progress.epoch, self.plan.epochs - 1)
        self.change(self.auto_pipe.shape(epoch, self.progress.frozen[epoch]), resumed=True)
        if self.trainer is not None:
            load_checkpoint(self.trainer, str(path))
        self.idle_ranks.meet(self.trainer is None)

    def _trainer(self, placement: Placement, mesh: Mesh, is_first: bool) -> ElasticTrainer | None:
        if not mesh.is_active:
            join_edge_groups(placement.plan, mesh)
            return None
        named = self.options.weights if is_first else None
        weights = None if named is None else Weights(named, self.plan.model)
        pipeline = Pipeline(placement.plan, mesh, weights, fills=is_first)
        pipeline.after_pass = self.idle_ranks.count
        first_steps = math.ceil(self.samples.count / (self.plan.batch * self.plan.replicas))
        return ElasticTrainer(pipeline, self.samples, self.progress, first_steps, first_steps * self.plan.epochs, self.options.log)

    def _placement(self, shape: Shape) -> Placement:
        ranks = active_ranks(self.plan.pipeline_length, self.plan.replicas, shape.length, shape.replicas)
        return Placement(plan_of_shape(self.plan, shape), ranks)

    def _share_counters(self, old: ElasticTrainer | None) -> None:
        """What rank 0's trainer counts, to the new ones."""
        values: list[Any] = [None]
        if old is not None:
            scale = old.loss_scale
            values = [(old.next_step, old.sequences, old.optimizer.steps, scale.value, scale.good_steps)]
        dist.broadcast_object_list(values, src=0, group=self.control)
        if self.trainer is not None:
            new = self.trainer
            new.next_step, new.sequences, new.optimizer.steps, new.loss_scale.value, new.loss_scale.good_steps = values[0]

    def _open_cache(self) -> None:
        """One process of a machine makes the files, which lose their names when all have them: a run that is killed leaves none."""
        if self.cache is None:
            return
        is_owner = int(os.environ.get("LOCAL_RANK", str(dist.get_rank()))) == 0
        if is_owner:
            self.cache.create()
        dist.barrier(group=self.control)
        self.cache.open()
        dist.barrier(group=self.control)
        if is_owner:
            self.cache.remove()


def _shorten(log: str | None, key: str, end: int) -> None:
    """Keeps the whole lines of a log whose `key` is below `end`."""
    if log is None or not Path(log).exists():
        return
    path = Path(log)
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if line.endswith("\n") and json.loads(line)[key] < end]
    replacement = path.with_name(f".{path.name}.partial")
    replacement.write_text("".join(kept), encoding="utf-8")
    replacement.replace(path)


def _ms_since(begin: float) -> float:
    """`begin` is what time.perf_counter() gave, in seconds."""
    return (time.perf_counter() - begin) * 1e3


def _rule(plan: ElasticPlan) -> FreezeRule:
    if plan.planned:
        return GivenRule(plan.model.layers, [each.frozen_layers for each in plan.planned])
    return freeze_rule(plan.freezing.rule, plan.model.layers, plan.freezing.alpha, plan.freezing.frozen_layers)


def _cache(plan: ElasticPlan, samples: Samples, folder: str | None) -> ActivationCache | None:
    """In folders that all ranks name alike, and no other run."""
    if not plan.mechanisms.cache:
        return None
    name: list[Any] = [f"terapipe-{os.getpid()}-{time.time_ns()}"]
    dist.broadcast_object_list(name, src=0)
    dtype = DTYPES[plan.training.precision]
    size = CacheSize(
        samples.count, (plan.training.sequence_length, plan.model.hidden), dtype, plan.cache_bytes, plan.cache_disk_bytes if folder else 0
    )
    return ActivationCache(size, memory_folder() / name[0], Path(folder or tempfile.gettempdir()) / name[0])


def _stage_units(shape: Shape) -> list[int]:
    """What trains on each stage, as elasticJson counts: two units a layer, one for the embedding, two for the last norm and the head."""
    units, end = [], 0
    for stage, count in enumerate(shape.cut):
        start, end = end, end + count
        units.append(2 * max(0, end - max(start, shape.frozen_layers)) + (stage == 0 and shape.frozen_layers == 0))
    units[-1] += 2
    return units

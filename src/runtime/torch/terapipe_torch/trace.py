"""`--trace`: every operation of every rank on one clock, as a Chrome trace that Perfetto opens."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from terapipe_torch.clock import Clock, ClockOffset, on_clock
from terapipe_torch.errors import RuntimeRefusal
from terapipe_torch.launch import device_name
from terapipe_torch.live_bytes import LiveBytes
from terapipe_torch.loop import Pipeline
from terapipe_torch.optimizer import Optimizer
from terapipe_torch.recorder import Operation

VERSION = 1
_warm_up = 2
_on_gpu = "torch.cuda.max_memory_allocated"
_on_cpu = "counted between passes: weights, gradients, optimizer, what backward needs, keys and values, queued weight gradients"


class Trace:
    """
    Records the last of `steps` steps of a run; the first two, or of fewer than three all but one, are its
    warm-up, in the last of which memory is counted on CPUs. Every rank makes one.
    """

    def __init__(self, path: str, steps: int, pipeline: Pipeline, optimizer: Optimizer) -> None:
        if steps < 2:
            raise RuntimeRefusal("--trace needs --steps 2 or more: the first step is a warm-up")
        self.path, self.pipeline, self.optimizer = path, pipeline, optimizer
        self.warm_up = min(_warm_up, steps - 1)
        self.on_gpu = pipeline.mesh.device.type == "cuda"
        self.live = None if self.on_gpu else LiveBytes(pipeline)
        self.clock = Clock()
        self.first = ClockOffset(0.0, 0.0)

    @contextlib.contextmanager
    def step(self, number: int) -> Iterator[None]:
        """Around a whole training step, counted from 0 in this run."""
        if number == self.warm_up:
            self.first = self.clock.offset()
            if self.on_gpu:
                torch.cuda.reset_peak_memory_stats()
        with contextlib.ExitStack() as stack:
            if self.live is not None and number == self.warm_up - 1:
                stack.enter_context(self.live.counted())
                self.pipeline.after_pass = self.live.after_pass
                stack.callback(self._stop_counting)
            stack.enter_context(self.pipeline.recorder.step(number, number >= self.warm_up))
            yield

    def write(self) -> None:
        """Every rank calls it after the last step; rank 0 writes the file."""
        last = self.clock.offset()
        operations = [_shifted(each, self.first, last) for each in self.pipeline.recorder.operations]
        mine = {"operations": operations, "rank": _rank(self.pipeline), "memory": self._memory()}
        ranks: list[Any] | None = [None] * dist.get_world_size() if dist.get_rank() == 0 else None
        dist.gather_object(mine, ranks, group=self.clock.group)
        if ranks is not None:
            text = json.dumps(_chrome(ranks, self.pipeline, self.warm_up), separators=(",", ":"))
            Path(self.path).write_text(text.replace('},{"ph"', '},\n{"ph"') + "\n", encoding="utf-8")

    def _stop_counting(self) -> None:
        self.pipeline.after_pass = None

    def _memory(self) -> dict[str, Any]:
        """Bytes of weights, gradients and optimizer (`stateBytes`), and the peak of the step with them."""
        state = _state_bytes(self.pipeline, self.optimizer)
        if self.live is None:
            peak = torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()
            return {"stateBytes": state, "peakBytes": peak[0], "reservedBytes": peak[1]}
        return {"stateBytes": state, "peakBytes": state + self.live.peak}


def _state_bytes(pipeline: Pipeline, optimizer: Optimizer) -> int:
    tensors = []
    for parameter in pipeline.parameters().values():
        tensors += [parameter, parameter.__dict__.get("main_grad")]
    for bucket in pipeline.gradients:
        tensors += [bucket.weights, bucket.shard_weights, bucket.gradient, bucket.shard_gradient]
    for group in optimizer.adam.param_groups:
        tensors += group["params"]
    for state in optimizer.adam.state.values():
        tensors += [each for each in state.values() if torch.is_tensor(each)]
    storages = {each.untyped_storage().data_ptr(): each.untyped_storage().nbytes() for each in tensors if each is not None}
    return sum(storages.values())


def _rank(pipeline: Pipeline) -> dict[str, int]:
    mesh = pipeline.mesh
    return {"rank": mesh.rank, "pp": mesh.pp.index, "dp": mesh.dp.index, "cp": mesh.cp.index, "tp": mesh.tp.index}


def _shifted(operation: Operation, first: ClockOffset, last: ClockOffset) -> Operation:
    times = {name: on_clock(getattr(operation, name), first, last) for name in ("begin", "ready", "end")}
    return dataclasses.replace(operation, **times)


def _chrome(ranks: list[dict[str, Any]], pipeline: Pipeline, warm_up: int) -> dict[str, Any]:
    """Times in microseconds from the first event on; a rank is a process, what it waits for an event of its own."""
    plan = pipeline.plan
    starts = [each.begin for rank in ranks for each in rank["operations"]]
    zero = min(starts, default=0.0)
    events: list[dict[str, Any]] = []
    for rank in ranks:
        place = rank["rank"]
        name = f"rank {place['rank']}: pp {place['pp']}, dp {place['dp']}, cp {place['cp']}, tp {place['tp']}"
        events.append({"ph": "M", "name": "process_name", "pid": place["rank"], "tid": 0, "args": {"name": name}})
        events.append({"ph": "M", "name": "thread_name", "pid": place["rank"], "tid": 0, "args": {"name": f"pp rank {place['pp']}"}})
        for each in rank["operations"]:
            events += _events(each, place["rank"], zero)
    other = {
        "kind": "terapipe-torch-trace",
        "version": VERSION,
        "title": plan.title,
        "schedule": plan.schedule,
        "planDigest": plan.digest,
        "warmUpSteps": warm_up,
        "device": device_name(pipeline.mesh.device),
        "backend": dist.get_backend(),
        "precision": plan.training.precision,
        "torch": torch.__version__,
        "memoryCounted": _on_gpu if pipeline.mesh.device.type == "cuda" else _on_cpu,
        "memory": [{**rank["rank"], **rank["memory"]} for rank in ranks],
    }
    return {"traceEvents": events, "displayTimeUnit": "ms", "otherData": other}


def _events(operation: Operation, rank: int, zero: float) -> list[dict[str, Any]]:
    stall = operation.ready - operation.begin
    args = {"step": operation.step, **operation.details, "stallMs": round(stall * 1e3, 6)}
    if operation.cpu is not None:
        args["cpuMs"] = round(operation.cpu * 1e3, 6)
    event = {"ph": "X", "name": operation.name, "cat": operation.category, "pid": rank, "tid": 0}
    times = {"ts": _microseconds(operation.ready - zero), "dur": _microseconds(operation.end - operation.ready)}
    events = [{**event, **times, "args": args}]
    if stall > 0:
        times = {"ts": _microseconds(operation.begin - zero), "dur": _microseconds(stall)}
        events.insert(0, {**event, "name": f"wait for {operation.name}", "cat": "stall", **times, "args": {"step": operation.step}})
    return events


def _microseconds(seconds: float) -> float:
    return round(seconds * 1e6, 3)

"""When the operations of this rank began and ended: the loop marks them, `trace.py` writes them."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True)
class Operation:
    """
    Times in seconds of this rank's `time.perf_counter`. From `begin` to `ready` it waited for its input;
    `cpu`: time of the CPU in it, where the rank computes on one, else None.
    """

    name: str
    category: str
    step: int
    begin: float
    ready: float
    end: float
    cpu: float | None
    details: dict[str, Any]


@dataclass
class _Marks:
    name: str
    category: str
    details: dict[str, Any]
    begin: Any
    ready: Any
    end: Any = None
    cpu: float | None = None


class Recorder:
    """Records while it is `active`. On GPUs it marks the stream and reads the marks after the step."""

    def __init__(self, device: torch.device) -> None:
        self.active = False
        self.operations: list[Operation] = []
        self._on_gpu = device.type == "cuda"
        self._open: list[_Marks] = []
        self._marks: list[_Marks] = []

    @contextlib.contextmanager
    def step(self, number: int, active: bool) -> Iterator[None]:
        """All operations of a training step."""
        if not active:
            yield
            return
        self.active, zero = True, self._zero()
        yield
        self._read(number, zero)
        self.active = False

    @contextlib.contextmanager
    def operation(self, name: str, category: str, **details: Any) -> Iterator[None]:
        """One operation of the step; `details` go to its event in the trace."""
        if not self.active:
            yield
            return
        begin, cpu = self._now(), time.thread_time()
        marks = _Marks(name, category, details, begin, begin)
        self._open.append(marks)
        yield
        self._open.pop()
        marks.end = self._now()
        marks.cpu = None if self._on_gpu else time.thread_time() - cpu
        self._marks.append(marks)

    def received(self) -> None:
        """The running operation has its input."""
        if self._open:
            self._open[-1].ready = self._now()

    def _now(self) -> Any:
        if not self._on_gpu:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def _zero(self) -> tuple[Any, float]:
        """A mark, and the time of the CPU at which the stream passed it."""
        if not self._on_gpu:
            return None, 0.0
        torch.cuda.synchronize()
        event = self._now()
        event.synchronize()
        return event, time.perf_counter()

    def _read(self, step: int, zero: tuple[Any, float]) -> None:
        first, at = zero
        if self._on_gpu:
            torch.cuda.synchronize()

        def seconds(mark: Any) -> float:
            return at + first.elapsed_time(mark) / 1e3 if self._on_gpu else mark

        for each in self._marks:
            times = (seconds(each.begin), seconds(each.ready), seconds(each.end))
            self.operations.append(Operation(each.name, each.category, step, *times, each.cpu, each.details))
        self._marks.clear()

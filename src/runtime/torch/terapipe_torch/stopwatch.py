"""Times of pieces of work on one device, and medians of many of them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import torch


class Stopwatch:
    """
    On GPUs the stream's time. On one thread of a CPU its processor time where that is less than the wall's:
    what else runs on the machine then counts less. `waited`: wall over processor time, for each piece.
    """

    def __init__(self, device: torch.device) -> None:
        self._on_gpu = device.type == "cuda"
        self._one_thread = torch.get_num_threads() == 1
        self.waited: list[float] = []

    def ms(self, work: Callable[[], Any]) -> float:
        """Milliseconds that `work()` takes."""
        if self._on_gpu:
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            work()
            end.record()
            end.synchronize()
            return begin.elapsed_time(end)
        wall, cpu = time.perf_counter(), time.thread_time()
        work()
        wall, cpu = time.perf_counter() - wall, time.thread_time() - cpu
        self.waited.append(wall / max(cpu, 1e-9))
        return 1e3 * (min(wall, cpu) if self._one_thread else wall)


def spread(times: list[float]) -> dict[str, float]:
    """Median and quartiles: {"ms", "lowMs", "highMs"}."""
    low, middle, high = statistics.quantiles(times, n=4, method="inclusive") if len(times) > 1 else times * 3
    return {"ms": _digits(middle), "lowMs": _digits(low), "highMs": _digits(high)}


def _digits(value: float) -> float:
    return float(f"{value:.6g}")

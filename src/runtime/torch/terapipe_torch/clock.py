"""One clock for all ranks: that of rank 0, by messages there and back."""

from __future__ import annotations

import time
from dataclasses import dataclass

import torch
import torch.distributed as dist

from terapipe_torch.waiting import new_group

_rounds = 100


@dataclass(frozen=True)
class ClockOffset:
    """Seconds to add to this rank's `time.perf_counter` to get rank 0's, as they were at its time `at`."""

    at: float
    seconds: float


class Clock:
    """Measures offsets over gloo, whatever the backend of training: NCCL hands a message over when a GPU gets to it."""

    def __init__(self) -> None:
        self.rank, self.size = dist.get_rank(), dist.get_world_size()
        self.group = new_group(backend="gloo")

    def offset(self) -> ClockOffset:
        """Every rank calls it. The round trip that took least decides; its error is at most half of that trip."""
        for other in range(1, self.size):
            if self.rank == 0:
                self._answer(other)
            elif self.rank == other:
                offset = self._ask()
        return ClockOffset(time.perf_counter(), offset if self.rank > 0 else 0.0)

    def _answer(self, other: int) -> None:
        message = torch.zeros(1, dtype=torch.float64)
        for _ in range(_rounds):
            dist.recv(message, other, group=self.group)
            message[0] = time.perf_counter()
            dist.send(message, other, group=self.group)

    def _ask(self) -> float:
        message = torch.zeros(1, dtype=torch.float64)
        trips = []
        for _ in range(_rounds):
            begin = time.perf_counter()
            dist.send(message, 0, group=self.group)
            dist.recv(message, 0, group=self.group)
            end = time.perf_counter()
            trips.append((end - begin, message.item() - (begin + end) / 2))
        return min(trips)[1]


def on_clock(seconds: float, first: ClockOffset, last: ClockOffset) -> float:
    """A time of this rank on rank 0's clock; offsets between the two measurements are interpolated, as clocks drift."""
    span = last.at - first.at
    share = (seconds - first.at) / span if span > 0 else 0.0
    return seconds + first.seconds + share * (last.seconds - first.seconds)

"""How long a rank waits for another one before it ends the run: in collectives, and idle ranks for those that train."""

from __future__ import annotations

import datetime
import os
import threading
import time
from collections.abc import Sequence

import torch.distributed as dist

from terapipe_torch.errors import TrainingFailed

_limit = [datetime.timedelta(minutes=10)]
# seconds between two looks at the process that started this one
_look_s = 1.0


def set_limit(seconds: float) -> None:
    """Of all groups that are made from now on."""
    _limit[:] = [datetime.timedelta(seconds=seconds)]


def limit() -> datetime.timedelta:
    """The longest wait for one message or collective."""
    return _limit[0]


def new_group(ranks: Sequence[int] | None = None, backend: str | None = None) -> dist.ProcessGroup:
    """As dist.new_group, which gives groups of gloo 30 minutes, whatever the group of all ranks has."""
    return dist.new_group(None if ranks is None else list(ranks), timeout=limit(), backend=backend)


def end_with_parent() -> None:
    """Ends this process when torchrun, or what starts ranks as it does, is gone: nobody would end a rank that waits."""
    parent = os.getppid()

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(_look_s)
        os._exit(1)

    threading.Thread(target=look, daemon=True).start()


class IdleRanks:
    """
    Ranks without a stage wait for rank 0, which never is idle, however long an epoch takes, as long as it takes steps. All ranks make
    one, after init_process_group, and call `meet` in the same order.
    """

    def __init__(self) -> None:
        self._store = dist.PrefixStore("terapipe/idle", dist.distributed_c10d._get_default_store())
        self._met = 0

    def count(self) -> None:
        """Rank 0 has done a step, or a batch of an evaluation."""
        if dist.get_rank() == 0:
            self._store.add("done", 1)

    def meet(self, is_idle: bool) -> None:
        """An idle rank returns when rank 0 is here, too; others at once. Raises TrainingFailed when rank 0 does nothing for the limit."""
        self._met += 1
        name = f"meeting-{self._met}"
        if dist.get_rank() == 0:
            self._store.set(name, "")
        elif is_idle:
            self._wait(name)

    def _wait(self, name: str) -> None:
        done, begin = -1, time.monotonic()
        while not self._store.check([name]):
            now_done, waited = self._store.add("done", 0), time.monotonic() - begin
            if now_done != done:
                done, begin = now_done, time.monotonic()
            elif waited > limit().total_seconds():
                raise TrainingFailed(f"rank {dist.get_rank()} is idle, and rank 0 has done no step for {limit().total_seconds():g} s")
            time.sleep(min(0.5, 0.01 + waited / 20))

"""How long a rank waits for another one before it ends the run: in collectives, and idle ranks for those that train."""

from __future__ import annotations

import datetime
import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent import futures
from typing import TypeVar

import torch.distributed as dist

from terapipe_torch.errors import TrainingFailed

Answer = TypeVar("Answer")

_limit = [datetime.timedelta(minutes=10)]
# process number of what starts ranks, which may be gone when they look for it
PARENT = "TERAPIPE_PARENT"
# seconds between two counts of what rank 0 does, and how long it waits at the end for ranks that see it late
_count_s, _leave_s = 1.0, 10.0
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


def within(seconds: float, ask: Callable[[], Answer]) -> Answer:
    """What `ask` returns. Raises TimeoutError after `seconds`, for a store whose host hangs: not all of its calls have a timeout."""
    answer: futures.Future[Answer] = futures.Future()

    def run() -> None:
        try:
            answer.set_result(ask())
        except Exception as error:
            answer.set_exception(error)

    # not a thread of a pool, which Python waits for at its end
    threading.Thread(target=run, daemon=True).start()
    try:
        return answer.result(seconds)
    except futures.TimeoutError as error:
        raise TimeoutError(f"no answer for {seconds:g} s") from error


def end_with_parent() -> None:
    """Ends this process when torchrun, or what starts ranks as it does, is gone: nobody would end a rank that waits."""
    parent = int(os.environ.get(PARENT, os.getppid()))

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
        self._counted = 0.0

    def count(self) -> None:
        """Rank 0 has done a pass, or a batch of an evaluation. The store hears of it once a second."""
        now = time.monotonic()
        if dist.get_rank() == 0 and now - self._counted > _count_s:
            self._counted = now
            self._store.add("done", 1)

    def meet(self, is_idle: bool) -> None:
        """An idle rank returns when rank 0 is here, too; others at once. Raises TrainingFailed when rank 0 does nothing for long."""
        self._met += 1
        name = f"meeting-{self._met}"
        if dist.get_rank() == 0:
            self._store.set(name, "")
        elif is_idle:
            self._wait(name)

    def leave(self) -> None:
        """At the end of a run, by all ranks: the store ends with rank 0 where no launcher has it."""
        self._store.add("left", 1)
        begin = time.monotonic()
        while dist.get_rank() == 0 and self._store.add("left", 0) < dist.get_world_size() and time.monotonic() - begin < _leave_s:
            time.sleep(0.01)

    def _wait(self, name: str) -> None:
        """Twice the limit of one message: the rank that waits for the same message is the one to report."""
        patience = 2 * limit().total_seconds()
        done, begin = -1, time.monotonic()
        while not self._asked(lambda: self._store.check([name]), patience):
            now_done, waited = self._asked(lambda: self._store.add("done", 0), patience), time.monotonic() - begin
            if now_done != done:
                done, begin = now_done, time.monotonic()
            elif waited > patience:
                raise TrainingFailed(self._silence(patience))
            time.sleep(min(0.5, 0.01 + waited / 20))

    def _asked(self, ask: Callable[[], Answer], patience: float) -> Answer:
        try:
            return within(patience, ask)
        except TimeoutError as error:
            raise TrainingFailed(self._silence(patience)) from error

    def _silence(self, seconds: float) -> str:
        return f"rank {dist.get_rank()} is idle, and rank 0 has done nothing for {seconds:g} s"

"""Processes of a test end in a bounded time: when one fails the others are killed, and when none ends their stacks are the error."""

from __future__ import annotations

import faulthandler
import multiprocessing.connection
import os
import signal
import time
from collections.abc import Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path

# of one start; the whole torch tier is stopped when no test ends for 30 minutes
LIMIT_S = 600.0
# for a process to write its stacks
_writing_s = 3.0


class Hanging(AssertionError):
    """No process ended for the limit; its message has their stacks."""


def write_stacks_when_asked(folder: str) -> None:
    """In a process of a test: on SIGUSR1 it writes the stacks of its threads there, also while it waits in C."""
    faulthandler.register(signal.SIGUSR1, file=(Path(folder) / f"stacks-{os.getpid()}").open("w", encoding="utf-8"), all_threads=True)


def end_of(ranks: Sequence[BaseProcess], folder: str, limit_s: float = LIMIT_S) -> int:
    """
    The exit code of the first process that did not end with 0 (-N: by signal N), else 0 when all have. None is left then.
    `folder`: as in write_stacks_when_asked. Raises Hanging.
    """
    running, code, end = list(ranks), 0, time.monotonic() + limit_s
    try:
        while running and code == 0:
            ended = multiprocessing.connection.wait([each.sentinel for each in running], max(0.0, end - time.monotonic()))
            if not ended:
                raise Hanging(f"{len(running)} of {len(ranks)} processes did not end in {limit_s:g} s\n{_stacks(running, folder)}")
            # waiting for none would never return: those that are left are what was not waited for, not what has no exit code
            done, running = [each for each in running if each.sentinel in ended], [each for each in running if each.sentinel not in ended]
            for each in done:
                each.join()
                code = code or each.exitcode or 0
    finally:
        for each in ranks:
            each.kill()
            each.join()
    return code


def _stacks(ranks: Sequence[BaseProcess], folder: str) -> str:
    for each in ranks:
        os.kill(each.pid or 0, signal.SIGUSR1)
    time.sleep(_writing_s)
    files = [Path(folder) / f"stacks-{each.pid}" for each in ranks]
    return "\n".join(f"{file.name}:\n{file.read_text(encoding='utf-8') if file.exists() else 'not started'}" for file in files)

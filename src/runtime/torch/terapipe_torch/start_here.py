"""`python train.py plan.json`: starts all processes of a plan on this machine, as torchrun does, and prints last why one failed."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import tempfile
import uuid
from pathlib import Path

import torch
from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from terapipe_torch.errors import RuntimeRefusal
from terapipe_torch.failure import REASON_FILE
from terapipe_torch.waiting import PARENT


def start_here(world: int, on_gpus: bool, script: str, arguments: list[str]) -> int:
    """Exit status of `world` processes of the script. Raises RuntimeRefusal where this machine has GPUs, but too few."""
    if on_gpus and world > torch.cuda.device_count():
        raise RuntimeRefusal(f"the plan needs {world} GPUs, this machine has {torch.cuda.device_count()}: start torchrun on several")
    os.environ.setdefault("OMP_NUM_THREADS", "1" if world > 1 else str(os.cpu_count() or 1))
    # the reason is all that is to be read
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder:
        reason = Path(folder) / "reason"
        os.environ[REASON_FILE] = str(reason)
        os.environ[PARENT] = str(os.getpid())
        try:
            elastic_launch(_config(world), sys.executable)("-u", script, *arguments)
        except ChildFailedError as error:
            return _print_reason(error, reason)
        except SignalException as error:
            print(f"terapipe: ended by {error.sigval.name}", file=sys.stderr)
            return 128 + error.sigval
    return 0


def _config(world: int) -> LaunchConfig:
    return LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=world,
        run_id=uuid.uuid4().hex,
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        max_restarts=0,
        monitor_interval=0.1,
    )


def _print_reason(error: ChildFailedError, file: Path) -> int:
    """A process that the system killed has no reason of its own; others then fail because of it."""
    failures = error.failures.values()
    killed = [each for each in failures if each.exitcode < 0 and each.exitcode != -signal.SIGTERM]
    if killed:
        # a rank that loses another may abort
        first = min(killed, key=lambda each: (each.exitcode == -signal.SIGABRT, each.timestamp))
        name = signal.Signals(-first.exitcode).name
        hint = ": the machine may have run out of memory" if name == "SIGKILL" else ""
        print(f"terapipe: rank {first.local_rank} was ended by {name}{hint}", file=sys.stderr)
        return 1
    _, first = error.get_first_failure()
    reason = f"rank {first.local_rank} ended with exit code {first.exitcode}"
    with contextlib.suppress(OSError):
        reason = file.read_text(encoding="utf-8")
    print(f"terapipe: {reason}", file=sys.stderr)
    return 2 if any(each.exitcode == 2 for each in failures) else 1

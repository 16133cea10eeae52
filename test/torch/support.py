"""Runs many cases on the processes of one launch: starting PyTorch takes longer than a case."""

from __future__ import annotations

import datetime
import json
import os
import shutil
import subprocess
import tempfile
import traceback
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from ranks import end_of, write_stacks_when_asked
from terapipe_torch.waiting import set_limit

ROOT = Path(__file__).resolve().parents[2]
# of plan.json, except for lengths and batch; plans.ts writes the same
TRAINING: dict[str, Any] = json.loads((ROOT / "test/torch/training.json").read_text(encoding="utf-8"))
_timeout = datetime.timedelta(seconds=300)
# of all cases of a launch
_limit_s = 1500.0

Case = TypeVar("Case")


class RankFailed(Exception):
    """A process of a case raised; its message is its stack."""


@cache
def plans_folder() -> Path:
    """Plans of the tiny Llama that plans.ts writes, once a process."""
    folder = Path(os.environ.get("TERAPIPE_TORCH_OUT") or tempfile.mkdtemp()) / f"plans-{os.getpid()}"
    shutil.rmtree(folder, ignore_errors=True)
    command = ["node", "--import", "tsx", "test/torch/plans.ts", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return folder


def plan_data(name: str) -> dict[str, Any]:
    """The JSON of one plan by its name, without ending."""
    return json.loads((plans_folder() / f"{name}.json").read_text(encoding="utf-8"))


def on_ranks(world: int, function: Callable[[Case], Any], cases: Sequence[Case]) -> list[list[Any]]:
    """
    function(case) on every rank of a new gloo process group for each case; the results of the ranks,
    case by case. `function` and cases cross to other processes. A rank that raises gives its RankFailed.
    """
    with tempfile.TemporaryDirectory() as folder:
        context = mp.get_context("spawn")
        ranks = [context.Process(target=_work, args=(rank, world, folder, function, list(cases))) for rank in range(world)]
        for each in ranks:
            each.start()
        code = end_of(ranks, folder, _limit_s)
        if code != 0:
            raise RankFailed(f"a rank ended with {code}")
        files = [torch.load(f"{folder}/{rank}.pt", weights_only=False) for rank in range(world)]
    return [list(results) for results in zip(*files, strict=True)]


def _work(rank: int, world: int, folder: str, function: Callable[[Case], Any], cases: list[Case]) -> None:
    write_stacks_when_asked(folder)
    torch.set_num_threads(1)
    set_limit(_timeout.total_seconds())
    store = dist.FileStore(f"{folder}/store", world)
    results = []
    for number, case in enumerate(cases):
        dist.init_process_group("gloo", store=dist.PrefixStore(str(number), store), rank=rank, world_size=world, timeout=_timeout)
        try:
            results.append(function(case))
        except Exception:
            results.append(RankFailed(traceback.format_exc()))
        dist.barrier()
        dist.destroy_process_group()
    torch.save(results, f"{folder}/{rank}.pt")

"""train.py with a rank, or all, that fails: python failing_train.py KIND RANK PLACE plan.json [options]."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src/runtime/torch"))

import train
from terapipe_torch import checkpoint
from terapipe_torch.elastic import auto_dp
from terapipe_torch.elastic.plan import is_elastic, load_elastic
from terapipe_torch.elastic.trainer import ElasticTrainer
from terapipe_torch.loop import Pipeline
from terapipe_torch.plan import Action, load_plan
from terapipe_torch.start_here import start_here

kind, rank, place, plan = sys.argv[1:5]
perform, write_index = Pipeline._perform, checkpoint._write_index
run_step, take = ElasticTrainer._run, auto_dp._take


def fail(here: str) -> None:
    """At the place that was asked for, on the rank that was."""
    if here == place and rank in ("all", os.environ["RANK"]):
        if kind == "raise":
            raise ValueError("a fault of the test")
        os.kill(os.getpid(), signal.SIGKILL)


def failing_perform(self: Pipeline, action: Action) -> None:
    """As `Pipeline._perform`; places are actions."""
    fail(str(action))
    perform(self, action)


def failing_write_index(trainer: Any, *others: Any) -> None:
    """As `_write_index` of checkpoints, after which they get their name; places are steps."""
    fail(str(trainer.next_step))
    write_index(trainer, *others)


def failing_step(self: ElasticTrainer, number: int) -> float:
    """As `ElasticTrainer._run`; places are "step N"."""
    fail(f"step {number}")
    return run_step(self, number)


def failing_take(trainer: Any, part: str, *others: Any) -> None:
    """As `_take` of pipelines that change; places are parts of the model."""
    fail(part)
    take(trainer, part, *others)


if __name__ == "__main__":
    if "RANK" not in os.environ:
        world = load_elastic(plan).world if is_elastic(plan) else load_plan(plan).layout.world
        sys.exit(start_here(world, False, str(Path(__file__).resolve()), sys.argv[1:]))
    Pipeline._perform, checkpoint._write_index = failing_perform, failing_write_index
    ElasticTrainer._run, auto_dp._take = failing_step, failing_take
    sys.exit(train.main(sys.argv[4:]))

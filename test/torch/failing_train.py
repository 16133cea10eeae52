"""
train.py with a rank, or all, that fails: python failing_train.py KIND RANK PLACE plan.json [options]. Places are actions of
a pipeline; "save N" before index.json of a checkpoint is written; "file N" in the middle of a rank's file; "step N" of a run that freezes
layers; "groups" after new pipelines have theirs; a part of the model that they received; "weights" before the trained ones are written;
"call N": its N-th call of any function, Python's or C's, wherever that is. KIND is raise, stop or kill.
"""

from __future__ import annotations

import itertools
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src/runtime/torch"))

import train
from terapipe_torch import checkpoint
from terapipe_torch.elastic import auto_dp
from terapipe_torch.elastic import run as elastic_run
from terapipe_torch.elastic.plan import is_elastic, load_elastic
from terapipe_torch.elastic.trainer import ElasticTrainer
from terapipe_torch.loop import Pipeline
from terapipe_torch.plan import load_plan
from terapipe_torch.start_here import start_here


def fail_at(kind: str, rank: str, place: str) -> None:
    """
    From now on this process ends there if it is that rank, or for "all": by SIGKILL, or by an exception for "raise". For "stop" it
    does nothing any more.
    """

    def fail(here: str) -> None:
        if here == place and rank in ("all", os.environ["RANK"]):
            if kind == "raise":
                raise ValueError("a fault of the test")
            os.kill(os.getpid(), signal.SIGSTOP if kind == "stop" else signal.SIGKILL)

    def failing(owner: Any, name: str, here: Any) -> None:
        """The function of that name asks to fail at `here(arguments)` first."""
        function = getattr(owner, name)

        def tried(*arguments: Any, **named: Any) -> Any:
            fail(here(*arguments))
            return function(*arguments, **named)

        setattr(owner, name, tried)

    failing(Pipeline, "_perform", lambda _, action: str(action))
    failing(checkpoint, "_write_index", lambda trainer, *_: f"save {trainer.next_step}")
    failing(ElasticTrainer, "_run", lambda _, number: f"step {number}")
    failing(auto_dp, "_take", lambda _, part, *others: part)
    failing(train, "save_weights", lambda *_: "weights")
    failing(elastic_run, "move_state", lambda *_: "groups")
    _half_a_file(fail)
    if place.startswith("call ") and rank in ("all", os.environ["RANK"]):
        _fail_at_call(int(place.split()[1]), lambda: fail(place))


def _fail_at_call(number: int, fail: Callable[[], None]) -> None:
    """Moments are counted in calls: seconds after which a slow machine still starts are those in which a fast one has ended."""
    calls = itertools.count(1)

    def count(_frame: FrameType | None, event: str, _function: Any) -> None:
        if event in ("call", "c_call") and next(calls) == number:
            fail()

    sys.setprofile(count)


def _half_a_file(fail: Any) -> None:
    """Files of checkpoints are written to their middle, as a process that is killed leaves them."""
    write = checkpoint._write

    def tried(state: Any, file: Path) -> int:
        size = write(state, file)
        whole = file.read_bytes()
        file.write_bytes(whole[: size // 2])
        fail(f"file {file.parent.name.split('-')[1].split('.')[0]}")
        file.write_bytes(whole)
        return size

    checkpoint._write = tried


if __name__ == "__main__":
    plan = sys.argv[4]
    if "RANK" not in os.environ:
        world = load_elastic(plan).world if is_elastic(plan) else load_plan(plan).layout.world
        sys.exit(start_here(world, False, str(Path(__file__).resolve()), sys.argv[1:]))
    fail_at(*sys.argv[1:4])
    sys.exit(train.main(sys.argv[4:]))

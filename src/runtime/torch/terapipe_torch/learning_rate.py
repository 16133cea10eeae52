"""Warm-up and decay of the learning rate."""

from __future__ import annotations

import math

from terapipe_torch.errors import RuntimeRefusal
from terapipe_torch.plan import Training

SCHEDULES = ("constant", "linear", "cosine")


def learning_rate(training: Training, step: float, steps: int) -> float:
    """
    The rate of a step, counted from 0: linear up to `learning_rate` in the first `warmup_steps`, then, unless it
    stays constant, down to `min_learning_rate` at step `decay_steps`, or at the end of all `steps` of the run.
    Raises RuntimeRefusal for another schedule than SCHEDULES.
    """
    if training.learning_rate_schedule not in SCHEDULES:
        raise RuntimeRefusal(f"learningRateSchedule is {training.learning_rate_schedule!r}, not one of {', '.join(SCHEDULES)}")
    top, low, warm_up = training.learning_rate, training.min_learning_rate, training.warmup_steps
    if step < warm_up:
        return top * (step + 1) / warm_up
    if training.learning_rate_schedule == "constant":
        return top
    end = training.decay_steps or steps
    done = min(1.0, (step - warm_up) / max(1, end - warm_up))
    left = 1 - done if training.learning_rate_schedule == "linear" else (1 + math.cos(math.pi * done)) / 2
    return low + (top - low) * left

"""Errors whose sentence is all that a person needs."""


class RuntimeRefusal(Exception):
    """What a person must change: one sentence, no stack. `train.py` prints it and exits with 2."""


class TrainingFailed(Exception):
    """Training cannot continue: one sentence, no stack. `train.py` prints it and exits with 1."""


class CheckFailed(TrainingFailed):
    """`--check` found a loss or a gradient that differs."""


class PassFailed(Exception):
    """A pass raised `__cause__`; its message names the action."""

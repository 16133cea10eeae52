"""Errors whose sentence is all that a person needs."""


class RuntimeRefusal(Exception):
    """What a person must change: one sentence, no stack. `train.py` prints it and exits with 2."""


class CheckFailed(Exception):
    """`--check` found a loss or a gradient that differs. `train.py` prints it and exits with 1."""

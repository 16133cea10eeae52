"""Orders of the passes of an epoch, made again when pipelines change: GPipe and 1F1B, of whole sequences or slices."""

from __future__ import annotations

from collections.abc import Sequence

from terapipe_torch.plan import BACKWARD, FORWARD, Action, Unit


def units_of(batch: int, micro_batches: int, slices: Sequence[int]) -> list[Unit]:
    """`batch` sequences in micro-batches that differ by one sequence at most, each cut into slices of `slices` tokens."""
    count = min(micro_batches, batch)
    sizes = [batch * (index + 1) // count - batch * index // count for index in range(count)]
    contexts = [sum(slices[:number]) for number in range(len(slices))]
    return [
        Unit(micro_batch, number, size, tokens, context)
        for micro_batch, size in enumerate(sizes)
        for number, (tokens, context) in enumerate(zip(slices, contexts, strict=True))
    ]


def rows_of(schedule: str, stages: int, frozen_stages: int, units: Sequence[Unit]) -> list[list[Action]]:
    """A row for each stage. Frozen stages run forward only; slices of a micro-batch go backward last to first."""
    forward = list(range(len(units)))
    slices = max(unit.slice for unit in units) + 1
    backward = [first + number for first in forward[::slices] for number in reversed(range(slices))]
    rows = []
    for stage in range(stages):
        if stage < frozen_stages:
            rows.append([Action(stage, FORWARD, unit) for unit in forward])
            continue
        ahead = stages - 1 - stage + slices - 1 if schedule == "1F1B" else len(units) - 1
        row: list[Action] = []
        for index in range(len(units) + min(ahead, len(units))):
            if index < len(units):
                row.append(Action(stage, FORWARD, forward[index]))
            if index >= ahead:
                row.append(Action(stage, BACKWARD, backward[index - ahead]))
        rows.append(row)
    return rows

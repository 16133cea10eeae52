"""Which slices `--profile` measures: what the planner's own profiler begins with, and those of the plan."""

from __future__ import annotations

from typing import NamedTuple

from terapipe_torch.plan import Plan

_lengths = 11
_most_planned = 32
# as cornerCells of src/core/measured-profile/design.ts, except for the last: no context is left of a whole sequence.
# Tokens as a share of the way through the lengths, context as a share of what is left of the sequence
_corners = ((0.1, 1.0), (0.1, 0.3), (0.5, 1.0), (0.5, 0.3), (0.8, 1.0), (0.8, 0.3))


class Cell(NamedTuple):
    """A slice of `tokens` tokens of each of `batch` sequences, after `context` tokens."""

    batch: int
    tokens: int
    context: int


def cells_of(plan: Plan) -> list[Cell]:
    """
    As firstCells of design.ts: about 11 lengths without context, doubling from a 16th of the sequence at most,
    then even, up to the whole; corners of length and context; the largest micro-batch at two lengths. And the
    slices of the plan.
    """
    sequence, divisor = plan.training.sequence_length, plan.layout.context
    unit = max(1, min(64, sequence // 16) // divisor) * divisor
    lengths = _table(sequence, unit)
    cells = [Cell(1, tokens, 0) for tokens in lengths]
    for share, of_context in _corners:
        tokens = lengths[round(share * (len(lengths) - 1))]
        context = int(of_context * (sequence - tokens)) // unit * unit
        if context > 0:
            cells.append(Cell(1, tokens, context))
    batch = max(each.batch for each in plan.units)
    if batch > 1:
        cells += [Cell(batch, max(unit, sequence // batch // unit * unit), 0), Cell(batch, sequence, 0)]
    planned = dict.fromkeys(Cell(each.batch, each.tokens, each.context) for each in plan.units)
    return list(dict.fromkeys([*cells, *list(planned)[:_most_planned]]))


def _table(sequence: int, unit: int) -> list[int]:
    doubling = []
    length = unit
    while length < sequence / 6:
        doubling.append(length)
        length *= 2
    even = max(2, _lengths - len(doubling))
    start = doubling[-1] if doubling else 0
    rest = [round((start + (sequence - start) * (number + 1) / even) / unit) * unit for number in range(even)]
    return sorted({each for each in [unit, *doubling, *rest, sequence] if 0 < each <= sequence})

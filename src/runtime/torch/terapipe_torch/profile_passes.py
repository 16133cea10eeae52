"""Times of one layer of each kind, of the embedding and of the head: what a stage's passes are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from terapipe_torch.kv_cache import KeyValueCache
from terapipe_torch.mesh import Axis, Mesh
from terapipe_torch.model.linear import Parallel
from terapipe_torch.model.slice import SliceContext
from terapipe_torch.model.stage import Stage
from terapipe_torch.plan import Plan, StageLayers, Unit
from terapipe_torch.profile_cells import Cell
from terapipe_torch.stopwatch import Stopwatch, spread
from terapipe_torch.weight_grads import WeightGradients, accumulate_grads

_rounds = 3
_key = (0, 0)


class Part:
    """
    One layer, the embedding or the head, as one rank of tensor parallelism holds it, without the exchange
    between ranks, which `--profile` measures apart.
    """

    def __init__(self, plan: Plan, mesh: Mesh, dtype: torch.dtype, layers: StageLayers) -> None:
        self.plan, self.device, self.dtype = plan, mesh.device, dtype
        self.queue = WeightGradients()
        share = Axis(plan.layout.tensor, mesh.tp.index)
        self.stage = Stage(plan.model, layers, Parallel(share, Axis(), False, self.queue)).to(mesh.device, dtype)
        self.stage.initialise(plan.training.seed)
        self.layers = layers

    def forward(self, cell: Cell) -> tuple[Callable[[], torch.Tensor], torch.Tensor, dict[int, KeyValueCache]]:
        """The forward of a slice, its input, and the caches with what comes before the slice."""
        length, model = self.plan.training.sequence_length, self.plan.model
        caches: dict[int, KeyValueCache] | None = None
        if self.layers.layers > 0 and cell.tokens != length:
            caches = {}
            if cell.context > 0:
                with torch.no_grad():
                    self.stage(self._hidden(cell.batch, cell.context), self._place(cell._replace(tokens=cell.context, context=0), caches))
        place = self._place(cell, caches)
        x = self._tokens(cell, model.vocab) if self.layers.embedding else self._hidden(cell.batch, cell.tokens)
        labels = self._tokens(cell, model.vocab) if self.layers.head else None
        return lambda: self.stage(x, place, labels), x, caches if caches is not None else {}

    def backward(self, y: torch.Tensor, dy: torch.Tensor) -> None:
        """As the loop runs it."""
        torch.autograd.backward(y, dy)
        accumulate_grads(self.stage.parameters())

    def _hidden(self, batch: int, tokens: int) -> torch.Tensor:
        x = torch.randn(batch, tokens, self.plan.model.hidden, device=self.device).to(self.dtype)
        return x.requires_grad_()

    def _tokens(self, cell: Cell, vocab: int) -> torch.Tensor:
        return torch.randint(0, vocab, (cell.batch, cell.tokens), device=self.device)

    def _place(self, cell: Cell, caches: dict[int, KeyValueCache] | None) -> SliceContext:
        unit = Unit(0, 0, cell.batch, cell.tokens, cell.context)
        positions = torch.arange(unit.context, unit.end, device=self.device)
        return SliceContext(unit, positions, None, caches, self.plan.training.sequence_length)


Times = dict[str, list[float]]


def pass_times(parts: tuple[Part, ...], cells: list[Cell], watch: Stopwatch) -> dict[Cell, Times]:
    """
    Forward, backward, and backward apart in input and weights, of each cell, ms, one for each round and copy,
    and again where `cells` names one again.
    `parts` are copies that take turns, as the layers of a stage do in training: none finds its weights and
    activations in the caches where its own last pass left them.
    """
    found: dict[Cell, Times] = {cell: {} for cell in cells}
    for cell in cells:
        _time_cell(parts, cell, watch, found[cell])
    return found


def samples(ranks: list[dict[Cell, Times]]) -> list[dict[str, Any]]:
    """Medians and quartiles of each cell over what all ranks measured of it, by cell."""
    joined: dict[Cell, Times] = {}
    for cell, times in (item for rank in ranks for item in rank.items()):
        for name, ms in times.items():
            joined.setdefault(cell, {}).setdefault(name, []).extend(ms)
    return [
        {"batch": cell.batch, "tokens": cell.tokens, "context": cell.context, "rounds": len(times["forward"])}
        | {name: spread(ms) for name, ms in times.items()}
        for cell, times in sorted(joined.items(), key=lambda item: (item[0].batch, item[0].context, item[0].tokens))
    ]


class Turn:
    """The passes of a cell on one of the copies."""

    def __init__(self, part: Part, cell: Cell) -> None:
        self.part, self.end = part, cell.context + cell.tokens
        self._forward, self.x, self.caches = part.forward(cell)
        self.y = self._forward()
        self.dy = torch.ones_like(self.y)

    def forward(self) -> None:
        for cache in self.caches.values():
            cache.returned = self.end
        self.x.grad = None
        self.y = self._forward()

    def backward(self) -> None:
        self.part.backward(self.y, self.dy)

    def backward_input(self) -> None:
        self.part.queue.split = _key
        self.backward()
        self.part.queue.split = None

    def backward_weight(self) -> None:
        self.part.queue.run(_key)


def _time_cell(parts: tuple[Part, ...], cell: Cell, watch: Stopwatch, times: Times) -> None:
    turns = [Turn(part, cell) for part in parts]
    for number in range(_rounds + 1):
        for name, work in round_of(turns):
            if number == 0 or name is None:  # the first round is a warm-up
                work()
            else:
                times.setdefault(name, []).append(watch.ms(work))


def round_of(turns: list[Turn]) -> Iterator[tuple[str | None, Callable[[], None]]]:
    """Each pass of all copies, in the order of a stage: backward in reverse."""
    yield from (("forward", each.forward) for each in turns)
    yield from (("backward", each.backward) for each in reversed(turns))
    yield from ((None, each.forward) for each in turns)
    yield from (("backwardInput", each.backward_input) for each in reversed(turns))
    yield from (("backwardWeight", each.backward_weight) for each in reversed(turns))

"""Where the tokens of a pass are: the unit, the positions of this rank's part, the caches of its micro-batch."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from terapipe_torch.kv_cache import KeyValueCache
from terapipe_torch.mesh import Axis
from terapipe_torch.plan import Unit


@dataclass
class SliceContext:
    """
    `positions` [tokens / context size]: of this rank's tokens. `order` [tokens]: where each position of
    the slice is among the tokens of all cp ranks, joined; None without context parallelism.
    `caches`: by layer; None where the micro-batch is one whole sequence and attention needs none.
    """

    unit: Unit
    positions: torch.Tensor
    order: torch.Tensor | None
    caches: dict[int, KeyValueCache] | None
    length: int
    cp: Axis = field(default_factory=Axis)

    def cache(self, layer: int) -> KeyValueCache | None:
        if self.caches is None:
            return None
        return self.caches.setdefault(layer, KeyValueCache(self.length))


def context_positions(unit: Unit, ranks: int) -> torch.Tensor:
    """
    Positions [ranks, tokens / ranks] of a unit over context parallelism: two pieces a rank, one from each
    end, so that causal attention is equally long on all (as Megatron-LM and Transformer Engine cut it).
    Raises ValueError where the tokens do not divide.
    """
    if unit.tokens % ranks != 0:
        raise ValueError(f"{unit.tokens} tokens cannot be split over {ranks} ranks of context parallelism")
    positions = torch.arange(unit.context, unit.end)
    if ranks == 1 or unit.tokens % (2 * ranks) != 0:
        return positions.reshape(ranks, -1)
    pieces = positions.chunk(2 * ranks)
    return torch.stack([torch.cat((pieces[rank], pieces[2 * ranks - 1 - rank])) for rank in range(ranks)])

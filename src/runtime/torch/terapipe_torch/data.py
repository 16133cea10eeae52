"""Batches of token numbers: drawn from a seed, or cut from a file of tokens."""

from __future__ import annotations

from typing import Protocol

import torch


class TokenSource(Protocol):
    """Where a step's tokens come from."""

    def batch(self, step: int, first: int, count: int) -> torch.Tensor:
        """Sequences first..first+count of a step's global batch: int64 [count, sequence length + 1]."""


class SyntheticTokens:
    """Uniform over the vocabulary, the same for a (seed, step, sequence) whatever the layout."""

    def __init__(self, vocab: int, length: int, seed: int) -> None:
        self.vocab, self.length, self.seed = vocab, length, seed

    def batch(self, step: int, first: int, count: int) -> torch.Tensor:
        rows = [self._sequence(step, first + number) for number in range(count)]
        return torch.stack(rows)

    def _sequence(self, step: int, number: int) -> torch.Tensor:
        generator = torch.Generator().manual_seed((self.seed * 1_000_003 + step) * 1_000_003 + number)
        return torch.randint(0, self.vocab, (self.length + 1,), generator=generator)

"""Keys and values of the slices of one micro-batch in one layer, and the gradients that later slices give them."""

from __future__ import annotations

import torch


class KeyValueCache:
    """
    Buffers [batch, heads, length, head size]. A slice writes its rows going forward and attends to all
    rows up to its own; going backward, last slice first, it adds to the gradients of all those rows, and
    its own rows are then whole.
    """

    def __init__(self, length: int) -> None:
        self.length = length
        self.written = 0
        self.returned = length
        self._buffers: tuple[torch.Tensor, torch.Tensor] | None = None
        self._gradients: tuple[torch.Tensor, torch.Tensor] | None = None

    def write(self, k: torch.Tensor, v: torch.Tensor, at: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Puts rows at..at+tokens and returns all rows up to there. Recompute writes the same rows again."""
        if at > self.written:
            raise AssertionError(f"keys of tokens {self.written} to {at} are missing: slices must go forward first to last")
        if self._buffers is None:
            self._buffers = _rows(k, self.length), _rows(v, self.length)
        end = at + k.shape[2]
        self._buffers[0][:, :, at:end] = k
        self._buffers[1][:, :, at:end] = v
        self.written = max(self.written, end)
        # .data has a version counter of its own: rows that later slices write do not invalidate this graph
        return self._buffers[0].data[:, :, :end], self._buffers[1].data[:, :, :end]

    def tensors(self) -> list[torch.Tensor]:
        """All buffers made so far."""
        return [*(self._buffers or ()), *(self._gradients or ())]

    def add_gradients(self, dk: torch.Tensor, dv: torch.Tensor, at: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Adds the gradients of rows 0..end that the slice from `at` gave; returns those of its own rows, in fp32."""
        end = dk.shape[2]
        if self.returned != end:
            raise AssertionError(f"gradients of tokens {end} to {self.returned} are missing: slices must go backward last to first")
        if self._gradients is None:
            self._gradients = _rows(dk, self.length, torch.float32), _rows(dv, self.length, torch.float32)
        for gradient, part in zip(self._gradients, (dk, dv), strict=True):
            gradient[:, :, :end] += part
        self.returned = at
        return self._gradients[0][:, :, at:end], self._gradients[1][:, :, at:end]


def _rows(like: torch.Tensor, length: int, dtype: torch.dtype | None = None) -> torch.Tensor:
    batch, heads, _, size = like.shape
    return torch.zeros(batch, heads, length, size, dtype=dtype or like.dtype, device=like.device)

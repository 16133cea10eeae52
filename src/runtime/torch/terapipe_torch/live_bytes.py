"""Bytes that a step keeps from pass to pass, counted where the device has no counter of its peak."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from terapipe_torch.loop import Pipeline


class _Saved:
    """A tensor that autograd keeps for a backward; it lives as long as the graph."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor


class LiveBytes:
    """
    Counts, after each pass, what later passes need: tensors saved for backward, keys and values with their
    gradients, inputs and output gradients queued for W. Storages that share memory count once; weights do not
    count, nor what lives within a pass only.
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline
        self.peak = 0
        self._saved: weakref.WeakSet[_Saved] = weakref.WeakSet()
        self._weights = {each.untyped_storage().data_ptr() for each in pipeline.parameters().values()}

    @contextlib.contextmanager
    def counted(self) -> Iterator[None]:
        """Around a step. It slows the step down: do not time it."""
        with torch.autograd.graph.saved_tensors_hooks(self._pack, lambda saved: saved.tensor):
            yield

    def after_pass(self) -> None:
        storages = {}
        for tensor in [*(saved.tensor for saved in self._saved), *self.pipeline.kept_tensors()]:
            storage = tensor.untyped_storage()
            storages[storage.data_ptr()] = storage.nbytes()
        self.peak = max(self.peak, sum(size for at, size in storages.items() if at not in self._weights))

    def _pack(self, tensor: torch.Tensor) -> _Saved:
        saved = _Saved(tensor)
        self._saved.add(saved)
        return saved

"""
AutoCache: outputs of the frozen layers, by sample, for all processes of a machine: in its memory, then on disk. What was kept
for fewer frozen layers is advanced through the others when it is next needed.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from terapipe_torch.data import Batch
from terapipe_torch.errors import RuntimeRefusal
from terapipe_torch.model.slice import SliceContext
from terapipe_torch.model.stage import Stage
from terapipe_torch.plan import Unit


@dataclass(frozen=True)
class CacheSize:
    """`samples` of `shape` (tokens, hidden) in `dtype`; bytes that the cache may take of a machine's memory and disk."""

    samples: int
    shape: tuple[int, int]
    dtype: torch.dtype
    memory_bytes: int
    disk_bytes: int

    @property
    def sample_bytes(self) -> int:
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    def split(self) -> tuple[int, int]:
        """Samples in memory, and on disk; the others are computed each time."""
        in_memory = min(self.samples, self.memory_bytes // self.sample_bytes)
        return in_memory, min(self.samples - in_memory, self.disk_bytes // self.sample_bytes)


class ActivationCache:
    """
    Mapped files that the processes of a machine share. `depths`: frozen layers that a sample's entry went through, 0 for
    none. No two processes work on one sample in a step. Entries are of one run: a resumed one begins without.
    """

    def __init__(self, size: CacheSize, memory: Path, disk: Path) -> None:
        self.size = size
        self.files = [memory / "activations", disk / "activations-on-disk", memory / "depths"]
        self.computed = self.advanced = self.read = 0

    def create(self) -> None:
        """By one process of a machine, before any opens it. Raises RuntimeRefusal where there is no room."""
        counts = self.size.split()
        for file, size in zip(self.files, (*(count * self.size.sample_bytes for count in counts), self.size.samples * 2), strict=True):
            try:
                file.parent.mkdir(parents=True, exist_ok=True)
                with file.open("wb") as out:
                    _reserve(out.fileno(), size)
            except OSError as error:
                raise RuntimeRefusal(f"the cache cannot have {size:,} bytes in {file.parent}: {error}") from error

    def open(self) -> None:
        """Maps what `create` made."""
        in_memory, on_disk = self.size.split()
        parts = [_mapped(file, count, self.size) for file, count in zip(self.files, (in_memory, on_disk), strict=False)]
        self._stores = [(0, parts[0]), (in_memory, parts[1])]
        self._kept = in_memory + on_disk
        self._depths = torch.from_file(str(self.files[2]), shared=True, size=self.size.samples, dtype=torch.int16)

    def remove(self) -> None:
        """The files' names; processes that have mapped them keep them."""
        for file in self.files:
            file.unlink(missing_ok=True)
        for folder in {file.parent for file in self.files}:
            folder.rmdir()

    def count(self) -> None:
        """Counts samples from 0 again."""
        self.computed = self.advanced = self.read = 0

    def outputs(self, stage: Stage, frozen_layers: int, numbers: Sequence[int], batch: Batch) -> Batch:
        """
        The batch with what the frozen layers, all of them on `stage`, make of its inputs. They run on those samples
        whose entry is missing or of fewer layers.
        """
        device = batch.inputs.device
        hidden = torch.empty((len(numbers), *self.size.shape), dtype=self.size.dtype, device=device)
        depths = self._depths[torch.tensor(numbers)].tolist()
        for depth in sorted(set(depths)):
            rows = [row for row, each in enumerate(depths) if each == depth]
            found = batch.inputs[rows] if depth == 0 else torch.stack([self._entry(numbers[row]) for row in rows]).to(device)
            if depth < frozen_layers:
                found = stage.run_frozen(found, _whole(self.size.shape[0], len(rows), device), depth)
            hidden[rows] = found
            self._note(depth, frozen_layers, len(rows))
        for row, number in enumerate(numbers):
            if depths[row] < frozen_layers and number < self._kept:
                self._entry(number).copy_(hidden[row])
                self._depths[number] = frozen_layers
        return Batch(hidden, batch.labels, hidden=True)

    def _note(self, depth: int, frozen_layers: int, samples: int) -> None:
        if depth == 0:
            self.computed += samples
        elif depth < frozen_layers:
            self.advanced += samples
        else:
            self.read += samples

    def _entry(self, number: int) -> torch.Tensor:
        first, store = self._stores[0 if number < self._stores[1][0] else 1]
        return store[number - first]


def _whole(length: int, batch: int, device: torch.device) -> SliceContext:
    return SliceContext(Unit(0, 0, batch, length, 0), torch.arange(length, device=device), None, None, length)


def _mapped(file: Path, count: int, size: CacheSize) -> torch.Tensor:
    if count == 0:
        return torch.empty((0, *size.shape), dtype=size.dtype)
    flat = torch.from_file(str(file), shared=True, size=count * size.shape[0] * size.shape[1], dtype=size.dtype)
    return flat.view(count, *size.shape)


def _reserve(opened: int, size: int) -> None:
    """Reserves the room on disk: writing to a mapped file on a full disk ends the process."""
    if size > 0 and hasattr(os, "posix_fallocate"):
        os.posix_fallocate(opened, 0, size)
    else:
        os.truncate(opened, size)


def memory_folder() -> Path:
    """Where files are in memory, if the system has such a place."""
    shared = Path("/dev/shm")
    return shared if shared.is_dir() and os.access(shared, os.W_OK) else Path(tempfile.gettempdir())

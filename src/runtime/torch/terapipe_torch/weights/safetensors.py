"""
Files of safetensors, read and written without its package: a header's length (u64, little-endian), the
header (JSON: dtype, shape and place of each tensor), the bytes. Files are not trusted: places are checked.
"""

from __future__ import annotations

import ctypes
import json
import math
import mmap
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from terapipe_torch.errors import RuntimeRefusal

_dtypes = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}
_names = {dtype: name for name, dtype in _dtypes.items()}
SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"
# as the safetensors package limits it
_longest_header = 100_000_000


@dataclass(frozen=True)
class Entry:
    """A tensor of a file: bytes `start` to `end`, counted from the end of the header."""

    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int


class TensorFile:
    """One file, mapped into memory: only pages that are read come from the disk. Raises RuntimeRefusal for a damaged one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with path.open("rb") as file:
                # a private copy of pages that are written: torch.frombuffer warns about memory that cannot be
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        except (OSError, ValueError) as error:
            raise RuntimeRefusal(f"{path} cannot be read: {error}") from error
        try:
            self._data, header = _header(self._map)
            self.entries = {name: _entry(value, len(self._map) - self._data) for name, value in header.items() if name != "__metadata__"}
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise RuntimeRefusal(f"{path} is not a file of safetensors, or damaged: {error}") from error

    def read(self, name: str) -> torch.Tensor:
        """A view of the file's bytes; copy what is to be kept."""
        entry = self.entries[name]
        if entry.dtype not in _dtypes:
            raise RuntimeRefusal(f"{name} in {self.path} has type {entry.dtype}: the runtime trains no quantised weights")
        dtype = _dtypes[entry.dtype]
        if entry.start == entry.end:
            return torch.empty(entry.shape, dtype=dtype)
        raw = torch.frombuffer(self._map, dtype=torch.uint8, count=entry.end - entry.start, offset=self._data + entry.start)
        aligned = raw if raw.data_ptr() % dtype.itemsize == 0 else raw.clone()
        return aligned.view(dtype).view(entry.shape)


def _header(data: mmap.mmap) -> tuple[int, dict[str, Any]]:
    """Where the bytes begin, and the header."""
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or not 2 <= length <= min(_longest_header, len(data) - 8):
        raise ValueError(f"its header would have {length} of {len(data)} bytes")
    header = json.loads(data[8 : 8 + length].decode("utf-8"))
    if not isinstance(header, dict):
        raise ValueError("its header is not an object")
    return 8 + length, header


def _entry(value: Any, available: int) -> Entry:
    shape, (start, end) = tuple(value["shape"]), value["data_offsets"]
    numbers = (*shape, start, end)
    if not all(isinstance(number, int) and not isinstance(number, bool) and number >= 0 for number in numbers):
        raise ValueError(f"shape {shape} at bytes {start} to {end}")
    if not start <= end <= available:
        raise ValueError(f"a tensor at bytes {start} to {end} of {available}")
    dtype = value["dtype"]
    if not isinstance(dtype, str):
        raise TypeError(f"type {dtype!r}")
    if dtype in _dtypes and math.prod(shape) * _dtypes[dtype].itemsize != end - start:
        raise ValueError(f"shape {shape} of {dtype} in {end - start} bytes")
    return Entry(dtype, shape, start, end)


class WeightFolder:
    """The tensors of a folder: those of model.safetensors, or of the files that model.safetensors.index.json names."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._files: dict[str, TensorFile] = {}
        self._file_of = self._indexed()

    def __contains__(self, name: str) -> bool:
        return name in self._file_of

    @property
    def names(self) -> list[str]:
        return list(self._file_of)

    def read(self, name: str) -> torch.Tensor:
        """A view of a tensor. Raises RuntimeRefusal where its file does not have it."""
        file = self._open(self._file_of[name])
        if name not in file.entries:
            raise RuntimeRefusal(f"{file.path} does not have {name}, which the index places there")
        return file.read(name)

    def config(self) -> dict[str, Any]:
        """config.json, empty where there is none."""
        path = self.folder / "config.json"
        if not path.exists():
            return {}
        return _object(path)

    def _indexed(self) -> dict[str, str]:
        index = self.folder / INDEX
        if not index.exists():
            return dict.fromkeys(self._open(SINGLE).entries, SINGLE)
        files = _object(index).get("weight_map")
        if not isinstance(files, dict) or not all(isinstance(name, str) and _is_plain(name) for name in files.values()):
            raise RuntimeRefusal(f"{index} does not map tensors to files of its folder")
        return files

    def _open(self, name: str) -> TensorFile:
        if name not in self._files:
            self._files[name] = TensorFile(self.folder / name)
        return self._files[name]


def _object(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise RuntimeRefusal(f"{path} cannot be read: {error}") from error
    if not isinstance(value, dict):
        raise RuntimeRefusal(f"{path} is not an object")
    return value


def _is_plain(name: str) -> bool:
    """Whether it is the name of a file in the same folder."""
    return name.endswith(".safetensors") and not any(each in name for each in "/\\:\0")


@dataclass(frozen=True)
class Planned:
    """A tensor that is going to be written."""

    name: str
    dtype: torch.dtype
    shape: tuple[int, ...]

    @property
    def bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def write_tensors(path: Path, planned: list[Planned], tensors: Iterable[torch.Tensor]) -> None:
    """Writes a file whole or not at all; `tensors` come one by one in the order of `planned`."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for each in planned:
        header[each.name] = {"dtype": _names[each.dtype], "shape": list(each.shape), "data_offsets": [end, end + each.bytes]}
        end += each.bytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    partial = path.with_name(path.name + ".partial")
    with partial.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for each, tensor in zip(planned, tensors, strict=True):
            if tuple(tensor.shape) != each.shape or tensor.dtype != each.dtype:
                raise AssertionError(f"{each.name}: {tuple(tensor.shape)} of {tensor.dtype}, planned {each.shape} of {each.dtype}")
            own = tensor.detach().cpu().contiguous()
            file.write((ctypes.c_char * each.bytes).from_address(own.data_ptr()))
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)

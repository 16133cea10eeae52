"""Batches of token numbers: drawn from a seed, or cut from a file of tokens."""

from __future__ import annotations

import ast
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import torch

from terapipe_torch.errors import RuntimeRefusal

_types = {
    "u1": torch.uint8,
    "u2": torch.int16,
    "i2": torch.int16,
    "u4": torch.int32,
    "i4": torch.int32,
    "u8": torch.int64,
    "i8": torch.int64,
}
_masks = {torch.uint8: 0xFF, torch.int16: 0xFFFF, torch.int32: 0xFFFFFFFF, torch.int64: -1}
# codes of Megatron-LM's .idx files
_megatron_types = {1: "u1", 3: "i2", 4: "i4", 5: "i8", 8: "u2"}


@dataclass(frozen=True)
class Batch:
    """
    What a replica trains in a step. `inputs`: token numbers int64 [batch, tokens], patches of images [batch, tokens,
    width], or, where they are `hidden`, outputs of all frozen layers [batch, tokens, hidden]. `labels` int64 [batch, tokens].
    """

    inputs: torch.Tensor
    labels: torch.Tensor
    hidden: bool = False

    def to(self, device: torch.device) -> Batch:
        return Batch(self.inputs.to(device), self.labels.to(device), self.hidden)


def token_batch(tokens: torch.Tensor) -> Batch:
    """int64 [batch, length + 1]: each token but the last, and the one after it as its label."""
    return Batch(tokens[:, :-1], tokens[:, 1:])


class TokenSource(Protocol):
    """Where a step's tokens come from."""

    def batch(self, step: int, first: int, count: int) -> torch.Tensor:
        """Sequences first..first+count of a step's global batch: int64 [count, sequence length + 1]."""

    def resume_at(self, step: int, sequences: int) -> None:
        """Earlier steps took `sequences` sequences."""


class SyntheticTokens:
    """Uniform over the vocabulary, the same for a (seed, step, sequence) whatever the layout."""

    def __init__(self, vocab: int, length: int, seed: int) -> None:
        self.vocab, self.length, self.seed = vocab, length, seed

    def batch(self, step: int, first: int, count: int) -> torch.Tensor:
        rows = [self._sequence(step, first + number) for number in range(count)]
        return torch.stack(rows)

    def resume_at(self, step: int, sequences: int) -> None:
        """Nothing to do: a step's tokens do not depend on earlier ones."""

    def _sequence(self, step: int, number: int) -> torch.Tensor:
        generator = torch.Generator().manual_seed((self.seed * 1_000_003 + step) * 1_000_003 + number)
        return torch.randint(0, self.vocab, (self.length + 1,), generator=generator)


class FileTokens:
    """
    Sequences of length + 1 tokens, each beginning at the last token of the one before it in the file. Every
    epoch takes all of them, in an order drawn from the seed.
    """

    def __init__(self, path: str, vocab: int, length: int, seed: int, global_batch: int) -> None:
        self.path, self.vocab, self.length, self.seed, self.global_batch = path, vocab, length, seed, global_batch
        self.tokens = read_tokens(Path(path), vocab)
        self.count = (len(self.tokens) - 1) // length
        if self.count < 1:
            raise RuntimeRefusal(f"{path} has {len(self.tokens):,} tokens: a sequence needs {length + 1:,}")
        self._start = (0, 0)
        self._order: tuple[int, torch.Tensor] | None = None

    def resume_at(self, step: int, sequences: int) -> None:
        self._start = step, sequences

    def batch(self, step: int, first: int, count: int) -> torch.Tensor:
        position = self._start[1] + (step - self._start[0]) * self.global_batch + first
        return torch.stack([self.sequence(self._place(position + number)) for number in range(count)])

    def sequence(self, place: int) -> torch.Tensor:
        """By its place in the file: int64 [length + 1]. Raises RuntimeRefusal for a token that the vocabulary does not have."""
        begin = place * self.length
        stored = self.tokens[begin : begin + self.length + 1]
        numbers = stored.long() & _masks[stored.dtype]
        outside = ((numbers < 0) | (numbers >= self.vocab)).nonzero()
        if len(outside) > 0:
            first = int(outside[0])
            raise RuntimeRefusal(
                f"{self.path}: token {begin + first:,} is {int(numbers[first]):,}, but the vocabulary of the model has {self.vocab:,}"
            )
        return numbers

    def _place(self, position: int) -> int:
        epoch, place = divmod(position, self.count)
        if self._order is None or self._order[0] != epoch:
            generator = torch.Generator().manual_seed(self.seed * 1_000_003 + epoch)
            self._order = epoch, torch.randperm(self.count, generator=generator)
        return int(self._order[1][place])


def read_tokens(path: Path, vocab: int) -> torch.Tensor:
    """
    All tokens of a file, mapped and not read: .npy of whole numbers, or .bin of bare numbers. Those are of the
    type that Megatron-LM's .idx next to it names; without one of 16 bits where the vocabulary fits, else 32.
    Types wider than 8 bits come as signed ones of the same width. Raises RuntimeRefusal.
    """
    try:
        if path.suffix == ".npy":
            return _npy(path)
        if path.suffix == ".bin":
            index = path.with_suffix(".idx")
            return _mapped(path, _megatron_type(index) if index.exists() else "u2" if vocab <= 65536 else "u4", 0)
    except (OSError, ValueError, SyntaxError, KeyError, struct.error) as error:
        raise RuntimeRefusal(f"{path} cannot be read: {error}") from error
    raise RuntimeRefusal(f"{path} is neither .bin nor .npy")


def _mapped(path: Path, kind: str, offset: int) -> torch.Tensor:
    size, width = path.stat().st_size, int(kind[1])
    if size == offset or (size - offset) % width != 0:
        raise RuntimeRefusal(f"{path} has {size - offset:,} bytes, not a whole number of tokens of {width} bytes each")
    data = torch.from_file(str(path), shared=False, size=size, dtype=torch.uint8)[offset:]
    return (data if offset % width == 0 else data.clone()).view(_types[kind])


def _npy(path: Path) -> torch.Tensor:
    """Of any shape, read row by row. The format is that of NumPy's numpy.lib.format, versions 1 to 3."""
    with path.open("rb") as file:
        magic = file.read(8)
        if magic[:6] != b"\x93NUMPY":
            raise ValueError("it does not begin as an .npy file")
        size = 2 if magic[6] == 1 else 4
        length = int.from_bytes(file.read(size), "little")
        header = ast.literal_eval(file.read(length).decode("latin1"))
    offset = 8 + size + length
    kind = header["descr"].lstrip("<|=")
    if kind not in _types:
        raise ValueError(f"its numbers are {header['descr']}, not whole numbers of 8 to 64 bits")
    return _mapped(path, kind, offset)


def _megatron_type(index: Path) -> str:
    """Of the tokens in the .bin of the same name."""
    with index.open("rb") as file:
        header = file.read(18)
    if header[:9] != b"MMIDIDX\x00\x00":
        raise ValueError(f"{index.name} is not an index of Megatron-LM")
    code = header[17] if len(header) == 18 else 0
    if code not in _megatron_types:
        raise ValueError(f"{index.name} has tokens of type {code}, which are not whole numbers")
    return _megatron_types[code]

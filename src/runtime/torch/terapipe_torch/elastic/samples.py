"""Data sets of epochs: every epoch takes each sample once, in an order drawn from the seed, whatever the replicas are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch

from terapipe_torch.data import Batch, FileTokens, SyntheticTokens, token_batch
from terapipe_torch.errors import RuntimeRefusal
from terapipe_torch.model.spec import ModelSpec
from terapipe_torch.model.vocabulary import IGNORED
from terapipe_torch.plan import Training


class Samples(Protocol):
    """Samples by their number, from 0 to `count` - 1."""

    count: int

    def batch(self, numbers: Sequence[int]) -> Batch:
        """Those samples."""


class TokenSamples:
    """The sequences of a file of tokens."""

    def __init__(self, tokens: FileTokens) -> None:
        self.tokens, self.count = tokens, tokens.count

    def batch(self, numbers: Sequence[int]) -> Batch:
        return token_batch(torch.stack([self.tokens.sequence(number) for number in numbers]))


class RandomSamples:
    """Sequences of random tokens, the same in every epoch."""

    def __init__(self, tokens: SyntheticTokens, count: int) -> None:
        self.tokens, self.count = tokens, count

    def batch(self, numbers: Sequence[int]) -> Batch:
        return token_batch(torch.cat([self.tokens.batch(0, number, 1) for number in numbers]))


class ImageSamples:
    """
    A file that torch.save wrote: {"images": [count, channels, height, width], "labels": int64 [count]}. Only the class
    token has a label. Raises RuntimeRefusal.
    """

    def __init__(self, path: str, spec: ModelSpec, length: int) -> None:
        try:
            data = torch.load(path, map_location="cpu", mmap=True, weights_only=True)
            images, self.labels = data["images"], data["labels"]
            self.count, channels, height, width = images.shape
        except (OSError, RuntimeError, KeyError, ValueError, TypeError, AttributeError) as error:
            raise RuntimeRefusal(f"{path} has no images [count, channels, height, width] with labels: {error!r}") from error
        side = round(((spec.patch_width or 0) / channels) ** 0.5)
        if side < 1 or channels * side * side != spec.patch_width or height % side or width % side:
            raise RuntimeRefusal(f"{path}: images of {channels}x{height}x{width} have no patches of {spec.patch_width} numbers")
        if 1 + height // side * (width // side) != length:
            raise RuntimeRefusal(
                f"{path}: an image has {height // side * (width // side)} patches, a sequence {length} tokens with its class"
            )
        if self.labels.shape != (self.count,) or bool(((self.labels < 0) | (self.labels >= spec.vocab)).any()):
            raise RuntimeRefusal(f"{path}: labels must be one of {spec.vocab} classes for each image")
        self.images, self.side = images, side

    def batch(self, numbers: Sequence[int]) -> Batch:
        chosen = torch.tensor(numbers)
        images, side = self.images[chosen].float(), self.side
        patches = images.unfold(2, side, side).unfold(3, side, side).permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2)
        labels = torch.full((len(numbers), 1 + patches.shape[1]), IGNORED)
        labels[:, 0] = self.labels[chosen]
        return Batch(torch.cat([torch.zeros_like(patches[:, :1]), patches], 1), labels)


def samples_of(path: str | None, spec: ModelSpec, training: Training, count: int | None) -> Samples:
    """Images of a .pt, sequences of a .bin or .npy, or random tokens without a file. Raises RuntimeRefusal."""
    length = training.sequence_length
    if spec.patch_width is not None:
        if path is None:
            raise RuntimeRefusal("a model of images needs --data FILE.pt")
        return ImageSamples(path, spec, length)
    if path is not None:
        return TokenSamples(FileTokens(path, spec.vocab, length, training.seed, 1))
    if count is None:
        raise RuntimeRefusal("without --data the plan must say how many samples an epoch has")
    return RandomSamples(SyntheticTokens(spec.vocab, length, training.seed), count)


class EpochOrder:
    """The samples of the steps of one epoch. Its last step is filled up with samples that do not count."""

    def __init__(self, count: int, seed: int, epoch: int, global_batch: int) -> None:
        generator = torch.Generator().manual_seed(seed * 1_000_003 + epoch)
        self.order = torch.randperm(count, generator=generator).tolist()
        self.global_batch = global_batch
        self.steps = -(-count // global_batch)

    def numbers(self, step: int, first: int, count: int) -> tuple[list[int], int]:
        """Samples first..first+count of a step, and how many of them count."""
        begin = step * self.global_batch + first
        real = self.order[begin : begin + count]
        return real + self.order[:1] * (count - len(real)), len(real)


def share_of_step(samples: Samples, order: EpochOrder, step: int, first: int, count: int) -> tuple[list[int], Batch]:
    """A replica's part of a step, with the numbers of its samples."""
    numbers, real = order.numbers(step, first, count)
    batch = samples.batch(numbers)
    labels = batch.labels.clone()
    labels[real:] = IGNORED
    return numbers, Batch(batch.inputs, labels)

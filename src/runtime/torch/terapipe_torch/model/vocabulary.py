"""Embedding, head and cross entropy, their vocabulary split over tp."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn

from terapipe_torch.collectives import all_reduce, leave_tensor_parallel
from terapipe_torch.mesh import Axis
from terapipe_torch.model.linear import Parallel, Projection, column_linear, parameter
from terapipe_torch.model.spec import ModelSpec

IGNORED = -100


def padded_vocabulary(spec: ModelSpec, tensor: int) -> int:
    """Rows of the embedding: the vocabulary, rounded up to a multiple of tp."""
    return -(-spec.vocab // tensor) * tensor


class Embedding(nn.Module):
    """Words [vocab, hidden], and learned positions where the model has them."""

    def __init__(self, spec: ModelSpec, parallel: Parallel) -> None:
        super().__init__()
        self.parallel = parallel
        self.multiplier = spec.details.embedding_multiplier
        self.weight = parameter((padded_vocabulary(spec, parallel.tp.size), spec.hidden), 0, parallel.tp)
        learned = spec.positions == "learned"
        rows = spec.max_positions or 0
        self.positions = parameter((rows, spec.hidden), partial=parallel.sequence_parallel) if learned else None

    def forward(self, tokens: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        """tokens [batch, tokens] and their positions to [batch, tokens (of this rank where sequence parallel), hidden]."""
        tp = self.parallel.tp
        rows = self.weight.shape[0]
        local = tokens - rows * tp.index
        mine = (local >= 0) & (local < rows)
        words = F.embedding(local.clamp(0, rows - 1), self.weight) * mine.unsqueeze(-1)
        x = leave_tensor_parallel(words, tp, self.parallel.sequence_parallel)
        if self.multiplier != 1.0:
            x = x * self.multiplier
        if self.positions is None:
            return x
        if self.parallel.sequence_parallel:
            positions = positions.chunk(tp.size)[tp.index]
        return x + F.embedding(positions, self.positions)


class Head(nn.Module):
    """Logits of this rank's words, and the cross entropy of all."""

    def __init__(self, spec: ModelSpec, parallel: Parallel) -> None:
        super().__init__()
        self.spec, self.parallel = spec, parallel
        self.projection = Projection(spec.hidden, padded_vocabulary(spec, parallel.tp.size), spec.head_bias, 0, parallel)

    def logits(self, x: torch.Tensor) -> torch.Tensor:
        """x [batch, tokens, hidden] to fp32 logits [batch, tokens, words of this rank]."""
        (y,) = column_linear(x, [self.projection], self.parallel)
        return self._scaled(y).float()

    def _scaled(self, y: torch.Tensor) -> torch.Tensor:
        """What a projection gives as logits: in fp32 where they are scaled, capped or padded, else as it is."""
        if self._is_plain(y.shape[-1]):
            return y
        y = y.float() * self.spec.details.logit_multiplier
        cap = self.spec.details.logit_soft_cap
        if cap is not None:
            y = torch.tanh(y / cap) * cap
        extra = y.shape[-1] * (self.parallel.tp.index + 1) - self.spec.vocab
        if extra > 0:
            padding = torch.arange(y.shape[-1], device=y.device) >= y.shape[-1] - extra
            y = y.masked_fill(padding, torch.finfo(y.dtype).min)
        return y

    def _is_plain(self, words: int) -> bool:
        details = self.spec.details
        is_padded = words * self.parallel.tp.size > self.spec.vocab
        return details.logit_multiplier == 1 and details.logit_soft_cap is None and not is_padded

    def loss(self, x: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """The sum of the cross entropy over labels [batch, tokens] that are not IGNORED."""
        (y,) = column_linear(x, [self.projection], self.parallel)
        return _CrossEntropy.apply(self._scaled(y), labels, self.parallel.tp).sum()


class _CrossEntropy(torch.autograd.Function):
    """Per token, in fp32, over logits of any type whose words are split over an axis. Keeps the logits; makes the softmax again."""

    @staticmethod
    def forward(ctx: Any, logits: torch.Tensor, labels: torch.Tensor, tp: Axis) -> torch.Tensor:
        top = logits.max(-1).values.float()
        if tp.group is not None:
            dist.all_reduce(top, op=dist.ReduceOp.MAX, group=tp.group)
        total = all_reduce(_exponentials(logits, top).sum(-1), tp)
        words = logits.shape[-1]
        local = labels - words * tp.index
        mine = (local >= 0) & (local < words)
        index = local.clamp(0, words - 1).unsqueeze(-1)
        chosen = all_reduce((logits.gather(-1, index).squeeze(-1).float() - top) * mine, tp)
        valid = labels != IGNORED
        ctx.save_for_backward(logits, top, total, index, mine, valid)
        return (total.log() - chosen) * valid

    @staticmethod
    def backward(ctx: Any, dy: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        logits, top, total, index, mine, valid = ctx.saved_tensors
        gradient = _exponentials(logits, top).div_(total.unsqueeze(-1))
        gradient.scatter_add_(-1, index, -mine.to(gradient.dtype).unsqueeze(-1))
        return gradient.mul_((dy * valid).unsqueeze(-1)).to(logits.dtype), None, None


def _exponentials(logits: torch.Tensor, top: torch.Tensor) -> torch.Tensor:
    return (logits.float() - top.unsqueeze(-1)).exp_()

"""Attention of a slice to all tokens up to it, or of a whole sequence to itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from terapipe_torch.collectives import all_gather, all_reduce
from terapipe_torch.kv_cache import KeyValueCache
from terapipe_torch.model.linear import Parallel, Projection, column_linear, row_linear
from terapipe_torch.model.norm import HeadsNorm, Norm
from terapipe_torch.model.rotary import RotaryTable
from terapipe_torch.model.slice import SliceContext
from terapipe_torch.model.spec import ModelSpec, Rotary


@dataclass(frozen=True)
class Scores:
    """How scores are made: their scale, the window (tokens, including the token itself) and the soft cap, None without; the mask."""

    scale: float
    window: int | None
    soft_cap: float | None = None
    causal: bool = True


class Attention(nn.Module):
    """Grouped-query attention; the heads are split over tp."""

    def __init__(self, spec: ModelSpec, layer: int, parallel: Parallel) -> None:
        super().__init__()
        self.layer, self.parallel = layer, parallel
        self.head_dim = spec.head_dim
        widths = spec.heads * spec.head_dim, spec.kv_heads * spec.head_dim
        self.q_proj = Projection(spec.hidden, widths[0], spec.qkv_bias, 0, parallel)
        self.k_proj = Projection(spec.hidden, widths[1], spec.qkv_bias, 0, parallel)
        self.v_proj = Projection(spec.hidden, widths[1], spec.qkv_bias, 0, parallel)
        self.o_proj = Projection(widths[0], spec.hidden, spec.attention_output_bias, 1, parallel)
        self.across_heads = spec.qk_norm_across_heads
        self.q_norm = _head_norm(spec, widths[0], parallel) if spec.qk_norm else None
        self.k_norm = _head_norm(spec, widths[1], parallel) if spec.qk_norm else None
        self.rotary = rotary_table(spec, layer, spec.head_dim)
        self.scores = scores_of(spec, layer, spec.head_dim)

    def forward(self, x: torch.Tensor, place: SliceContext) -> torch.Tensor:
        """x [batch, tokens, hidden] to the same shape."""
        q, k, v = column_linear(x, [self.q_proj, self.k_proj, self.v_proj], self.parallel)
        q, k, v = self._normed(q, self.q_norm), self._normed(k, self.k_norm), self._heads(v)
        if self.rotary is not None:
            angles = self.rotary.angles(place.positions)
            q, k = self.rotary.rotate(q, angles), self.rotary.rotate(k, angles)
        out = attend(q, k, v, place, place.cache(self.layer), self.scores, self.parallel.recompute == "selective")
        return row_linear(out.transpose(1, 2).flatten(2), self.o_proj, self.parallel)

    def _normed(self, x: torch.Tensor, norm: nn.Module | None) -> torch.Tensor:
        if norm is None:
            return self._heads(x)
        return self._heads(norm(x)) if self.across_heads else norm(self._heads(x))

    def _heads(self, x: torch.Tensor) -> torch.Tensor:
        """[batch, tokens, heads x size] to [batch, heads, tokens, size]."""
        return x.unflatten(-1, (-1, self.head_dim)).transpose(1, 2)


def _head_norm(spec: ModelSpec, width: int, parallel: Parallel) -> nn.Module:
    if spec.qk_norm_across_heads:
        return HeadsNorm(spec, width, parallel)
    return Norm(spec, spec.head_dim, parallel.tp.size > 1, "rmsnorm")


def rotary_table(spec: ModelSpec, layer: int, head_dim: int) -> RotaryTable | None:
    """The rotation of heads of `head_dim` elements, None for a layer without."""
    details = spec.details
    if spec.positions != "rotary" or layer in (details.no_rope_layers or ()):
        return None
    rotary = spec.rotary
    if details.local_rotary_base is not None and spec.kind_of(layer).window is not None:
        rotary = Rotary(details.local_rotary_base, rotary.share)
    return RotaryTable(rotary, int(head_dim * rotary.share), details.rotary_interleaved)


def scores_of(spec: ModelSpec, layer: int, head_dim: int) -> Scores:
    """Scores of a layer whose queries have `head_dim` elements."""
    scale = spec.details.attention_scale or head_dim**-0.5
    return Scores(scale, spec.kind_of(layer).window, spec.details.attention_soft_cap, spec.causal)


def attend(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    place: SliceContext,
    cache: KeyValueCache | None,
    scores: Scores,
    recompute: bool,
) -> torch.Tensor:
    """q [batch, heads, tokens, size], k and v of the same tokens; `recompute`: attention is computed again in the backward."""
    if cache is not None:
        if torch.is_grad_enabled():
            return _Attend.apply(q, k, v, place, cache, scores, recompute)
        rows = cache.write(*_all_tokens(k, v, place), place.unit.context)
        return _softmax(q, *rows, place, scores)
    if recompute and torch.is_grad_enabled():
        return _RecomputeAttention.apply(q, k, v, place, scores)
    return _softmax(q, k, v, place, scores)


def _softmax(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, place: SliceContext, scores: Scores) -> torch.Tensor:
    tokens, rows = q.shape[2], k.shape[2]
    grouped = q.shape[1] != k.shape[1]
    if not scores.causal:
        return F.scaled_dot_product_attention(q, k, v, scale=scores.scale, enable_gqa=grouped)
    if scores.soft_cap is not None:
        return _capped(q, k, v, _visible(place.positions, rows, scores.window), scores)
    if place.order is not None or (scores.window is not None and scores.window < rows):
        mask = _visible(place.positions, rows, scores.window)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scores.scale, enable_gqa=grouped)
    if tokens == rows:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=scores.scale, enable_gqa=grouped)
    # is_causal=True would align a slice with the first tokens
    last = _last_tokens(tokens, rows) if q.is_cuda else _visible(place.positions, rows, None)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=last, scale=scores.scale, enable_gqa=grouped)


def _capped(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, seen: torch.Tensor, scores: Scores) -> torch.Tensor:
    """Attention whose scores are capped softly (Gemma 2), which scaled_dot_product_attention cannot."""
    repeats = q.shape[1] // k.shape[1]
    k, v = (each.repeat_interleave(repeats, 1) for each in (k, v))
    logits = (q @ k.transpose(2, 3)).float() * scores.scale
    logits = torch.tanh(logits / scores.soft_cap) * scores.soft_cap
    return logits.masked_fill(~seen, float("-inf")).softmax(-1).to(v.dtype) @ v


def _last_tokens(tokens: int, rows: int) -> torch.Tensor:
    """The causal mask of the last `tokens` of `rows`, for kernels that need no mask in memory."""
    # this module imports torch._dynamo, a second that only GPUs need: a CPU makes a mask of it anyway
    from torch.nn.attention.bias import causal_lower_right

    return causal_lower_right(tokens, rows)


def _visible(positions: torch.Tensor, rows: int, window: int | None) -> torch.Tensor:
    """[tokens, rows]: whether the token at each position sees each row."""
    distance = positions[:, None] - torch.arange(rows, device=positions.device)
    seen = distance >= 0
    return seen if window is None else seen & (distance < window)


def _all_tokens(k: torch.Tensor, v: torch.Tensor, place: SliceContext) -> tuple[torch.Tensor, torch.Tensor]:
    """Keys and values of the whole slice, from all cp ranks, in the order of positions."""
    if place.order is None:
        return k, v
    return tuple(all_gather(each, place.cp, 2).index_select(2, place.order) for each in (k, v))


def _leaf(x: torch.Tensor) -> torch.Tensor:
    return x.detach().requires_grad_()


class _Attend(torch.autograd.Function):
    """Attention over a cache. Gradients of earlier rows stay in the cache until their slice goes backward."""

    @staticmethod
    def forward(ctx: Any, q: Any, k: Any, v: Any, place: SliceContext, cache: KeyValueCache, scores: Scores, recompute: bool) -> Any:
        rows = cache.write(*_all_tokens(k, v, place), place.unit.context)
        ctx.place, ctx.cache, ctx.scores = place, cache, scores
        if recompute:
            ctx.graph, ctx.inputs = None, (q.detach(), *rows)
            return _softmax(q, *rows, place, scores)
        ctx.graph = _graph(q, *rows, place, scores)
        return ctx.graph[0].detach()

    @staticmethod
    def backward(ctx: Any, dy: torch.Tensor) -> Any:
        place: SliceContext = ctx.place
        out, *leaves = ctx.graph or _graph(*ctx.inputs, place, ctx.scores)
        dq, dk, dv = torch.autograd.grad(out, leaves, dy)
        own = ctx.cache.add_gradients(dk, dv, place.unit.context)
        ctx.graph = ctx.inputs = None
        dk, dv = (_own_tokens(each, place).to(dy.dtype) for each in own)
        return dq, dk, dv, None, None, None, None


class _RecomputeAttention(torch.autograd.Function):
    """Attention of whole sequences that keeps its inputs only."""

    @staticmethod
    def forward(ctx: Any, q: Any, k: Any, v: Any, place: SliceContext, scores: Scores) -> Any:
        ctx.place, ctx.scores = place, scores
        ctx.save_for_backward(q, k, v)
        return _softmax(q, k, v, place, scores)

    @staticmethod
    def backward(ctx: Any, dy: torch.Tensor) -> Any:
        out, *leaves = _graph(*ctx.saved_tensors, ctx.place, ctx.scores)
        return (*torch.autograd.grad(out, leaves, dy), None, None)


def _graph(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, place: SliceContext, scores: Scores) -> tuple[torch.Tensor, ...]:
    """The output and the leaves that its gradients are taken of."""
    with torch.enable_grad():
        leaves = _leaf(q), _leaf(k), _leaf(v)
        return _softmax(*leaves, place, scores), *leaves


def _own_tokens(gradient: torch.Tensor, place: SliceContext) -> torch.Tensor:
    """This rank's tokens of the sum over cp ranks, each of which attended to all of them."""
    if place.order is None:
        return gradient
    return all_reduce(gradient.contiguous(), place.cp).index_select(2, place.positions - place.unit.context)

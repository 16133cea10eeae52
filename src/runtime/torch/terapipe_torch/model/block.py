"""One layer: attention and feed-forward, each added to its input."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from terapipe_torch.model.attention import Attention
from terapipe_torch.model.experts import ExpertsMlp
from terapipe_torch.model.latent import LatentAttention
from terapipe_torch.model.linear import Parallel
from terapipe_torch.model.mlp import Mlp
from terapipe_torch.model.norm import Norm
from terapipe_torch.model.slice import SliceContext
from terapipe_torch.model.spec import ModelSpec


class Block(nn.Module):
    """
    Norms before attention and feed-forward (GPT-2, Llama), after both (OLMo 2), or both (Gemma 2), with
    the names that Transformers gives them. A parallel residual reads one input for both.
    """

    def __init__(self, spec: ModelSpec, layer: int, parallel: Parallel) -> None:
        super().__init__()
        self.residual_multiplier = spec.details.residual_multiplier
        self.parallel_residual = spec.details.parallel_residual
        norms = _norms(spec)
        for name in norms.values():
            setattr(self, name, Norm(spec, spec.hidden, parallel.sequence_parallel))
        self._norm_names = norms
        self.self_attn = _attention(spec, layer, parallel)
        is_dense = spec.kind_of(layer).feed_forward == "dense" or spec.experts is None
        self.mlp = Mlp(spec, spec.ffn_of(layer), parallel) if is_dense else ExpertsMlp(spec, spec.experts, parallel)

    def forward(self, x: torch.Tensor, place: SliceContext) -> torch.Tensor:
        """x [batch, tokens, hidden] to the same shape."""
        attention_input = self._norm("before attention", x)
        attention = self._norm("after attention", self.self_attn(attention_input, place)) * self.residual_multiplier
        if self.parallel_residual:
            same = "before feed-forward" not in self._norm_names
            mlp_input = attention_input if same else self._norm("before feed-forward", x)
            return x + attention + self.mlp(mlp_input) * self.residual_multiplier
        x = x + attention
        y = self.mlp(self._norm("before feed-forward", x))
        return x + self._norm("after feed-forward", y) * self.residual_multiplier

    def _norm(self, place: str, x: torch.Tensor) -> torch.Tensor:
        name = self._norm_names.get(place)
        return x if name is None else getattr(self, name)(x)


def _norms(spec: ModelSpec) -> dict[str, str]:
    """Names of the norms of a layer by where they are."""
    count = spec.norms_per_layer or 2
    if spec.details.norm_placement == "output" and count == 2:
        return {"after attention": "post_attention_layernorm", "after feed-forward": "post_feedforward_layernorm"}
    if count == 4:
        return {
            "before attention": "input_layernorm",
            "after attention": "post_attention_layernorm",
            "before feed-forward": "pre_feedforward_layernorm",
            "after feed-forward": "post_feedforward_layernorm",
        }
    if count == 1:
        return {"before attention": "input_layernorm"}
    return {"before attention": "input_layernorm", "before feed-forward": "post_attention_layernorm"}


def _attention(spec: ModelSpec, layer: int, parallel: Parallel) -> nn.Module:
    if spec.latent is None:
        return Attention(spec, layer, parallel)
    return LatentAttention(spec, spec.latent, layer, parallel)


class _Recompute(torch.autograd.Function):
    """
    Keeps the input of a layer only, and runs it again in the backward. torch.utils.checkpoint does not
    work with deferred weight gradients: it would run again for each of them (pytorch#136766).
    """

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, block: Block, place: SliceContext) -> torch.Tensor:
        ctx.block, ctx.place = block, place
        ctx.save_for_backward(x)
        return block(x, place)

    @staticmethod
    def backward(ctx: Any, dy: torch.Tensor) -> tuple[torch.Tensor | None, None, None]:
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            y = ctx.block(x, ctx.place)
        torch.autograd.backward(y, dy)
        return x.grad, None, None


def run_block(block: Block, x: torch.Tensor, place: SliceContext, recompute: bool) -> torch.Tensor:
    """x [batch, tokens, hidden] through a layer; `recompute`: its activations are made again in the backward."""
    return _Recompute.apply(x, block, place) if recompute else block(x, place)

"""One layer: attention and feed-forward, each added to its input."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from terapipe_torch.errors import RuntimeRefusal
from terapipe_torch.model.attention import Attention
from terapipe_torch.model.linear import Parallel
from terapipe_torch.model.mlp import Mlp
from terapipe_torch.model.norm import Norm
from terapipe_torch.model.slice import SliceContext
from terapipe_torch.model.spec import ModelSpec


class Block(nn.Module):
    """Norms before attention and feed-forward, as GPT-2 and Llama have them."""

    def __init__(self, spec: ModelSpec, layer: int, parallel: Parallel) -> None:
        super().__init__()
        if spec.details.norm_placement is not None or spec.details.parallel_residual or (spec.norms_per_layer or 2) != 2:
            raise RuntimeRefusal(f"the runtime has no layers as those of {spec.model_type}")
        partial = parallel.sequence_parallel
        self.residual_multiplier = spec.details.residual_multiplier
        self.input_layernorm = Norm(spec, spec.hidden, partial)
        self.self_attn = Attention(spec, layer, parallel)
        self.post_attention_layernorm = Norm(spec, spec.hidden, partial)
        self.mlp = Mlp(spec, spec.ffn_of(layer), parallel)

    def forward(self, x: torch.Tensor, place: SliceContext) -> torch.Tensor:
        """x [batch, tokens, hidden] to the same shape."""
        x = x + self.self_attn(self.input_layernorm(x), place) * self.residual_multiplier
        return x + self.mlp(self.post_attention_layernorm(x)) * self.residual_multiplier


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

"""LayerNorm and RMSNorm with statistics in fp32."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from terapipe_torch.collectives import sum_both_ways
from terapipe_torch.model.linear import Parallel, parameter
from terapipe_torch.model.spec import ModelSpec


class Norm(nn.Module):
    """Over the last dimension, `width` elements. `partial`: its gradients are parts of the sum over tp."""

    def __init__(self, spec: ModelSpec, width: int, partial: bool, kind: str | None = None, epsilon: float | None = None) -> None:
        super().__init__()
        self.epsilon = spec.norm_epsilon if epsilon is None else epsilon
        self.offset = 1.0 if spec.details.norm_unit_offset else 0.0
        self.is_layer_norm = (kind or spec.norm) == "layernorm"
        learned = spec.norm_parameters != 0
        self.weight = parameter((width,), partial=partial) if learned else None
        has_bias = self.is_layer_norm and learned and spec.norm_parameters is None
        self.bias = parameter((width,), partial=partial) if has_bias else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.weight is None or self.offset == 0:
            return self._normed(x, self.weight, self.bias)
        # 1 plus a small weight has few bits of it left in bf16
        bias = None if self.bias is None else self.bias.float()
        return self._normed(x.float(), self.weight.float() + self.offset, bias).to(x.dtype)

    def _normed(self, x: torch.Tensor, weight: torch.Tensor | None, bias: torch.Tensor | None) -> torch.Tensor:
        shape = (x.shape[-1],)
        if self.is_layer_norm:
            return F.layer_norm(x, shape, weight, bias, self.epsilon)
        return F.rms_norm(x, shape, weight, self.epsilon)


class HeadsNorm(nn.Module):
    """RMSNorm over all heads of queries or keys (OLMo 2), `width` elements; tp shards by heads."""

    def __init__(self, spec: ModelSpec, width: int, parallel: Parallel) -> None:
        super().__init__()
        self.epsilon, self.width, self.tp = spec.norm_epsilon, width, parallel.tp
        self.offset = 1.0 if spec.details.norm_unit_offset else 0.0
        self.weight = parameter((width,), 0, parallel.tp)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x [batch, tokens, width / tensor] to the same shape."""
        wide = x.float()
        squares = sum_both_ways(wide.square().sum(-1, keepdim=True), self.tp)
        wide = wide * torch.rsqrt(squares / self.width + self.epsilon)
        return (wide * (self.weight.float() + self.offset)).to(x.dtype)

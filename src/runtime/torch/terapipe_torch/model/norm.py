"""LayerNorm and RMSNorm with statistics in fp32."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from terapipe_torch.model.linear import parameter
from terapipe_torch.model.spec import ModelSpec


class Norm(nn.Module):
    """Over the last dimension, `width` elements. `partial`: its gradients are parts of the sum over tp."""

    def __init__(self, spec: ModelSpec, width: int, partial: bool, kind: str | None = None) -> None:
        super().__init__()
        self.epsilon = spec.norm_epsilon
        self.offset = 1.0 if spec.details.norm_unit_offset else 0.0
        self.is_layer_norm = (kind or spec.norm) == "layernorm"
        learned = spec.norm_parameters != 0
        self.weight = parameter((width,), partial=partial) if learned else None
        has_bias = self.is_layer_norm and learned and spec.norm_parameters is None
        self.bias = parameter((width,), partial=partial) if has_bias else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = x.float()
        if self.is_layer_norm:
            wide = F.layer_norm(wide, (x.shape[-1],), eps=self.epsilon)
        else:
            wide = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + self.epsilon)
        if self.weight is not None:
            wide = wide * (self.weight.float() + self.offset)
        if self.bias is not None:
            wide = wide + self.bias.float()
        return wide.to(x.dtype)

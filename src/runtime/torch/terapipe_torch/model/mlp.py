"""The feed-forward block of all tokens."""

from __future__ import annotations

import torch
from torch import nn

from terapipe_torch.model.functions import activation_of
from terapipe_torch.model.linear import Parallel, Projection, column_linear, row_linear
from terapipe_torch.model.spec import ModelSpec


class Mlp(nn.Module):
    """`width` columns, split over tp."""

    def __init__(self, spec: ModelSpec, width: int, parallel: Parallel) -> None:
        super().__init__()
        self.parallel, self.activation = parallel, activation_of(spec)
        self.gate_proj = Projection(spec.hidden, width, spec.mlp_bias, 0, parallel) if spec.gated_mlp else None
        self.up_proj = Projection(spec.hidden, width, spec.mlp_bias, 0, parallel)
        self.down_proj = Projection(width, spec.hidden, spec.mlp_bias, 1, parallel)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x [batch, tokens, hidden] to the same shape."""
        if self.gate_proj is None:
            (up,) = column_linear(x, [self.up_proj], self.parallel)
            return row_linear(self.activation(up), self.down_proj, self.parallel)
        gate, up = column_linear(x, [self.gate_proj, self.up_proj], self.parallel)
        return row_linear(self.activation(gate) * up, self.down_proj, self.parallel)

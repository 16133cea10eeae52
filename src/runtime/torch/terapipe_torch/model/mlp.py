"""The feed-forward block of all tokens."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn

from terapipe_torch.errors import RuntimeRefusal
from terapipe_torch.model.linear import Parallel, Projection, column_linear, row_linear
from terapipe_torch.model.spec import ModelSpec

_activations: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "gelu": F.gelu,
    "gelu_new": partial(F.gelu, approximate="tanh"),
    "gelu_pytorch_tanh": partial(F.gelu, approximate="tanh"),
    "gelu_fast": partial(F.gelu, approximate="tanh"),
    "silu": F.silu,
    "swish": F.silu,
    "relu": F.relu,
    "relu2": lambda x: F.relu(x).square(),
    "quick_gelu": lambda x: x * torch.sigmoid(1.702 * x),
}


def activation_of(spec: ModelSpec) -> Callable[[torch.Tensor], torch.Tensor]:
    """By Transformers' name; SiLU of gated and GELU of other models where the plan has none."""
    name = spec.details.activation or ("silu" if spec.gated_mlp else "gelu")
    if name not in _activations:
        raise RuntimeRefusal(f"the runtime has no activation {name}")
    return _activations[name]


class Mlp(nn.Module):
    """`width` columns, split over tp."""

    def __init__(self, spec: ModelSpec, width: int, parallel: Parallel) -> None:
        super().__init__()
        parallel.share(width, "columns of the feed-forward block")
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

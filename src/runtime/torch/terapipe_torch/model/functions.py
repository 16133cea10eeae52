"""Activations of feed-forward blocks and scores of routers, by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F

from terapipe_torch.errors import RuntimeRefusal
from terapipe_torch.model.spec import ModelSpec

router_scores: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "softmax": lambda logits: logits.softmax(-1),
    "sigmoid": torch.sigmoid,
    "sqrtsoftplus": lambda logits: F.softplus(logits).sqrt(),
}


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

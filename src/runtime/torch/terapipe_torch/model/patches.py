"""The first layer of a ViT: patches of images, the class token and learned positions."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import nn

from terapipe_torch.model.linear import Parallel, Projection, linear, parameter
from terapipe_torch.model.spec import ModelSpec


class PatchEmbedding(nn.Module):
    """Patches of `width` numbers each [batch, 1 + patches, width], the first of them unused: the class token takes its place."""

    def __init__(self, spec: ModelSpec, width: int, parallel: Parallel) -> None:
        super().__init__()
        self.parallel = parallel
        self.projection = Projection(width, spec.hidden, True, None, parallel)
        self.class_token = parameter((1, spec.hidden))
        self.positions = parameter((spec.max_positions or 0, spec.hidden))

    def forward(self, patches: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        """patches [batch, tokens, width] and their positions to [batch, tokens, hidden]."""
        x = linear(patches.to(self.projection.weight.dtype), self.projection, self.parallel.weight_gradients)
        is_class = (positions == 0).unsqueeze(-1)
        return torch.where(is_class, self.class_token, x) + F.embedding(positions, self.positions)

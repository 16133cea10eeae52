"""Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1)."""

from __future__ import annotations

import math

import torch
from torch import nn

from terapipe_torch.collectives import enter_tensor_parallel
from terapipe_torch.model.attention import Scores, attend, rotary_table, scores_of
from terapipe_torch.model.linear import Parallel, Projection, column_linear, linear, row_linear
from terapipe_torch.model.norm import Norm
from terapipe_torch.model.slice import SliceContext
from terapipe_torch.model.spec import LatentAttention as LatentSizes
from terapipe_torch.model.spec import ModelSpec

# of the norms of latents, whatever the model's own: as Transformers has it
_epsilon = 1e-6


class LatentAttention(nn.Module):
    """
    Queries, keys and values come from latents that no rank shares; tp splits the heads. All heads of a
    token have one rotated part of their key.
    """

    def __init__(self, spec: ModelSpec, sizes: LatentSizes, layer: int, parallel: Parallel) -> None:
        super().__init__()
        self.layer, self.parallel, self.sizes = layer, parallel, sizes
        self.heads = spec.heads // parallel.tp.size
        # latents are computed from this rank's tokens where sequence parallel, from all by every rank otherwise
        partial, bias = parallel.sequence_parallel, spec.qkv_bias
        size = sizes.nope_head_dim + sizes.rope_head_dim
        if sizes.q_rank is None:
            self.q_proj = Projection(spec.hidden, spec.heads * size, False, 0, parallel)
        else:
            self.q_a_proj = Projection(spec.hidden, sizes.q_rank, bias, None, parallel, partial)
            self.q_a_layernorm = Norm(spec, sizes.q_rank, partial, epsilon=_epsilon)
            self.q_b_proj = Projection(sizes.q_rank, spec.heads * size, False, 0, parallel)
        self.kv_a_proj_with_mqa = Projection(spec.hidden, sizes.kv_rank + sizes.rope_head_dim, bias, None, parallel, partial)
        self.kv_a_layernorm = Norm(spec, sizes.kv_rank, partial, epsilon=_epsilon)
        self.kv_b_proj = Projection(sizes.kv_rank, spec.heads * (sizes.nope_head_dim + sizes.v_head_dim), False, 0, parallel)
        self.o_proj = Projection(spec.heads * sizes.v_head_dim, spec.hidden, spec.attention_output_bias, 1, parallel)
        self.rotary = rotary_table(spec, layer, sizes.rope_head_dim)
        self.scores = _scores(spec, layer, size)

    def forward(self, x: torch.Tensor, place: SliceContext) -> torch.Tensor:
        """x [batch, tokens (of this rank where sequence parallel), hidden] to the same shape."""
        sizes = self.sizes
        q = self._heads(self._queries(x))
        latent, k_rope = linear(x, self.kv_a_proj_with_mqa, self.parallel.weight_gradients).split((sizes.kv_rank, sizes.rope_head_dim), -1)
        (kv,) = column_linear(self.kv_a_layernorm(latent), [self.kv_b_proj], self.parallel)
        k, v = self._heads(kv).split((sizes.nope_head_dim, sizes.v_head_dim), -1)
        k_rope = enter_tensor_parallel(k_rope, self.parallel.tp, self.parallel.sequence_parallel).unsqueeze(1)
        q, q_rope = q.split((sizes.nope_head_dim, sizes.rope_head_dim), -1)
        if self.rotary is not None:
            angles = self.rotary.angles(place.positions)
            q_rope, k_rope = self.rotary.rotate(q_rope, angles), self.rotary.rotate(k_rope, angles)
        q = torch.cat((q, q_rope), -1)
        k = torch.cat((k, k_rope.expand(-1, self.heads, -1, -1)), -1)
        out = attend(q, k, v, place, place.cache(self.layer), self.scores, self.parallel.recompute == "selective")
        return row_linear(out.transpose(1, 2).flatten(2), self.o_proj, self.parallel)

    def _queries(self, x: torch.Tensor) -> torch.Tensor:
        """[batch, tokens, heads of this rank x size]."""
        if self.sizes.q_rank is None:
            return column_linear(x, [self.q_proj], self.parallel)[0]
        latent = linear(x, self.q_a_proj, self.parallel.weight_gradients)
        return column_linear(self.q_a_layernorm(latent), [self.q_b_proj], self.parallel)[0]

    def _heads(self, x: torch.Tensor) -> torch.Tensor:
        """[batch, tokens, heads x size] to [batch, heads, tokens, size]."""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)


def _scores(spec: ModelSpec, layer: int, size: int) -> Scores:
    """YaRN makes the scores of latent attention steeper by the square of its magnitude over all dimensions."""
    scores, scaling = scores_of(spec, layer, size), spec.rotary.scaling
    if scaling is None or not scaling.mscale_all_dim or (scaling.factor or 1.0) <= 1:
        return scores
    magnitude = 0.1 * scaling.mscale_all_dim * math.log(scaling.factor or 1.0) + 1.0
    return Scores(scores.scale * magnitude**2, scores.window, scores.soft_cap)

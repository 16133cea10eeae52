"""The layers of one stage, with the embedding or the head where it has them."""

from __future__ import annotations

import hashlib
import math
import os
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn

from terapipe_torch.launch import ranks_here
from terapipe_torch.model.block import Block, run_block
from terapipe_torch.model.linear import Parallel
from terapipe_torch.model.norm import Norm
from terapipe_torch.model.patches import PatchEmbedding
from terapipe_torch.model.slice import SliceContext
from terapipe_torch.model.spec import ModelSpec
from terapipe_torch.model.vocabulary import Embedding, Head
from terapipe_torch.plan import StageLayers

# names of the two parameters that are one weight where embeddings are tied
EMBEDDING, HEAD = "embed_tokens.weight", "lm_head.projection.weight"
# threads that draw weights, and elements of what they draw together with others: 0.25 GiB each in fp32
_most_draws, _small = 8, 2**26


class Stage(nn.Module):
    """
    Parameter names are global (layers keep their number in the model), so that any cut reads any checkpoint.
    Of the first `frozen_layers` of the model and, where there are any, of the embedding nothing trains.
    """

    def __init__(self, spec: ModelSpec, part: StageLayers, parallel: Parallel, frozen_layers: int = 0) -> None:
        super().__init__()
        self.spec, self.parallel = spec, parallel
        numbers = range(part.first_layer, part.first_layer + part.layers)
        self.embed_tokens = _embedding(spec, parallel) if part.embedding else None
        self.layers = nn.ModuleDict({str(number): Block(spec, number, parallel) for number in numbers})
        self.norm = Norm(spec, spec.hidden, parallel.sequence_parallel) if part.head else None
        self.lm_head = Head(spec, parallel) if part.head else None
        if self.embed_tokens is not None and self.lm_head is not None and spec.tied_embeddings:
            self.lm_head.projection.weight = self.embed_tokens.weight
        self.frozen = {name for name in self.layers if int(name) < frozen_layers}
        self.is_embedding_frozen = self.embed_tokens is not None and frozen_layers > 0
        for module in [self.layers[name] for name in self.frozen] + [self.embed_tokens] * self.is_embedding_frozen:
            module.requires_grad_(False)

    def forward(
        self, x: torch.Tensor, place: SliceContext, labels: torch.Tensor | None = None, is_past_frozen: bool = False
    ) -> torch.Tensor:
        """
        Tokens [batch, tokens] or hidden states [batch, tokens, hidden] to hidden states, or to the summed
        loss where the stage has the head and labels [batch, tokens] are given. `is_past_frozen`: x comes
        from all frozen layers of the model.
        """
        if not is_past_frozen:
            x = self.run_frozen(x, place)
        if self.embed_tokens is not None and not self.is_embedding_frozen:
            x = self.embed_tokens(x, place.positions)
        recompute = self.parallel.recompute == "full" and torch.is_grad_enabled()
        if recompute and not x.requires_grad:
            # what is run again in the backward has a gradient only if its input has one
            x = x.detach().requires_grad_()
        for name, block in self.layers.items():
            if name not in self.frozen:
                x = run_block(block, x, place, recompute)
        if self.norm is not None and self.lm_head is not None:
            x = self.norm(x)
            return x if labels is None else self.lm_head.loss(x, labels)
        return x

    @torch.no_grad()
    def run_frozen(self, x: torch.Tensor, place: SliceContext, first: int = 0) -> torch.Tensor:
        """The embedding if it is frozen, and frozen layers from number `first` on, which x is the input of; without gradients."""
        if self.is_embedding_frozen and first == 0:
            x = self.embed_tokens(x, place.positions)
        for name, block in self.layers.items():
            if name in self.frozen and int(name) >= first:
                x = block(x, place)
        return x

    def initialise(self, seed: int) -> None:
        """The same weights whatever the layout: each parameter is drawn whole, by its name, and cut."""

        def draw(named: tuple[str, nn.Parameter]) -> None:
            name, parameter = named
            parameter.data.copy_(shard_of(self._drawn(name, parameter, seed), parameter))

        # those that are drawn at once are whole in host memory: the large ones one after the other
        named = list(self.named_parameters())
        with ThreadPoolExecutor(_draws_at_once()) as pool:
            list(pool.map(draw, [each for each in named if math.prod(each[1].whole_shape) <= _small]))
        for each in named:
            if math.prod(each[1].whole_shape) > _small:
                draw(each)

    def _drawn(self, name: str, parameter: nn.Parameter, seed: int) -> torch.Tensor:
        shape = parameter.whole_shape
        if "norm" in name:
            offset = self.spec.details.norm_unit_offset
            return torch.zeros(shape) if name.endswith("bias") or offset else torch.ones(shape)
        if name.endswith("bias"):
            return torch.zeros(shape)
        if self.spec.tied_embeddings and name == HEAD:
            name = EMBEDDING
        std = self.spec.details.init_std or 0.02
        if name.endswith(("o_proj.weight", "down_proj.weight")):
            std /= math.sqrt(2 * self.spec.layers)
        number = int.from_bytes(hashlib.sha256(f"{seed}/{name}".encode()).digest()[:8], "big") >> 1
        return torch.randn(shape, generator=torch.Generator().manual_seed(number)).mul_(std)


def _draws_at_once() -> int:
    """Random numbers of one parameter are drawn by one core."""
    return max(1, min(_most_draws, (os.cpu_count() or 1) // ranks_here()))


def _embedding(spec: ModelSpec, parallel: Parallel) -> nn.Module:
    return Embedding(spec, parallel) if spec.patch_width is None else PatchEmbedding(spec, spec.patch_width, parallel)


def shard_of(whole: torch.Tensor, tensor: torch.Tensor) -> torch.Tensor:
    """
    This rank's part of a whole parameter or buffer: a view, except where it has rows by which tp pads the
    vocabulary. `whole` may have them or not; here they are zeros.
    """
    dim = getattr(tensor, "shard_dim", None)
    if dim is None:
        return whole
    size = tensor.shape[dim]
    start = min(size * tensor.shard_axis.index, whole.shape[dim])
    part = whole.narrow(dim, start, min(size, whole.shape[dim] - start))
    return part if part.shape[dim] == size else torch.cat([part, part.new_zeros(tensor.shape[0] - part.shape[0], *part.shape[1:])])

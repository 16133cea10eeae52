"""Feed-forward networks between which a router chooses for each token. No token is dropped, so slices do not matter."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from terapipe_torch.collectives import enter_tensor_parallel, leave_tensor_parallel
from terapipe_torch.model.functions import activation_of, router_scores
from terapipe_torch.model.linear import Parallel, Projection, linear
from terapipe_torch.model.spec import Experts, ModelSpec


class Router(Projection):
    """
    weight [experts, hidden]; every tp rank chooses the same experts in fp32 and has a part of the gradient.
    `e_score_correction_bias` [experts], fp32 and not trained, only takes part in the choice (DeepSeek-V3).
    """

    def __init__(self, spec: ModelSpec, experts: Experts, parallel: Parallel) -> None:
        super().__init__(spec.hidden, experts.count, experts.router_bias, None, parallel, parallel.tp.size > 1)
        self.experts, self.details, self.store = experts, spec.details, parallel.weight_gradients
        bias = torch.zeros(experts.count) if spec.details.router_expert_bias else None
        self.register_buffer("e_score_correction_bias", bias)

    def _apply(self, fn: Callable[[torch.Tensor], torch.Tensor], recurse: bool = True) -> Router:
        """The bias of the experts stays in fp32: a step of it is smaller than a bit of bf16."""
        bias = self.e_score_correction_bias
        super()._apply(fn, recurse)
        if bias is not None:
            self.e_score_correction_bias = bias.to(self.weight.device)
        return self

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """x [tokens, hidden] to the experts that each token visits, int64 [tokens, active], and their fp32 weights."""
        scores = router_scores[self.details.router_score](linear(x, self, self.store, torch.float32))
        chosen = self._choice(scores.detach())
        weights = scores.gather(-1, chosen)
        if self.details.router_normalised:
            weights = weights / (weights.sum(-1, keepdim=True) + 1e-20)
        return chosen, weights * self.details.router_scaling

    def _choice(self, scores: torch.Tensor) -> torch.Tensor:
        if self.e_score_correction_bias is not None:
            scores = scores + self.e_score_correction_bias
        groups = self.experts.groups
        if groups is not None and groups.active < groups.count:
            grouped = scores.unflatten(-1, (groups.count, -1))
            best = grouped.topk(min(self.details.router_group_best or 1, grouped.shape[-1]), -1).values.sum(-1)
            kept = torch.zeros_like(best, dtype=torch.bool).scatter(-1, best.topk(groups.active, -1).indices, True)
            scores = grouped.masked_fill(~kept.unsqueeze(-1), float("-inf")).flatten(-2)
        return scores.topk(self.experts.active, -1).indices


class Expert(nn.Module):
    """One network of `width` columns; this rank computes a share, and the sum over tp is its output."""

    def __init__(self, spec: ModelSpec, width: int, parallel: Parallel) -> None:
        super().__init__()
        self.store, self.activation = parallel.weight_gradients, activation_of(spec)
        self.gate_proj = Projection(spec.hidden, width, False, 0, parallel) if spec.gated_mlp else None
        self.up_proj = Projection(spec.hidden, width, False, 0, parallel)
        self.down_proj = Projection(width, spec.hidden, False, 1, parallel)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x [tokens, hidden] to the same shape; no tokens give gradients of zeros."""
        up = linear(x, self.up_proj, self.store)
        inner = self.activation(up) if self.gate_proj is None else self.activation(linear(x, self.gate_proj, self.store)) * up
        return linear(inner, self.down_proj, self.store)


class ExpertsMlp(nn.Module):
    """The experts that a router chooses, and those that every token visits. tp splits the columns of each."""

    def __init__(self, spec: ModelSpec, experts: Experts, parallel: Parallel) -> None:
        super().__init__()
        self.parallel = parallel
        self.gate = Router(spec, experts, parallel)
        self.experts = nn.ModuleList(Expert(spec, spec.ffn, parallel) for _ in range(experts.count))
        self.shared_experts = Expert(spec, experts.shared_ffn, parallel) if experts.shared_ffn else None
        partial = parallel.tp.size > 1
        self.shared_expert_gate = Projection(spec.hidden, 1, False, None, parallel, partial) if experts.shared_gate else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x [batch, tokens, hidden] to the same shape."""
        x = enter_tensor_parallel(x, self.parallel.tp, self.parallel.sequence_parallel)
        tokens = x.flatten(0, 1)
        y = self._chosen(tokens)
        if self.shared_experts is not None:
            y = y + self._shared(tokens, self.shared_experts)
        return leave_tensor_parallel(y.view_as(x), self.parallel.tp, self.parallel.sequence_parallel)

    def _chosen(self, x: torch.Tensor) -> torch.Tensor:
        """x [tokens, hidden]: copies of the tokens go through their experts and back, sums in an order that is always the same."""
        chosen, weights = self.gate(x)
        active = chosen.shape[-1]
        order = chosen.flatten().argsort(stable=True)
        counts = chosen.flatten().bincount(minlength=len(self.experts)).tolist()
        copies = x.unsqueeze(1).expand(-1, active, -1).flatten(0, 1).index_select(0, order)
        outputs = [expert(part) for expert, part in zip(self.experts, copies.split(counts), strict=True)]
        y = torch.cat(outputs).index_select(0, order.argsort()).unflatten(0, (-1, active))
        return (y * weights.unsqueeze(-1)).sum(1).to(x.dtype)

    def _shared(self, x: torch.Tensor, experts: Expert) -> torch.Tensor:
        y = experts(x)
        if self.shared_expert_gate is None:
            return y
        return torch.sigmoid(linear(x, self.shared_expert_gate, self.parallel.weight_gradients)) * y

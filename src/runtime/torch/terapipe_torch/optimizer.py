"""AdamW over fp32 copies of the weights, and clipping by the norm of all gradients of the model."""

from __future__ import annotations

import torch
from torch import nn

from terapipe_torch.collectives import all_reduce
from terapipe_torch.mesh import Mesh
from terapipe_torch.plan import Training


def gradient_norm(parameters: dict[str, nn.Parameter], counted: set[str], mesh: Mesh) -> torch.Tensor:
    """
    2-norm over the whole model. `counted`: names that this rank counts in full; parameters that tp does
    not cut are counted by its first rank.
    """
    square = torch.zeros((), dtype=torch.float32, device=mesh.device)
    for name, parameter in parameters.items():
        if name in counted and (parameter.shard_dim is not None or mesh.tp.index == 0):
            square += parameter.main_grad.square().sum()
    all_reduce(square, mesh.tp)
    return all_reduce(square, mesh.pp).sqrt()


class Optimizer:
    """Weights stay in the precision that they are computed with; `masters` are their fp32 copies."""

    def __init__(self, parameters: dict[str, nn.Parameter], training: Training) -> None:
        self.parameters, self.training = parameters, training
        self.masters = {name: each.detach().float().clone().requires_grad_() for name, each in parameters.items()}
        decayed = [self.masters[name] for name, each in parameters.items() if each.dim() > 1]
        others = [self.masters[name] for name, each in parameters.items() if each.dim() <= 1]
        self.adam = torch.optim.AdamW(
            [{"params": decayed, "weight_decay": training.weight_decay}, {"params": others, "weight_decay": 0.0}],
            lr=training.learning_rate,
            betas=(training.beta1, training.beta2),
            eps=training.epsilon,
        )

    def step(self, norm: torch.Tensor) -> None:
        """One step with `main_grad` of every parameter, clipped to `gradient_clip` where `norm` is above it."""
        clip = self.training.gradient_clip
        scale = torch.clamp(clip / (norm + 1e-6), max=1.0) if clip > 0 else torch.ones_like(norm)
        for name, parameter in self.parameters.items():
            self.masters[name].grad = parameter.main_grad.mul_(scale)
        self.adam.step()
        for name, parameter in self.parameters.items():
            parameter.data.copy_(self.masters[name].data)

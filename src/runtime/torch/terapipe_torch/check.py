"""`--check`: the loss and every gradient against the whole model, without pipeline or slices."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import torch

from terapipe_torch.collectives import all_gather_object, all_reduce
from terapipe_torch.loop import Pipeline, valid_labels
from terapipe_torch.mesh import Mesh, single_mesh
from terapipe_torch.model.linear import Parallel
from terapipe_torch.model.slice import SliceContext
from terapipe_torch.model.stage import EMBEDDING, HEAD, Stage, shard_of
from terapipe_torch.plan import Plan, StageLayers, Unit
from terapipe_torch.weight_grads import WeightGradients, accumulate_grads
from terapipe_torch.weights.load import Weights, fill

LIMIT = 1e-5


@dataclass(frozen=True)
class CheckResult:
    """
    `worst`: largest difference of a gradient over the largest gradient of the model, infinite where either is
    not a number; `where`: its parameter; `loss` and `whole_loss` per token.
    """

    worst: float
    where: str
    loss: float
    whole_loss: float

    @property
    def passed(self) -> bool:
        return self.worst <= LIMIT and abs(self.loss - self.whole_loss) <= LIMIT * max(1.0, abs(self.whole_loss))


def check_step(pipeline: Pipeline, tokens: torch.Tensor, global_tokens: torch.Tensor) -> CheckResult:
    """
    One step of `tokens` [replica batch, length + 1] against the whole model on `global_tokens` [global
    batch, length + 1], both int64. Every rank calls it, and computes the whole model by itself.
    """
    mesh = pipeline.mesh
    pipeline.zero_gradients()
    loss = pipeline.run(tokens, valid_labels(tokens[:, 1:], mesh))
    pipeline.reduce_gradients()
    share = torch.tensor(loss, dtype=torch.float64, device=mesh.device)
    # each tp rank of the last stage has the same loss
    total = all_reduce(share, mesh.world).item() / mesh.tp.size
    whole, whole_loss = whole_step(pipeline.plan, global_tokens.to(mesh.device), mesh, pipeline.weights)
    worst, where = max(all_gather_object(_worst(pipeline, whole), mesh.world))
    return CheckResult(worst, where, total, whole_loss)


def whole_step(plan: Plan, tokens: torch.Tensor, mesh: Mesh, weights: Weights | None = None) -> tuple[Stage, float]:
    """The whole model after one backward of all tokens: `main_grad` of its parameters, and the mean loss."""
    single = single_mesh(mesh.device)
    part = StageLayers(0, 0, plan.model.layers, embedding=True, head=True)
    stage = Stage(plan.model, part, Parallel(single.tp, single.cp, False, WeightGradients())).to(single.device)
    fill(stage, plan, weights)
    length = plan.training.sequence_length
    unit = Unit(0, 0, tokens.shape[0], length, 0)
    place = SliceContext(unit, torch.arange(length, device=single.device), None, None, length)
    loss = stage(tokens[:, :-1], place, tokens[:, 1:]) / valid_labels(tokens[:, 1:], single)
    loss.backward()
    accumulate_grads(stage.parameters())
    return stage, loss.item()


def _worst(pipeline: Pipeline, whole: Stage) -> tuple[float, str]:
    references = {name: each.main_grad for name, each in whole.named_parameters()}
    if pipeline.plan.model.tied_embeddings:
        references[HEAD] = references[EMBEDDING]
    largest = max(each.abs().max().item() for each in references.values())
    worst, where = 0.0, ""
    gradients = pipeline.gradients.gathered()
    for name, parameter in pipeline.parameters().items():
        error = (gradients[name] - shard_of(references[name], parameter)).abs().max().item() / largest
        if not math.isfinite(error):
            return math.inf, name
        if error > worst:
            worst, where = error, name
    return worst, where


def in_fp32(plan: Plan) -> Plan:
    """The plan as `--check` runs it."""
    return dataclasses.replace(plan, training=dataclasses.replace(plan.training, precision="fp32"))

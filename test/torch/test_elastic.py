"""Runs that freeze layers take the steps of one process that freezes the same layers, whatever the pipelines are."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import unittest
from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from models import spec_of, whole_stage
from support import TRAINING, on_ranks
from terapipe_torch.data import SyntheticTokens
from terapipe_torch.elastic.auto_pipe import AutoPipe, plan_of_shape
from terapipe_torch.elastic.freeze import AlphaRule, ChangeRule, GradientRule
from terapipe_torch.elastic.plan import ElasticPlan, Freezing, Mechanisms, check_elastic
from terapipe_torch.elastic.run import ElasticOptions, ElasticRun
from terapipe_torch.elastic.samples import EpochOrder, RandomSamples, Samples, share_of_step
from terapipe_torch.elastic.trainer import ElasticTrainer
from terapipe_torch.loop import Pipeline
from terapipe_torch.mesh import make_mesh
from terapipe_torch.model.slice import SliceContext
from terapipe_torch.model.spec import from_json
from terapipe_torch.model.vocabulary import IGNORED
from terapipe_torch.plan import Training, Unit
from terapipe_torch.training import Trainer
from terapipe_torch.weight_grads import accumulate_grads

LENGTH, COUNT = 12, 20
OFF = Mechanisms(False, False, False)


def elastic(**changes: Any) -> ElasticPlan:
    """A pipeline of four ranks (or as given) trains a Llama of six layers; steps of 8 sequences, the last of an epoch of 4."""
    model = spec_of("llama", layers=6, tiedEmbeddings=False)
    training = from_json(Training, {**TRAINING, "sequenceLength": LENGTH, "globalBatch": 8, "weightDecay": 0.1, "learningRate": 0.01})
    usual = ElasticPlan(
        model, training, epochs=3, pipeline_length=4, replicas=1, batch=8, samples=COUNT, batch_scaling="kept", micro_batches=4
    )
    plan = dataclasses.replace(usual, **changes)
    check_elastic(plan)
    return plan


def given(*frozen: int) -> Freezing:
    """A fixed schedule."""
    return Freezing("given", 0.0, frozen)


def samples_of(plan: ElasticPlan) -> Samples:
    """Random sequences, the same in every epoch."""
    return RandomSamples(SyntheticTokens(plan.model.vocab, LENGTH, 7), plan.samples or 0)


class Recorded(ElasticTrainer):
    """Keeps the steps of the run."""

    steps_taken: ClassVar[list[tuple[float, float]]] = []

    def step(self) -> Any:
        result = super().step()
        Recorded.steps_taken.append((result.loss, result.gradient_norm))
        return result


@dataclasses.dataclass(frozen=True)
class Result:
    """Loss and norm of each step on one rank, and what was logged of each epoch."""

    steps: list[tuple[float, float]]
    epochs: list[dict[str, Any]]


def train(case: tuple[ElasticPlan, ElasticOptions]) -> Result:
    """The run on this process group."""
    from terapipe_torch.elastic import run

    plan, options = case
    run.ElasticTrainer, Recorded.steps_taken = Recorded, []
    with contextlib.redirect_stdout(io.StringIO()):
        epochs = ElasticRun(plan, samples_of(plan), samples_of(plan), torch.device("cpu"), options).train()
    return Result(Recorded.steps_taken, epochs)


class EpochTokens:
    """The samples of an elastic run as the plain trainer takes them. They must fill its steps."""

    def __init__(self, plan: ElasticPlan) -> None:
        self.plan, self.samples, self.global_batch = plan, samples_of(plan), plan.batch * plan.replicas
        self.steps = self.samples.count // self.global_batch

    def batch(self, step: int, first: int, count: int) -> torch.Tensor:
        order = EpochOrder(self.samples.count, self.plan.training.seed, step // self.steps, self.global_batch)
        _, batch = share_of_step(self.samples, order, step % self.steps, first, count)
        return torch.cat([batch.inputs, batch.labels[:, -1:]], 1)

    def resume_at(self, step: int, sequences: int) -> None:
        """Nothing to do."""


def train_plain(plan: ElasticPlan) -> list[tuple[float, float]]:
    """The same steps by the trainer of plans that do not freeze."""
    plain, source = plan_of_shape(plan, AutoPipe(plan).shape(0, 0)), EpochTokens(plan)
    trainer = Trainer(Pipeline(plain, make_mesh(plain.layout, torch.device("cpu"))), source, plan.epochs * source.steps)
    with contextlib.redirect_stdout(io.StringIO()):
        results = [trainer.step() for _ in range(trainer.steps)]
    return [(each.loss, each.gradient_norm) for each in results]


def train_in_one_process(plan: ElasticPlan, frozen: Sequence[int], global_batches: Sequence[int]) -> list[tuple[float, float]]:
    """
    Loss and norm of the steps of one process: the whole model, PyTorch's AdamW and clipping, and no gradients of frozen
    layers. An independent program: it shares only the layers with the runtime.
    """
    model, training, samples = whole_stage(plan.model), plan.training, samples_of(plan)
    model.initialise(training.seed)
    adam = torch.optim.AdamW(
        [
            {"params": [each for each in model.parameters() if each.dim() > 1], "weight_decay": training.weight_decay},
            {"params": [each for each in model.parameters() if each.dim() <= 1], "weight_decay": 0.0},
        ],
        lr=training.learning_rate,
        betas=(training.beta1, training.beta2),
        eps=training.epsilon,
    )
    steps = []
    for epoch in range(plan.epochs):
        active = {name: each for name, each in model.named_parameters() if not _is_frozen(name, frozen[epoch])}
        generator = torch.Generator().manual_seed(training.seed * 1_000_003 + epoch)
        order = torch.randperm(samples.count, generator=generator).tolist()
        for begin in range(0, samples.count, global_batches[epoch]):
            batch = samples.batch(order[begin : begin + global_batches[epoch]])
            count, length = batch.labels.shape
            place = SliceContext(Unit(0, 0, count, length, 0), torch.arange(length), None, None, length)
            loss = model(batch.inputs, place, batch.labels) / (batch.labels != IGNORED).sum()
            loss.backward()
            accumulate_grads(model.parameters())
            for name, each in model.named_parameters():
                each.grad = each.main_grad if name in active else None
                del each.main_grad
            norm = torch.nn.utils.clip_grad_norm_(list(active.values()), training.gradient_clip)
            adam.step()
            adam.zero_grad()
            steps.append((loss.item(), norm.item()))
    return steps


def _is_frozen(name: str, frozen: int) -> bool:
    parts = name.split(".")
    return (parts[0] == "embed_tokens" and frozen > 0) or (parts[0] == "layers" and int(parts[1]) < frozen)


class ElasticTest(unittest.TestCase):
    """Runs on processes of this machine."""

    def results(self, world: int, cases: Sequence[tuple[ElasticPlan, ElasticOptions]]) -> list[Result]:
        """Of rank 0, after a look at the others: active ones have the same steps."""
        found = []
        for ranks in on_ranks(world, train, cases):
            for each in ranks:
                self.assertIsInstance(each, Result, each)
                self.assertTrue(set(each.steps) <= set(ranks[0].steps))
            found.append(ranks[0])
        return found

    def assert_same(self, steps: list[tuple[float, float]], expected: list[tuple[float, float]]) -> None:
        self.assertEqual(len(steps), len(expected))
        for (loss, norm), (other, other_norm) in zip(steps, expected, strict=True):
            self.assertLess(abs(loss - other), 1e-5 * max(1.0, other))
            self.assertLess(abs(norm - other_norm), 1e-3 * max(1.0, other_norm))


class FixedSchedule(ElasticTest):
    """The layers that freeze are given."""

    def test_equals_one_process_that_freezes_the_same_layers(self) -> None:
        halved, slices = Mechanisms(True, False, False), (5, 4, 3)
        plans = {
            "freezing only": elastic(mechanisms=OFF),
            "shorter pipelines, idle ranks": elastic(mechanisms=halved),
            "shorter pipelines, replicas": elastic(mechanisms=Mechanisms(True, True, False)),
            "all": elastic(),
            "all, 1F1B": elastic(schedule="1F1B"),
            "all, in slices": elastic(schedule="1F1B", slices=slices),
            "frozen layers inside, in slices": elastic(
                schedule="1F1B", slices=slices, frozen_inside=True, mechanisms=Mechanisms(False, True, False)
            ),
            "frozen layers on stages of their own": elastic(mechanisms=OFF, freezing=given(0, 3, 5), schedule="1F1B", slices=slices),
            "two pipelines": elastic(pipeline_length=2, replicas=2, batch=4),
            "everything frozen": elastic(freezing=given(0, 5, 6)),
            "recomputed": elastic(training=dataclasses.replace(elastic().training, recompute="full")),
        }
        plans = {
            name: dataclasses.replace(plan, freezing=given(0, 2, 4) if plan.freezing.rule != "given" else plan.freezing)
            for name, plan in plans.items()
        }
        results = self.results(4, [(plan, ElasticOptions()) for plan in plans.values()])
        reference = {}
        for (name, plan), result in zip(plans.items(), results, strict=True):
            frozen = plan.freezing.frozen_layers
            if frozen not in reference:
                reference[frozen] = train_in_one_process(plan, frozen, (8, 8, 8))
            with self.subTest(name):
                self.assert_same(result.steps, reference[frozen])


class Decisions(ElasticTest):
    """What is decided between epochs, and logged."""

    def test_alpha_0_equals_plain_training_to_the_bit(self) -> None:
        plan = elastic(freezing=Freezing("alpha", 0.0), samples=24)
        (result,) = self.results(4, [(plan, ElasticOptions())])
        ((plain, *_),) = on_ranks(4, train_plain, [plan])
        self.assertEqual(len(plain), 9)
        self.assertEqual(result.steps, plain)

    def test_rules_are_those_of_the_planner(self) -> None:
        # PipeTransformer's auto_freeze.log, layers 5 to 11 before epoch 7; docs/elastic.md has it by hand
        before = [None] * 5 + [233.50, 227.06, 218.40, 224.20, 206.10, 233.45, 285.05]
        self.assertEqual(GradientRule(12, 1 / 3).frozen_layers(8, 5, [[]] * 7 + [before]), 8)
        self.assertEqual([AlphaRule(12, 1 / 3).frozen_layers(epoch, 0, []) for epoch in range(8)], [0, 4, 7, 9, 10, 11, 11, 12])
        norms = [[1.0, 1.0, 1.0, 1.0], [1.1, 1.3, 1.2, 1.0]]
        self.assertEqual(ChangeRule(4).frozen_layers(2, 0, norms), 2)


if __name__ == "__main__":
    unittest.main()

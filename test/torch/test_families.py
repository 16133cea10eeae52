"""Each family in a pipeline of processes, in slices with split backward, with weights from files that tp cuts."""

from __future__ import annotations

import dataclasses
import math
import unittest
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from models import TemporaryFolder, families, plan_json, plan_of, without_names, write_random_weights
from support import on_ranks
from terapipe_torch.check import CheckResult, check_step
from terapipe_torch.data import SyntheticTokens
from terapipe_torch.loop import Pipeline
from terapipe_torch.mesh import make_mesh
from terapipe_torch.plan import Plan
from terapipe_torch.weights.load import Weights
from terapipe_torch.weights.safetensors import WeightFolder
from terapipe_torch.weights.save import save_weights


def check_and_save(case: tuple[Plan, str | None, str]) -> CheckResult:
    """One step of a plan with the weights of a folder, or those of its seed, which are then saved to another folder."""
    plan, source, target = case
    mesh = make_mesh(plan.layout, torch.device("cpu"))
    pipeline = Pipeline(plan, mesh, Weights(source, plan.model) if source is not None else None)
    data = SyntheticTokens(plan.model.vocab, plan.training.sequence_length, plan.training.seed)
    count = plan.replica_batch
    result = check_step(pipeline, data.batch(0, mesh.dp.index * count, count), data.batch(0, 0, count * mesh.dp.size))
    if source is not None:
        save_weights(pipeline.stages.values(), plan.model, mesh, target)
    return result


def check_without_a_number(case: tuple[Plan, int]) -> CheckResult:
    """A check of a plan whose gradients have a NaN on one pipeline rank."""
    plan, bad = case
    mesh = make_mesh(plan.layout, torch.device("cpu"))
    pipeline = Pipeline(plan, mesh)
    gathered = pipeline.gradients.gathered

    def spoiled() -> dict[str, torch.Tensor]:
        gradients = gathered()
        if mesh.pp.index == bad:
            next(iter(gradients.values()))[0] = math.nan
        return gradients

    pipeline.gradients.gathered = spoiled
    tokens = SyntheticTokens(plan.model.vocab, plan.training.sequence_length, plan.training.seed).batch(0, 0, plan.replica_batch)
    return check_step(pipeline, tokens, tokens)


class TestCheck(TemporaryFolder):
    """What must not pass."""

    def test_a_gradient_that_is_not_a_number_fails_on_all_ranks(self) -> None:
        plan = plan_of(plan_json(families["llama"]["model"], pipeline=2), self.folder)
        for bad, results in enumerate(on_ranks(2, check_without_a_number, [(plan, 0), (plan, 1)])):
            self.assertIsInstance(results[0], CheckResult, results[0])
            self.assertEqual([dataclasses.astuple(each) for each in results], [dataclasses.astuple(results[0])] * 2)
            self.assertFalse(results[0].passed, f"NaN on rank {bad}")
            self.assertRegex(results[0].where, (r"^embed_tokens\.", r"^layers\.2\.")[bad])


class TestPipelines(TemporaryFolder):
    """Loss and gradients of every family against its whole model, and the weights saved again."""

    def test_two_stages_with_slices_and_split_backward(self) -> None:
        self._check(2, pipeline=2, slices=(24, 8, 32), split=True)

    def test_tensor_and_sequence_parallel_with_recompute(self) -> None:
        """Experts, routers and latents too: the gradient of a router is a part of the sum on each rank."""
        self._check(4, pipeline=2, slices=(40, 24), split=True, tensor=2, sequenceParallel=True, recompute="full")

    def test_tensor_parallel(self) -> None:
        self._check(2, tensor=2, recompute="selective", slices=(40, 24))

    def test_context_parallel(self) -> None:
        """Where attention has a window, a soft cap or latents, and where experts are chosen."""
        self._check(2, ("mistral", "gemma2", "deepseek_v3", "mixtral"), context=2, slices=(40, 24), split=True)

    def _check(self, processes: int, names: Iterable[str] = tuple(families), **settings: Any) -> None:
        cases = []
        for family in names:
            # a vocabulary that tp does not divide is padded, and files do not have the padding
            plan = plan_of(plan_json({**families[family]["model"], "vocab": 95}, **settings), self.folder)
            source = self.folder / f"{family}.weights"
            if family not in without_names:
                write_random_weights(plan.model, source)
            cases.append((plan, str(source) if source.exists() else None, str(self.folder / f"{family}.saved")))
        for family, case, results in zip(names, cases, on_ranks(processes, check_and_save, cases), strict=True):
            with self.subTest(family):
                for result in results:
                    self.assertIsInstance(result, CheckResult, result)
                    self.assertTrue(result.passed, str(result))
                if case[1] is not None:
                    self._compare(Path(case[1]), Path(case[2]))

    def _compare(self, source: Path, saved: Path) -> None:
        first, second = WeightFolder(source), WeightFolder(saved)
        self.assertEqual(sorted(first.names), sorted(second.names))
        for name in first.names:
            self.assertTrue(torch.equal(first.read(name), second.read(name)), name)


if __name__ == "__main__":
    unittest.main()

"""Training steps: ZeRO, layouts, precisions and checkpoints give the same steps as they should."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import tempfile
import unittest
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from support import on_ranks, plans_folder
from terapipe_torch.check import CheckResult, check_step
from terapipe_torch.checkpoint import load_checkpoint, newest_checkpoint, save_checkpoint
from terapipe_torch.data import SyntheticTokens
from terapipe_torch.errors import RuntimeRefusal, TrainingFailed
from terapipe_torch.loop import Pipeline
from terapipe_torch.mesh import make_mesh
from terapipe_torch.plan import Plan, load_plan
from terapipe_torch.training import Trainer
from terapipe_torch.weights.save import save_weights

SLICED, SPLIT = "Seq1F1B-2-halves", "Seq1F1B-ZB-2-halves"


@dataclass(frozen=True)
class Run:
    """Steps of a plan in another layout; `save` after `save_at` steps, `resume` before the first."""

    plan: str = SLICED
    layout: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)
    tied: bool = True
    steps: int = 4
    save: str | None = None
    save_at: int = 2
    resume: str | None = None
    loss_scale: float | None = None


def plan_of(run: Run) -> Plan:
    """The plan as a run has it."""
    plan = load_plan(plans_folder() / f"{run.plan}.json")
    settings = {"learning_rate": 0.01, "weight_decay": 0.1, "learning_rate_schedule": "cosine", "warmup_steps": 1, **run.training}
    return dataclasses.replace(
        plan,
        layout=dataclasses.replace(plan.layout, **run.layout),
        training=dataclasses.replace(plan.training, **settings),
        model=dataclasses.replace(plan.model, tied_embeddings=run.tied),
    )


def trainer_of(plan: Plan, log: str | None = None) -> Trainer:
    """Of four steps, on this process group."""
    mesh = make_mesh(plan.layout, torch.device("cpu"))
    source = SyntheticTokens(plan.model.vocab, plan.training.sequence_length, plan.training.seed)
    return Trainer(Pipeline(plan, mesh), source, 4, log)


def train(case: tuple[Run, Plan]) -> list[tuple[float, float, str | None]]:
    """Loss, norm of the gradients and why the weights did not change, step by step."""
    run, plan = case
    trainer, results = trainer_of(plan), []
    if run.resume is not None:
        load_checkpoint(trainer, run.resume)
    if run.loss_scale is not None:
        trainer.loss_scale.value = run.loss_scale
    with contextlib.redirect_stdout(io.StringIO()):
        while trainer.next_step < run.steps:
            result = trainer.step()
            results.append((result.loss, result.gradient_norm, result.skipped))
            if run.save is not None and trainer.next_step == run.save_at:
                save_checkpoint(trainer, run.save)
    return results


def check(plan: Plan) -> CheckResult:
    """`--check` of the plan."""
    trainer = trainer_of(plan)
    count, mesh = plan.replica_batch, trainer.mesh
    tokens = trainer.source.batch(0, mesh.dp.index * count, count)
    return check_step(trainer.pipeline, tokens, trainer.source.batch(0, 0, count * mesh.dp.size))


def train_with_nan(plan: Plan) -> str:
    """What is printed for a step whose weights of the first stage are not numbers."""
    trainer = trainer_of(plan)
    if 0 in trainer.pipeline.stages:
        trainer.pipeline.stages[0].layers["0"].mlp.up_proj.weight.data[0, 0] = float("nan")
    try:
        trainer.step()
    except TrainingFailed as error:
        return str(error)
    return ""


def weights_with_zero_3(case: tuple[Plan, str]) -> tuple[list[int], int, bool]:
    """
    Bytes of weights after each pass of a step, those of one stage's weights when whole, and whether what is saved
    after the step equals the masters.
    """
    plan, folder = case
    trainer, kept = trainer_of(plan), []
    pipeline, buckets = trainer.pipeline, list(trainer.pipeline.gradients)
    pipeline.after_pass = lambda: kept.append(sum(each.weights.untyped_storage().nbytes() for each in buckets))
    trainer.step()
    with pipeline.gradients.whole_weights():
        whole = sum(each.weights.untyped_storage().nbytes() for each in buckets)
        save_weights(pipeline.stages.values(), plan.model, trainer.mesh, folder)
        parameters = pipeline.parameters()
        pairs = [(piece, master) for piece, master in trainer.optimizer.masters]
        equal = all(torch.equal(parameters[piece.name].flatten()[piece.start : piece.end], master) for piece, master in pairs)
    return kept, whole, equal


def train_logged(case: tuple[Plan, str]) -> int:
    """Two steps, written to a file."""
    trainer = trainer_of(*case)
    with contextlib.redirect_stdout(io.StringIO()):
        return [trainer.step() for _ in range(2)][-1].step


def weights_are_equal(case: tuple[Run, Plan]) -> bool:
    """Whether a step that overflows leaves the weights as they were."""
    trainer = trainer_of(case[1])
    trainer.loss_scale.value = case[0].loss_scale or 1.0
    before = {name: each.detach().clone() for name, each in trainer.pipeline.parameters().items()}
    with contextlib.redirect_stdout(io.StringIO()):
        trainer.step()
    return all(torch.equal(before[name], each) for name, each in trainer.pipeline.parameters().items())


class Training(unittest.TestCase):
    """Runs of the same global batch agree, however it is spread over processes."""

    def runs(self, world: int, *runs: Run) -> list[list[tuple[float, float, str | None]]]:
        results = []
        for run, ranks in zip(runs, on_ranks(world, train, [(run, plan_of(run)) for run in runs]), strict=True):
            for each in ranks:
                self.assertIsInstance(each, list, each)
                self.assertEqual(repr(each), repr(ranks[0]), run)
            results.append(ranks[0])
        return results

    def assert_close(
        self, one: list[tuple[float, float, str | None]], other: list[tuple[float, float, str | None]], norm: float = 2e-5
    ) -> None:
        self.assertEqual(len(one), len(other))
        for a, b in zip(one, other, strict=True):
            self.assertLess(abs(a[0] - b[0]) / b[0], 2e-6)
            self.assertLess(abs(a[1] - b[1]) / b[1], norm)
            self.assertEqual((a[2], b[2]), (None, None))

    def test_zero_trains_the_same_steps(self) -> None:
        both = {"data": 2}
        plain, *sharded = self.runs(
            4,
            Run(layout=both),
            Run(layout={**both, "zero_stage": 1}),
            Run(layout={**both, "zero_stage": 2}),
            Run(plan=SPLIT, layout={**both, "zero_stage": 2}),
            Run(layout={**both, "zero_stage": 3}),
            Run(plan=SPLIT, layout={**both, "zero_stage": 3}, training={"recompute": "full"}),
        )
        for each in sharded:
            self.assert_close(each, plain)

    def test_zero_3_keeps_no_whole_weights_between_passes(self) -> None:
        plan = plan_of(Run(plan=SPLIT, layout={"data": 2, "zero_stage": 3}, tied=False))
        with tempfile.TemporaryDirectory() as folder:
            (ranks,) = on_ranks(4, weights_with_zero_3, [(plan, folder)])
            for each in ranks:
                kept, whole, equal = each
                self.assertEqual(set(kept), {0})
                self.assertGreater(whole, 0)
                self.assertTrue(equal)
            self.assertEqual(len(list(Path(folder).glob("*.safetensors"))), 2)

    def test_norm_counts_each_parameter_once(self) -> None:
        # in two steps: from the second update on AdamW multiplies what rounding differs by a hundred, as its steps depend on signs
        (whole,) = self.runs(2, Run(steps=2))
        layouts: list[dict[str, Any]] = [{"tensor": 2}, {"context": 2}, {"tensor": 2, "sequence_parallel": True}]
        for each in self.runs(4, *(Run(layout=layout, steps=2) for layout in layouts)):
            self.assert_close(each, whole, norm=2e-6)

    def test_resume_is_equal_to_the_bit_and_continues_in_other_layouts(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            runs, saved = [], {}
            for precision in ("fp32", "bf16", "fp16"):
                saved[precision] = f"{folder}/{precision}"
                layout, training = {"data": 2, "zero_stage": 1}, {"precision": precision}
                runs.append(Run(layout=layout, training=training, save=saved[precision]))
                runs.append(Run(layout=layout, training=training, resume=saved[precision]))
            other = [
                Run(layout={"data": 2, "zero_stage": 2}, resume=saved["fp32"]),
                Run(plan=SPLIT, layout={"data": 2}, resume=saved["fp32"]),
                Run(layout={"data": 2, "zero_stage": 3}, resume=saved["fp32"]),
            ]
            results = self.runs(4, *runs, *other)
            for whole, resumed in zip(results[0:6:2], results[1:6:2], strict=True):
                self.assertEqual(resumed, whole[2:])
            for each in results[6:]:
                self.assert_close(each, results[0][2:])
            self.assertEqual(newest_checkpoint(saved["fp32"]).name, "step-2")

    def test_checkpoint_of_another_model_is_refused(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self.runs(2, Run(steps=1, save=folder, save_at=1))
            (ranks,) = on_ranks(2, train, [(run := Run(resume=folder, tied=False, steps=1), plan_of(run))])
            self.assertTrue(any("it is of another model" in str(each) for each in ranks), ranks)
        with tempfile.TemporaryDirectory() as empty, self.assertRaisesRegex(RuntimeRefusal, "has no checkpoint"):
            newest_checkpoint(empty)

    def test_fp16_skips_a_step_that_overflows_on_all_ranks(self) -> None:
        run = Run(layout={"data": 2}, training={"precision": "fp16"}, loss_scale=2.0**40, steps=2)
        (results,) = self.runs(4, run)
        self.assertRegex(results[0][2] or "", r"^step 0: gradients of stages? [01].* overflow in fp16: the step is skipped")
        self.assertIn("5.49756e+11", results[0][2] or "")
        self.assertEqual(on_ranks(4, weights_are_equal, [(run, plan_of(run))]), [[True] * 4])

    def test_gradients_that_are_not_finite_end_the_run_with_step_and_stage(self) -> None:
        (ranks,) = on_ranks(2, train_with_nan, [plan_of(Run())])
        self.assertEqual(len(set(ranks)), 1)
        self.assertRegex(ranks[0], r"^step 0: gradients of stages? 0.* are not finite \(loss nan\)")

    def test_log_has_a_line_for_each_step(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "losses.jsonl"
            on_ranks(2, train_logged, [(plan_of(Run()), str(log))])
            lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        self.assertEqual([line["step"] for line in lines], [0, 1])
        self.assertEqual(set(lines[0]), {"step", "loss", "gradientNorm", "learningRate", "milliseconds", "tokensPerSecond", "skipped"})

    def test_gradients_of_every_layout_on_eight_processes(self) -> None:
        both = {"tensor": 2, "data": 2}
        runs = [
            Run(plan=SPLIT, layout={**both, "sequence_parallel": True, "zero_stage": 1}),
            Run(plan=SLICED, layout={**both, "zero_stage": 2, "rank_order": ("pipeline", "data", "context", "tensor")}),
            Run(plan=SPLIT, layout={"context": 2, "data": 2, "zero_stage": 2, "rank_order": ("data", "tensor", "pipeline", "context")}),
            Run(plan=SLICED, layout={"context": 2, "tensor": 2, "rank_order": ("context", "pipeline", "tensor", "data")}, tied=False),
            Run(plan=SPLIT, layout={**both, "sequence_parallel": True, "zero_stage": 3}, training={"recompute": "full"}),
            Run(plan=SLICED, layout={"context": 2, "data": 2, "zero_stage": 3}, training={"recompute": "selective"}),
        ]
        for run, ranks in zip(runs, on_ranks(8, check, [plan_of(run) for run in runs]), strict=True):
            for each in ranks:
                self.assertIsInstance(each, CheckResult, each)
                self.assertTrue(each.passed, f"{run}: {each}")

    def test_gradients_with_zero_on_four_processes(self) -> None:
        layouts = [
            {"data": 2, "zero_stage": 1},
            {"data": 2, "zero_stage": 2},
            {"context": 2, "zero_stage": 1},
            {"context": 2, "zero_stage": 2},
            {"data": 2, "zero_stage": 3},
            {"context": 2, "zero_stage": 3},
        ]
        runs = [Run(plan=plan, layout=layout, tied=tied) for layout in layouts for plan, tied in ((SLICED, True), (SPLIT, False))]
        for run, ranks in zip(runs, on_ranks(4, check, [plan_of(run) for run in runs]), strict=True):
            for each in ranks:
                self.assertIsInstance(each, CheckResult, each)
                self.assertTrue(each.passed, f"{run}: {each}")


if __name__ == "__main__":
    unittest.main()

"""Runs that freeze layers take the steps of one process that freezes the same layers, whatever the pipelines are."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from models import spec_of, whole_stage
from ranks import end_of, write_stacks_when_asked
from support import ROOT, TRAINING, on_ranks
from terapipe_torch.checkpoint import newest_checkpoint
from terapipe_torch.data import SyntheticTokens
from terapipe_torch.elastic.auto_pipe import AutoPipe, plan_of_shape
from terapipe_torch.elastic.freeze import AlphaRule, ChangeRule, GradientRule
from terapipe_torch.elastic.plan import KIND, ElasticPlan, Freezing, Mechanisms, PlannedEpoch, check_elastic, load_elastic
from terapipe_torch.elastic.run import ElasticOptions, ElasticRun
from terapipe_torch.elastic.samples import EpochOrder, RandomSamples, Samples, share_of_step
from terapipe_torch.elastic.trainer import ElasticTrainer
from terapipe_torch.failure import REASON_FILE
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


def call(case: tuple[Callable[[Any], Any], Any]) -> Any:
    """Cases of several functions in one launch."""
    function, argument = case
    return function(argument)


@cache
def folder() -> Path:
    """For checkpoints, logs and caches of all tests; removed when this process ends."""
    made = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(made.cleanup)
    return Path(made.name)


@cache
def exported() -> ElasticPlan:
    """What `terapipe export --to torchrun` writes of a Llama of the same sizes, in slices: planned on four GPUs."""
    file = folder() / "exported.json"
    subprocess.run(["node", "--import", "tsx", "test/torch/elastic-run.ts", str(file)], cwd=ROOT, check=True, capture_output=True)
    return load_elastic(file)


def fixed() -> dict[str, tuple[ElasticPlan, ElasticOptions]]:
    """Runs whose frozen layers are given."""
    halved, slices, scheduled = Mechanisms(True, False, False), (5, 4, 3), given(0, 2, 4)
    # bytes of half of the samples
    half = COUNT // 2 * LENGTH * elastic().model.hidden * 4
    held = {"freezing": given(0, 2, 2, 4), "epochs": 4}
    plans = {
        "freezing only": elastic(freezing=scheduled, mechanisms=OFF),
        "shorter pipelines, idle ranks": elastic(freezing=scheduled, mechanisms=halved),
        "shorter pipelines, replicas": elastic(freezing=scheduled, mechanisms=Mechanisms(True, True, False)),
        "all": elastic(freezing=scheduled),
        "all, 1F1B": elastic(freezing=scheduled, schedule="1F1B"),
        "all, in slices": elastic(freezing=scheduled, schedule="1F1B", slices=slices),
        "frozen layers inside, in slices": elastic(
            freezing=scheduled, schedule="1F1B", slices=slices, frozen_inside=True, mechanisms=Mechanisms(False, True, False)
        ),
        "frozen layers on stages of their own": elastic(freezing=given(0, 3, 5), mechanisms=OFF, schedule="1F1B", slices=slices),
        "two pipelines": elastic(freezing=scheduled, pipeline_length=2, replicas=2, batch=4),
        "everything frozen": elastic(freezing=given(0, 5, 6)),
        "recomputed": elastic(freezing=scheduled, training=dataclasses.replace(elastic().training, recompute="full")),
        "planned": elastic(planned=tuple(PlannedEpoch(*each) for each in ((0, 4, 1, 4), (1, 2, 1, 8), (3, 1, 4, 2)))),
        "exported": exported(),
        "cached in memory": elastic(**held),
        "cached on disk": elastic(**held, cache_bytes=0),
        "cached in both": elastic(**held, cache_bytes=half),
        "half cached": elastic(**held, cache_bytes=half, cache_disk_bytes=0),
    }
    on_disk = ElasticOptions(cache=str(folder() / "cache"))
    cases = {name: (plan, on_disk if name.startswith("cached") else ElasticOptions()) for name, plan in plans.items()}
    cases["cached in memory"] = (plans["cached in memory"], ElasticOptions(epochs_log=str(folder() / "epochs.jsonl")))
    return cases


def saved() -> dict[str, tuple[ElasticPlan, ElasticOptions]]:
    """Runs that save each step."""
    plans = {
        "replicas and cache": elastic(freezing=Freezing("gradients", 0.4)),
        "idle ranks": elastic(freezing=Freezing("gradients", 0.4), mechanisms=Mechanisms(True, False, False), schedule="1F1B"),
    }
    return {name: (plan, ElasticOptions(save=str(folder() / name), save_every=1)) for name, plan in plans.items()}


@cache
def unbroken() -> dict[str, list[Any]]:
    """All runs from their start, in one launch: the results of the ranks."""
    bits = elastic(freezing=Freezing("alpha", 0.0), samples=24)
    cases = {name: (train, case) for name, case in (fixed() | saved()).items()}
    cases |= {"alpha 0": (train, (bits, ElasticOptions())), "plain": (train_plain, bits)}
    return dict(zip(cases, on_ranks(4, call, list(cases.values())), strict=True))


Failure = tuple[str, str, str]


def start_ranks(world: int, arguments: list[str], failure: Failure | None = None, reason: Path | None = None) -> int:
    """
    train.py on new processes, which are ended when one does not end with 0, as torchrun does; the exit code of the
    first such one, -N for signal N. They are forked from a process that has imported PyTorch, and meet at a store of this one,
    as at torchrun's: a port that is free now may be taken when rank 0 gets to it. Why one failed is written to `reason`.
    """
    context = mp.get_context("forkserver")
    context.set_forkserver_preload(["failing_train", "torch._dynamo"])
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    with tempfile.TemporaryDirectory() as stacks:
        more = (world, store.port, stacks, arguments, failure, reason)
        ranks = [context.Process(target=_train_py, args=(rank, *more)) for rank in range(world)]
        for each in ranks:
            each.start()
        return end_of(ranks, stacks)


def _train_py(rank: int, world: int, port: int, stacks: str, arguments: list[str], failure: Failure | None, reason: Path | None) -> None:
    import failing_train

    write_stacks_when_asked(stacks)
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(world), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    os.environ |= {"LOCAL_RANK": str(rank), "LOCAL_WORLD_SIZE": str(world), "TORCHELASTIC_USE_AGENT_STORE": "True"}
    if reason is not None:
        os.environ[REASON_FILE] = str(reason)
    torch.set_num_threads(1)
    if failure is not None:
        failing_train.fail_at(*failure)
    if failure is not None:
        # what PyTorch's own threads print of a rank that is gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    with contextlib.redirect_stdout(io.StringIO()):
        sys.exit(failing_train.train.main(arguments))


def written(plan: ElasticPlan) -> dict[str, Any]:
    """As elastic.json has it."""
    return {"kind": KIND, "version": 1, **_camel_case(dataclasses.asdict(plan))}


def _camel_case(value: Any) -> Any:
    if isinstance(value, dict):
        return {re.sub(r"_(\w)", lambda match: match[1].upper(), name): _camel_case(each) for name, each in value.items()}
    return [_camel_case(each) for each in value] if isinstance(value, (list, tuple)) else value


class ElasticTest(unittest.TestCase):
    """Runs on processes of this machine."""

    def first(self, ranks: list[Any]) -> Any:
        """The result of rank 0, after a look at the others: active ones have the same steps."""
        for each in ranks:
            self.assertIsInstance(each, Result, each)
            self.assertTrue(set(each.steps) <= set(ranks[0].steps))
        return ranks[0]

    def assert_same(self, steps: list[tuple[float, float]], expected: list[tuple[float, float]]) -> None:
        self.assertEqual(len(steps), len(expected))
        for (loss, norm), (other, other_norm) in zip(steps, expected, strict=True):
            self.assertLess(abs(loss - other), 1e-5 * max(1.0, other))
            self.assertLess(abs(norm - other_norm), 1e-3 * max(1.0, other_norm))


class FixedSchedule(ElasticTest):
    """The layers that freeze are given."""

    def test_equals_one_process_that_freezes_the_same_layers(self) -> None:
        reference: dict[tuple[int, ...], list[tuple[float, float]]] = {}
        for name, (plan, _) in fixed().items():
            frozen = tuple(each.frozen_layers for each in plan.planned) or plan.freezing.frozen_layers
            if frozen not in reference:
                reference[frozen] = train_in_one_process(plan, frozen, (8,) * plan.epochs)
            with self.subTest(name):
                self.assert_same(self.first(unbroken()[name]).steps, reference[frozen])

    def test_planned_epochs_are_followed(self) -> None:
        for name, expected in (
            ("planned", [(0, 4, 1, 4), (1, 2, 1, 8), (3, 1, 4, 2)]),
            ("exported", [(0, 4, 1, 4), (3, 2, 2, 4), (4, 2, 2, 4)]),
        ):
            with self.subTest(name):
                epochs = self.first(unbroken()[name]).epochs
                keys = ("frozenLayers", "pipelineLength", "replicas", "microBatches")
                self.assertEqual([tuple(each[key] for key in keys) for each in epochs], expected)
        epochs = self.first(unbroken()["exported"]).epochs
        self.assertEqual([each["slices"] for each in epochs], [[7, 5]] * 3)
        self.assertEqual([each["plannedMs"] for each in epochs], [each.epoch_ms for each in exported().planned])

    def test_epochs_are_logged_with_pipelines_and_norms(self) -> None:
        epochs = self.first(unbroken()["cached in memory"]).epochs
        lines = [json.loads(line) for line in (folder() / "epochs.jsonl").read_text(encoding="utf-8").splitlines()]
        self.assertEqual(lines, epochs)
        shapes = [(line["frozenLayers"], line["replicas"], line["pipelineLength"], line["batch"]) for line in lines]
        self.assertEqual(shapes, [(0, 1, 4, 8), (2, 1, 4, 8), (2, 1, 4, 8), (4, 2, 2, 4)])
        self.assertEqual([sum(norm is None for norm in line["norms"]) for line in lines], [0, 2, 2, 4])


class Cache(ElasticTest):
    """Outputs of frozen layers are computed once, read later, and advanced through layers that freeze."""

    def counts(self, name: str) -> list[tuple[str, int, int, int]]:
        """Of each epoch: state, samples computed, advanced, read."""
        caches = [each["cache"] for each in self.first(unbroken()[name]).epochs]
        return [(each["state"], each["computed"], each["advanced"], each["read"]) for each in caches]

    def test_hits_are_those_of_memory_and_disk(self) -> None:
        # an epoch's last step of 4 sequences is filled up by its first sample
        steps = 24
        for name in ("cached in memory", "cached on disk", "cached in both"):
            with self.subTest(name):
                first, filled, read, advanced = self.counts(name)
                self.assertEqual(first, ("none", 0, 0, 0))
                self.assertEqual((filled[0], filled[2]), ("fill", 0))
                self.assertGreaterEqual(filled[1], COUNT)
                self.assertEqual(read, ("read", 0, 0, steps))
                self.assertEqual((advanced[0], advanced[1], advanced[2] + advanced[3]), ("read", 0, steps))
                self.assertGreaterEqual(advanced[2], COUNT)

    def test_samples_without_room_are_computed_each_time(self) -> None:
        _, _, read, advanced = self.counts("half cached")
        self.assertEqual(read[2], 0)
        self.assertGreaterEqual(min(read[1], read[3], advanced[1], advanced[2]), COUNT // 2)

    def test_files_of_a_cache_are_gone(self) -> None:
        self.first(unbroken()["cached on disk"])
        self.assertEqual(list((folder() / "cache").iterdir()), [])


class Resume(ElasticTest):
    """A run continues from any of its checkpoints."""

    def test_resumed_equals_unbroken(self) -> None:
        # the epochs end after steps 3, 6 and 9
        places = [(name, step) for name in saved() for step in (2, 3, 5, 6, 9)]
        whole = {name: self.first(unbroken()[name]) for name in saved()}
        cases = [(saved()[name][0], ElasticOptions(resume=str(folder() / name / f"step-{step}"))) for name, step in places]
        for (name, step), ranks in zip(places, on_ranks(4, train, cases), strict=True):
            with self.subTest(name, step=step):
                frozen = [each["frozenLayers"] for each in whole[name].epochs]
                self.assertLess(0, frozen[1])
                self.assertEqual(self.first(ranks).steps, whole[name].steps[step:])
                resumed = [(each["epoch"], each["frozenLayers"], each["norms"]) for each in ranks[0].epochs]
                self.assertEqual(
                    resumed, [(each["epoch"], each["frozenLayers"], each["norms"]) for each in whole[name].epochs[step // 3 :]]
                )


class Killed(unittest.TestCase):
    """train.py with processes that the system ends. All starts of a run save and resume in one folder."""

    def folder_of(self, plan: ElasticPlan) -> Path:
        """A new one, with the run's elastic.json."""
        made = Path(tempfile.mkdtemp(dir=folder()))
        (made / "elastic.json").write_text(json.dumps(written(plan)), encoding="utf-8")
        return made

    def options(self, here: Path, *more: str) -> list[str]:
        files = ("--log", str(here / "steps.jsonl"), "--epochs-log", str(here / "epochs.jsonl"))
        saves = ("--save", str(here / "saved"), "--resume", str(here / "saved"))
        return [str(here / "elastic.json"), "--device", "cpu", *files, *saves, *more]

    def lines(self, log: Path) -> list[dict[str, Any]]:
        return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]

    def steps(self, log: Path) -> list[tuple[int, float]]:
        return [(line["step"], line["loss"]) for line in self.lines(log)]

    def unbroken(self, plan: ElasticPlan) -> list[tuple[int, float]]:
        here = self.folder_of(plan)
        log = here / "steps.jsonl"
        self.assertEqual(start_ranks(plan.world, [str(here / "elastic.json"), "--device", "cpu", "--log", str(log)]), 0)
        return self.steps(log)

    def assert_resumes(self, plan: ElasticPlan, runs: Sequence[Sequence[tuple[str, str]]], *options: str) -> None:
        """Each run is killed at its places, one start after the other, and logs each step once, with the losses of the unbroken one."""
        expected = self.unbroken(plan)
        for places in runs:
            here = self.folder_of(plan)
            for rank, place in places:
                with self.subTest(rank=rank, place=place):
                    # 1: a rank that waits for the killed one may end first
                    self.assertIn(start_ranks(plan.world, self.options(here, *options), ("kill", rank, place)), (-signal.SIGKILL, 1))
            self.assertEqual(start_ranks(plan.world, self.options(here, *options)), 0)
            self.assertEqual(self.steps(here / "steps.jsonl"), expected)
            self.assertEqual([line["epoch"] for line in self.lines(here / "epochs.jsonl")], list(range(plan.epochs)))
            self.assertTrue((here / "saved/model.safetensors").exists())

    def test_started_by_train_py(self) -> None:
        plan = elastic(pipeline_length=2, freezing=given(0, 4, 5))
        here = self.folder_of(plan)
        command = [sys.executable, str(ROOT / "test/torch/failing_train.py"), "kill", "1", "layers.4", *self.options(here)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr.splitlines()[-1], "^terapipe: rank 1 was ended by SIGKILL")
        self.assertEqual(start_ranks(2, self.options(here)), 0)
        self.assertEqual(self.steps(here / "steps.jsonl"), self.unbroken(plan))

    def test_in_steps_and_while_saving(self) -> None:
        # epochs end after steps 2, 5 and 8; the first start saves nothing
        places = [("1", "step 0"), ("all", "step 1"), ("0", "save 2"), ("1", "file 2"), ("all", "file 3"), ("0", "save 3")]
        places += [("all", "step 4"), ("1", "step 6"), ("0", "file 9"), ("0", "weights")]
        self.assert_resumes(elastic(pipeline_length=2, freezing=given(0, 4, 5)), [places], "--save-every", "1")

    def test_while_pipelines_change(self) -> None:
        # from a pipeline of 4 to two of 2, and to four of 1; checkpoints are of the ends of epochs, from which no pipelines change
        plan = elastic(planned=tuple(PlannedEpoch(*each) for each in ((0, 4, 1, 4), (3, 2, 2, 4), (5, 1, 4, 2))))
        runs = [[("3", "groups"), ("all", "groups")], [("3", "layers.5"), ("2", "layers.0")], [("all", "head"), ("0", "step 7")]]
        self.assert_resumes(plan, runs)

    def test_by_gradient_norms_with_idle_ranks(self) -> None:
        plan = elastic(pipeline_length=2, freezing=Freezing("gradients", 0.6), mechanisms=Mechanisms(True, False, True))
        self.assert_resumes(plan, [[("1", "step 2"), ("1", "groups"), ("0", "step 5"), ("all", "step 7")]], "--save-every", "2")

    def test_at_random_moments(self) -> None:
        # from a pipeline of 4 to two of 2 with a cache; seed 1
        plan, draw = elastic(freezing=Freezing("gradients", 0.4)), random.Random(1)
        here = self.folder_of(plan)
        options = self.options(here, "--save-every", "1")
        codes = []
        for _ in range(8):
            # a start makes about 40,000 calls before its first step, and 30,000 in a step
            failure = ("kill", draw.choice(["0", "1", "2", "3", "all"]), f"call {draw.randrange(1, 120_000)}")
            codes.append(start_ranks(plan.world, options, failure))
            self.assertIn(codes[-1], (-signal.SIGKILL, 1, 0), failure)
        self.assertGreaterEqual(sum(code != 0 for code in codes), 4, codes)
        self.assertEqual(start_ranks(plan.world, options), 0)
        self.assertEqual(self.steps(here / "steps.jsonl"), self.unbroken(plan))

    def test_ranks_that_wait_for_a_stopped_one_end(self) -> None:
        plan = elastic(pipeline_length=2, freezing=given(0, 4, 5), mechanisms=Mechanisms(True, False, False))
        reasons = {"0": "rank 1 is idle, and rank 0 has done nothing for 20 s", "1": "a rank that it waited for has done nothing for 10 s"}
        # rank 1 is idle from the second epoch on, which begins at step 3
        for rank, place in (("1", "step 1"), ("0", "step 4")):
            with self.subTest(rank=rank, place=place):
                here = self.folder_of(plan)
                reason = here / "reason"
                self.assertEqual(start_ranks(2, self.options(here, "--timeout", "10"), ("stop", rank, place), reason), 1)
                self.assertIn(reasons[rank], reason.read_text(encoding="utf-8"))

    def test_checkpoints_that_something_else_cut_are_passed_over(self) -> None:
        plan = elastic(pipeline_length=2, freezing=given(0, 4, 5))
        here = self.folder_of(plan)
        options = self.options(here, "--save-every", "1")
        self.assertNotEqual(start_ranks(2, options, ("kill", "all", "step 7")), 0)
        for step, name, kept in ((7, "index.json", 40), (6, "rank-0.pt", 1000), (5, "rank-0.pt", 0)):
            file = here / f"saved/step-{step}" / name
            file.write_bytes(file.read_bytes()[:kept])
        (here / "saved/step-4/rank-0.pt").unlink()
        self.assertEqual(newest_checkpoint(str(here / "saved")).name, "step-3")
        self.assertEqual(start_ranks(2, options), 0)
        self.assertEqual(self.steps(here / "steps.jsonl"), self.unbroken(plan))


class Decisions(ElasticTest):
    """What is decided between epochs."""

    def test_alpha_0_equals_plain_training_to_the_bit(self) -> None:
        plain = unbroken()["plain"][0]
        self.assertEqual(len(plain), 9)
        self.assertEqual(self.first(unbroken()["alpha 0"]).steps, plain)

    def test_rules_are_those_of_the_planner(self) -> None:
        # PipeTransformer's auto_freeze.log, layers 5 to 11 before epoch 7; docs/elastic.md has it by hand
        before = [None] * 5 + [233.50, 227.06, 218.40, 224.20, 206.10, 233.45, 285.05]
        self.assertEqual(GradientRule(12, 1 / 3).frozen_layers(8, 5, [[]] * 7 + [before]), 8)
        self.assertEqual([AlphaRule(12, 1 / 3).frozen_layers(epoch, 0, []) for epoch in range(8)], [0, 4, 7, 9, 10, 11, 11, 12])
        norms = [[1.0, 1.0, 1.0, 1.0], [1.1, 1.3, 1.2, 1.0]]
        self.assertEqual(ChangeRule(4).frozen_layers(2, 0, norms), 2)


if __name__ == "__main__":
    unittest.main()

"""Every schedule, in every cut of its sequences, trains the same gradients as the whole model."""

from __future__ import annotations

import dataclasses
import json
import re
import tempfile
import unittest
from collections.abc import Callable
from typing import Any
from unittest import mock

import torch
import torch.distributed as dist
from support import RankFailed, on_ranks, plan_data, plans_folder
from terapipe_torch import p2p
from terapipe_torch.check import CheckResult, check_step
from terapipe_torch.data import SyntheticTokens, token_batch
from terapipe_torch.errors import RuntimeRefusal
from terapipe_torch.kv_cache import KeyValueCache
from terapipe_torch.loop import Pipeline
from terapipe_torch.mesh import Mesh, make_mesh, single_mesh
from terapipe_torch.plan import Action, Plan, load_plan
from terapipe_torch.pytorch_schedule import PyTorchPipeline
from terapipe_torch.weight_grads import WeightGradients


def check(plan: Plan, runs: type[Pipeline] = Pipeline) -> CheckResult:
    """One step of a plan on this process group against the whole model."""
    mesh = make_mesh(plan.layout, torch.device("cpu"))
    source = SyntheticTokens(plan.model.vocab, plan.training.sequence_length, plan.training.seed)
    pipeline = runs(plan, mesh)
    tokens = source.batch(0, mesh.dp.index * plan.replica_batch, plan.replica_batch)
    return check_step(pipeline, tokens, source.batch(0, 0, plan.replica_batch * mesh.dp.size))


class PlanTest(unittest.TestCase):
    """Runs plans and expects what the whole model gives."""

    def run_plans(self, world: int, plans: list[tuple[str, Plan]], function: Callable[[Plan], CheckResult] = check) -> None:
        self.assertGreater(len(plans), 0)
        results = on_ranks(world, function, [plan for _, plan in plans])
        for (name, _), ranks in zip(plans, results, strict=True):
            with self.subTest(plan=name):
                for result in ranks:
                    self.assertIsInstance(result, CheckResult)
                    self.assertTrue(result.passed, str(result))


class Schedules(PlanTest):
    """Orders as the planner makes them."""

    def files(self, pattern: str) -> list[tuple[str, Plan]]:
        found = sorted(file for file in plans_folder().iterdir() if re.fullmatch(pattern, file.stem))
        return [(file.stem, load_plan(file)) for file in found]

    def test_on_two_processes(self) -> None:
        self.run_plans(2, self.files(r"(?!random).*-2-.*"))

    def test_on_four_processes(self) -> None:
        self.run_plans(4, self.files(r"(?!random).*-4-.*"))

    def test_on_eight_processes(self) -> None:
        self.run_plans(8, self.files(r"(?!random).*-8-.*"))

    def test_random_slices_on_two_processes(self) -> None:
        self.run_plans(2, self.files(r"random-.*-2"))

    def test_random_slices_on_three_processes(self) -> None:
        self.run_plans(3, self.files(r"random-.*-3"))

    def test_every_schedule_has_plans_with_three_cuts(self) -> None:
        cuts: dict[str, set[str]] = {}
        for file in plans_folder().glob("*.json"):
            if match := re.fullmatch(r"(.+)-[24]-(.+)", file.stem):
                cuts.setdefault(match[1], set()).add(match[2])
        self.assertGreaterEqual(len(cuts), 20)
        for schedule, names in cuts.items():
            if not schedule.startswith("random"):
                self.assertGreaterEqual(len(names), 3, schedule)


def with_layout(name: str, **layout: Any) -> Plan:
    """A plan by name, in another layout."""
    plan = load_plan(plans_folder() / f"{name}.json")
    return dataclasses.replace(plan, layout=dataclasses.replace(plan.layout, **layout))


def with_recompute(plan: Plan, recompute: str) -> Plan:
    """The plan with another recompute."""
    return dataclasses.replace(plan, training=dataclasses.replace(plan.training, recompute=recompute))


def check_in_pytorch(plan: Plan) -> CheckResult:
    """The same by PyTorch's own runtime."""
    return check(plan, PyTorchPipeline)


class PyTorchRuntime(PlanTest):
    """Plans of whole sequences run in torch.distributed.pipelining too."""

    schedules = ("GPipe", "1F1B", "Interleaved1F1B", "LoopedBFS", "ZB-H1", "InterleavedZeroBubble", "ZBVZeroBubble", "DualPipeV")

    def test_gradients_are_the_same(self) -> None:
        plans = [(name, load_plan(plans_folder() / f"{name}-2-whole.json")) for name in self.schedules]
        self.run_plans(2, plans, check_in_pytorch)

    def test_slices_are_refused(self) -> None:
        with self.assertRaisesRegex(RuntimeRefusal, "no token slices"):
            PyTorchPipeline(load_plan(plans_folder() / "Seq1F1B-2-halves.json"), single_mesh())


def check_as_with_nccl(plan: Plan) -> CheckResult:
    """A group for each directed pair, whose first message is waited for, and a GPU that is not warm."""
    connected: set[Any] = set()

    def connecting(start: Callable[..., Any]) -> Callable[..., Any]:
        def started(tensor: torch.Tensor, other: int, group: Any) -> Any:
            connected.add(group)
            return start(tensor, other, group=group)

        return started

    def going_on(start: Callable[..., Any]) -> Callable[..., Any]:
        def started(tensor: torch.Tensor, other: int, group: Any) -> Any:
            if group not in connected:
                raise AssertionError("both ranks would wait for each other's first message")
            return start(tensor, other, group=group)

        return started

    nccl = {"isend": going_on(dist.isend), "irecv": going_on(dist.irecv), "send": connecting(dist.send), "recv": connecting(dist.recv)}
    with mock.patch.object(p2p, "_edge_groups", p2p.connected_groups), mock.patch.multiple(dist, **nccl):
        return check(plan, ColdPipeline)


class ColdPipeline(Pipeline):
    """On a GPU that has started no kernel yet."""

    def __init__(self, plan: Plan, mesh: Mesh) -> None:
        super().__init__(plan, mesh)
        self._is_warm = False


def gradients_after_warm_up(plan: Plan) -> float:
    """The largest gradient that the passes of a warm-up leave."""
    mesh = make_mesh(plan.layout, torch.device("cpu"))
    pipeline = Pipeline(plan, mesh)
    pipeline.zero_gradients()
    source = SyntheticTokens(plan.model.vocab, plan.training.sequence_length, plan.training.seed)
    pipeline.warm_up(token_batch(source.batch(0, 0, plan.replica_batch)))
    return max(each.abs().max().item() for each in pipeline.gradients.gathered().values())


class OnNccl(PlanTest):
    """What NCCL and CUDA ask of the order of messages, with gloo."""

    names = ("InterleavedZeroBubble-2-whole", "ZBVZeroBubble-2-whole", "Seq1F1B-I-2-halves", "SlimPipe-I-2-halves")

    def test_receives_are_posted_in_the_order_of_sends_on_ranks_that_are_connected(self) -> None:
        plans = [(name, load_plan(plans_folder() / f"{name}.json")) for name in self.names]
        self.run_plans(2, plans, check_as_with_nccl)

    def test_four_ranks_connect_in_one_order(self) -> None:
        plans = [(name, load_plan(plans_folder() / f"{name}.json")) for name in ("Seq1F1B-ZB-4-shrinking", "V-Half-4-whole")]
        self.run_plans(4, plans, check_as_with_nccl)

    def test_a_warm_up_adds_nothing_to_sums_over_replicas(self) -> None:
        layouts = [("zero 0", {}), ("zero 1", {"zero_stage": 1}), ("zero 2", {"zero_stage": 2}), ("zero 3", {"zero_stage": 3})]
        plans = [(name, with_layout("Seq1F1B-ZB-2-halves", data=2, **layout)) for name, layout in layouts]
        self.run_plans(4, plans, check_as_with_nccl)

    def test_a_warm_up_leaves_no_gradients(self) -> None:
        plans = [load_plan(plans_folder() / f"{name}.json") for name in self.names]
        self.assertEqual(on_ranks(2, gradients_after_warm_up, plans), [[0.0, 0.0]] * len(plans))


class Layouts(PlanTest):
    """Tensor, context and data parallelism around the same orders."""

    sliced = "Seq1F1B-2-halves"
    split = "Seq1F1B-ZB-2-halves"

    def test_on_eight_processes(self) -> None:
        both = {"tensor": 2, "data": 2}
        self.run_plans(
            8,
            [
                ("tensor 2, data 2", with_layout(self.sliced, **both)),
                ("with sequence parallel", with_layout(self.split, **both, sequence_parallel=True)),
                ("context 2, tensor 2", with_layout("1F1B-2-whole", tensor=2, context=2)),
                ("pipeline inside data", with_layout(self.sliced, **both, rank_order=("tensor", "context", "pipeline", "data"))),
            ],
        )

    def test_on_four_processes(self) -> None:
        plans = [
            ("tensor 2", with_layout(self.split, tensor=2)),
            ("sequence parallel", with_layout(self.split, tensor=2, sequence_parallel=True)),
            ("context 2", with_layout(self.split, context=2)),
            ("context 2 in odd slices", with_layout("GPipe-2-halves", context=2)),
            ("data 2", with_layout(self.sliced, data=2)),
        ]
        recomputed = [(f"{name}, {kind}", with_recompute(plan, kind)) for name, plan in plans for kind in ("full", "selective")]
        self.run_plans(4, [*plans, *recomputed])

    def test_on_two_processes(self) -> None:
        self.run_plans(
            2, [(kind, with_recompute(load_plan(plans_folder() / f"{self.split}.json"), kind)) for kind in ("full", "selective")]
        )


def check_without_key_gradients(plan: Plan) -> CheckResult:
    """Later slices give nothing to the keys and values of earlier ones."""

    def own_rows_only(self: KeyValueCache, dk: torch.Tensor, dv: torch.Tensor, at: int) -> tuple[torch.Tensor, torch.Tensor]:
        self.returned = at
        return dk[:, :, at:], dv[:, :, at:]

    with mock.patch.object(KeyValueCache, "add_gradients", own_rows_only):
        return check(plan)


def check_with_swapped_tokens(plan: Plan) -> CheckResult:
    """The tokens of two slices of the same length change places."""
    columns = Pipeline._columns

    def swapped(self: Pipeline, action: Action, whole: torch.Tensor) -> torch.Tensor:
        return columns(self, action._replace(unit=action.unit ^ 1), whole)

    with mock.patch.object(Pipeline, "_columns", swapped):
        return check(plan)


def check_without_weight_passes(plan: Plan) -> CheckResult:
    """W passes do nothing."""
    with mock.patch.object(WeightGradients, "run", lambda self, key: None):
        return check(plan)


class Faults(unittest.TestCase):
    """What must not pass: each is a fault put into a plan or into the runtime."""

    def changed(self, change: Callable[[dict[str, Any]], None]) -> Plan:
        data = plan_data("Seq1F1B-2-halves")
        change(data)
        with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
            json.dump(data, file)
            file.flush()
            return load_plan(file.name)

    def refused(self, words: str, change: Callable[[dict[str, Any]], None]) -> None:
        with self.assertRaisesRegex(RuntimeRefusal, words):
            self.changed(change)

    def test_slices_out_of_order_are_refused(self) -> None:
        def change(data: dict[str, Any]) -> None:
            row = data["actions"][0]
            row[0], row[1] = row[1], row[0]

        self.refused("slices must go forward first to last", change)

    def test_an_order_that_deadlocks_is_refused(self) -> None:
        def change(data: dict[str, Any]) -> None:
            data["actions"][1].sort(key=lambda text: "F" not in text)

        self.refused("this order deadlocks: rank 0 at 0B1, rank 1 at", change)

    def test_an_incomplete_order_is_refused(self) -> None:
        self.refused("runs unit", lambda data: data["actions"][0].pop())

    def test_slices_that_do_not_follow_one_another_are_refused(self) -> None:
        self.refused("does not follow", lambda data: data["units"][1].update(context=3))

    def test_a_model_that_it_cannot_train_is_refused(self) -> None:
        self.refused("cannot train", lambda data: data["model"].update(stacks={"encoderLayers": 2}))

    def test_another_number_of_layers_is_refused(self) -> None:
        self.refused("the stages hold", lambda data: data["model"].update(layers=5))

    def test_wrong_gradients_fail_the_check(self) -> None:
        plan = load_plan(plans_folder() / "Seq1F1B-2-halves.json")
        for function in (check_without_key_gradients, check_with_swapped_tokens):
            (results,) = on_ranks(2, function, [plan])
            with self.subTest(fault=function.__name__):
                for result in results:
                    self.assertIsInstance(result, CheckResult, result)
                    self.assertFalse(result.passed, str(result))

    def test_weight_passes_that_do_nothing_are_noticed(self) -> None:
        (results,) = on_ranks(2, check_without_weight_passes, [load_plan(plans_folder() / "Seq1F1B-ZB-2-halves.json")])
        for result in results:
            self.assertIsInstance(result, RankFailed)


if __name__ == "__main__":
    unittest.main()

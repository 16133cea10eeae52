"""`--trace` and `--profile`: what is recorded is what ran."""

from __future__ import annotations

import dataclasses
import itertools
import json
import tempfile
import unittest
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import torch
from support import TRAINING, RankFailed, on_ranks
from terapipe_torch.clock import ClockOffset, on_clock
from terapipe_torch.data import SyntheticTokens
from terapipe_torch.errors import RuntimeRefusal
from terapipe_torch.live_bytes import LiveBytes
from terapipe_torch.loop import Pipeline, valid_labels
from terapipe_torch.mesh import make_mesh
from terapipe_torch.plan import Layout, Plan, load_plan, message_after, message_before, parse_action
from terapipe_torch.profile import cells_of_rank, profile
from terapipe_torch.profile_cells import Cell, cells_of
from terapipe_torch.profile_links import send_times
from terapipe_torch.profile_passes import round_of
from terapipe_torch.trace import Trace
from terapipe_torch.training import Trainer

_cpu = torch.device("cpu")
_alone = ["F0", "F1", "B1", "B0", "F2", "F3", "B3", "B2"]
_rows = ["0F0 0F1 0F2 0I1 0W1 0F3 0I0 0W0 0I3 0I2 0W3 0W2", "1F0 1F1 1I1 1F2 1I0 1W1 1W0 1F3 1B3 1B2"]


def plan(**layout: int) -> Plan:
    """Two stages, two micro-batches in slices of 20 and 12 tokens, some backwards in two parts."""
    units = [
        {"microBatch": number, "slice": index, "batch": 2, "tokens": tokens, "context": context}
        for number in range(2)
        for index, (tokens, context) in enumerate(((20, 0), (12, 20)))
    ]
    data: dict[str, Any] = {
        "kind": "terapipe-torch-plan",
        "version": 1,
        "title": "tiny",
        "schedule": "by hand",
        "model": {"layers": 3, "hidden": 32, "heads": 4, "kvHeads": 2, "headDim": 8, "ffn": 48, "vocab": 64, "gatedMlp": True},
        "layout": {"pipeline": 2, **layout},
        "stages": [
            {"rank": 0, "firstLayer": 0, "layers": 2, "embedding": True, "head": False},
            {"rank": 1, "firstLayer": 2, "layers": 1, "embedding": False, "head": True},
        ],
        "units": units,
        "actions": [row.split() for row in _rows],
        "training": {**TRAINING, "sequenceLength": 32, "globalBatch": 4},
    }
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "plan.json"
        file.write_text(json.dumps(data), encoding="utf-8")
        return load_plan(file)


def traced(case: Plan) -> dict[str, Any] | None:
    """Five steps with a trace; what rank 0 wrote."""
    mesh = make_mesh(case.layout, _cpu)
    pipeline = Pipeline(case, mesh)
    trainer = Trainer(pipeline, SyntheticTokens(64, 32, 1), 5)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trace.json"
        trace = Trace(str(file), 5, pipeline, trainer.optimizer)
        for step in range(5):
            with trace.step(step):
                trainer.step()
        trace.write()
        return json.loads(file.read_text(encoding="utf-8")) if mesh.rank == 0 else None


def profiled(case: Plan) -> dict[str, Any] | None:
    """What rank 0 wrote of a profile."""
    mesh = make_mesh(case.layout, _cpu)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "profile.json"
        profile(case, mesh, str(file))
        return json.loads(file.read_text(encoding="utf-8")) if mesh.rank == 0 else None


def sent(layout: Layout) -> list[dict[str, Any]]:
    """Times of the sends that this rank begins."""
    mesh = make_mesh(layout, _cpu)
    return send_times(mesh, ["host"] * layout.world)


class RecordedTurn:
    """A copy of a part whose passes only leave a mark."""

    order: ClassVar[list[str]] = []

    def __init__(self, number: int) -> None:
        def mark(letter: str) -> Callable[[], None]:
            return lambda: self.order.append(f"{letter}{number}")

        self.forward, self.backward, self.backward_input, self.backward_weight = map(mark, "FBIW")


def counted_alone(case: Plan) -> tuple[int, int]:
    """Peaks of a step whose passes run one micro-batch after the other, and of its rows as they are."""
    mesh = make_mesh(case.layout, _cpu)
    peaks = []
    for rows in (case.actions, _one_by_one(case)):
        pipeline = Pipeline(dataclasses.replace(case, actions=rows), mesh)
        live = LiveBytes(pipeline)
        pipeline.after_pass = live.after_pass
        tokens = torch.zeros(4, 33, dtype=torch.int64)
        pipeline.zero_gradients()
        with live.counted():
            pipeline.run(tokens, valid_labels(tokens[:, 1:], mesh))
        live.after_pass()
        peaks.append(live.peak)
    return peaks[1], peaks[0]


def _one_by_one(case: Plan) -> Any:
    return tuple(tuple(parse_action(f"{rank}{action}") for action in _alone) for rank in range(case.layout.pipeline))


@cache
def recorded() -> dict[str, Any]:
    """The trace of the plan, once."""
    ((first, _),) = on_ranks(2, traced, [plan()])
    assert not isinstance(first, RankFailed), first
    return first


class Measuring(unittest.TestCase):
    """On two gloo processes."""

    def run_ranks(self, world: int, function: Any, case: Plan) -> list[Any]:
        (results,) = on_ranks(world, function, [case])
        for each in results:
            self.assertNotIsInstance(each, RankFailed, each)
        return results

    def test_a_trace_has_the_rows_of_the_plan_on_one_clock(self) -> None:
        case, trace = plan(), recorded()
        events = [each for each in trace["traceEvents"] if each.get("cat") == "pass"]
        self.assertEqual({each["args"]["step"] for each in events}, {2, 3, 4})
        for rank, row in enumerate(case.actions):
            for step in (2, 3, 4):
                own = [each for each in events if each["pid"] == rank and each["args"]["step"] == step]
                self.assertEqual([each["name"] for each in own], [str(action) for action in row])
                for before, after in itertools.pairwise(own):
                    self.assertGreaterEqual(after["ts"], before["ts"] + before["dur"] - 1)
        self._check_order(case, events)
        self.assertEqual(trace["otherData"]["warmUpSteps"], 2)
        self.assertEqual([each["pp"] for each in trace["otherData"]["memory"]], [0, 1])
        for each in trace["otherData"]["memory"]:
            self.assertGreater(each["peakBytes"], each["stateBytes"])

    def _check_order(self, case: Plan, events: list[dict[str, Any]]) -> None:
        starts = {(each["args"]["step"], each["name"]): each["ts"] for each in events}
        waits = 0
        for (step, name), at in starts.items():
            needed = message_before(parse_action(name), 2)
            for sender in "FBI":
                source = f"{1 - int(name[0])}{sender}{name[2:]}"
                if needed is not None and (step, source) in starts and message_after(parse_action(source), 2) == needed:
                    self.assertGreater(at, starts[step, source], f"{name} before {source}")
                    waits += 1
        self.assertEqual(waits, 3 * 8)

    def test_what_waits_for_its_input_begins_when_it_has_it(self) -> None:
        events = recorded()["traceEvents"]
        stalls = {(each["pid"], each["args"]["step"], each["name"]): each for each in events if each.get("cat") == "stall"}
        self.assertGreater(len(stalls), 0)
        for each in events:
            stall = stalls.get((each["pid"], each["args"].get("step"), f"wait for {each['name']}"))
            if stall is not None:
                self.assertAlmostEqual(stall["ts"] + stall["dur"], each["ts"], delta=0.01)
                self.assertAlmostEqual(stall["dur"] / 1e3, each["args"]["stallMs"], delta=1e-4)

    def test_memory_is_that_of_the_passes_that_wait_for_their_backward(self) -> None:
        for one_by_one, planned in self.run_ranks(2, counted_alone, plan()):
            self.assertGreater(planned, 1.2 * one_by_one)

    def test_a_trace_needs_a_warm_up(self) -> None:
        with self.assertRaisesRegex(RuntimeRefusal, "warm-up"):
            Trace("unused", 1, None, None)  # type: ignore[arg-type]

    def test_offsets_are_interpolated(self) -> None:
        first, last = ClockOffset(10.0, 1.0), ClockOffset(20.0, 3.0)
        self.assertEqual([on_clock(at, first, last) for at in (10.0, 15.0, 20.0)], [11.0, 17.0, 23.0])

    def test_a_profile_has_every_cell_and_all_parts(self) -> None:
        case = plan()
        found = self.run_ranks(2, profiled, case)[0]
        (layer,) = found["layers"]
        self.assertEqual((layer["layer"], layer["count"]), (0, 3))
        cells = [Cell(each["batch"], each["tokens"], each["context"]) for each in layer["samples"]]
        self.assertEqual(sorted(cells), sorted(cells_of(case)))
        self.assertIn(Cell(2, 12, 20), cells)
        for each in [*layer["samples"], *found["embedding"], *found["head"]]:
            for part in ("forward", "backward", "backwardInput", "backwardWeight"):
                self.assertGreater(each[part]["ms"], 0)
                self.assertLessEqual(each[part]["lowMs"], each[part]["highMs"])
        self.assertEqual([each["rank"] for each in found["optimizer"]["ranks"]], [0, 1])
        self.assertEqual({(each["from"], each["to"], each["joined"]) for each in found["sends"]}, {(0, 1, True)})
        self.assertEqual(found["collectives"], [])

    def test_two_ranks_measure_each_cell(self) -> None:
        cells = [Cell(1, tokens, 0) for tokens in range(1, 8)]
        for ranks in (2, 3, 5):
            shares = [cells_of_rank(cells, rank, ranks) for rank in range(ranks)]
            for cell in cells:
                self.assertEqual(sum(cell in share for share in shares), 2)
        self.assertEqual(cells_of_rank(cells, 0, 1), [*cells, *cells])

    def test_no_copy_of_a_part_passes_twice_in_a_row_in_one_direction(self) -> None:
        turns = [RecordedTurn(number) for number in range(2)]
        for _, work in round_of(turns):  # type: ignore[arg-type]
            work()
        self.assertEqual(RecordedTurn.order, ["F0", "F1", "B1", "B0", "F0", "F1", "I1", "I0", "W1", "W0"])

    def test_sends_are_measured_between_all_neighbours(self) -> None:
        (ranks,) = on_ranks(4, sent, [Layout(4)])
        for first, found in enumerate(ranks[:3]):
            self.assertEqual({(each["from"], each["to"]) for each in found}, {(first, first + 1)}, found)
        self.assertEqual(ranks[3], [])

    def test_a_profile_of_replicas_has_their_collectives(self) -> None:
        found = self.run_ranks(2, profiled, dataclasses.replace(plan(), **_one_stage()))[0]
        kinds = {(each["kind"], each["group"], each["ranks"]) for each in found["collectives"]}
        self.assertEqual(kinds, {("all-reduce", "replicas", 2), ("all-gather", "replicas", 2)})


def _one_stage() -> dict[str, Any]:
    case = plan()
    stage = dataclasses.replace(case.stages[0], layers=3, head=True)
    row = tuple(parse_action(f"0{action}") for action in _alone)
    return {"layout": dataclasses.replace(case.layout, pipeline=1, data=2), "stages": (stage,), "actions": (row,)}


if __name__ == "__main__":
    unittest.main()

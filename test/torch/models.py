"""Tiny models of each family, plans of them, and weights."""

from __future__ import annotations

import json
import tempfile
import unittest
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from support import TRAINING
from terapipe_torch.mesh import Axis, single_mesh
from terapipe_torch.model.linear import Parallel
from terapipe_torch.model.spec import ModelSpec, from_json
from terapipe_torch.model.stage import Stage
from terapipe_torch.plan import Plan, StageLayers, load_plan
from terapipe_torch.weight_grads import WeightGradients
from terapipe_torch.weights.save import save_weights

# "config" as Transformers has it, "model" as TeraPipe plans it: a test of its own holds the one to the other
families: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("families.json").read_text(encoding="utf-8"))
tokens_in_sequence = 64
# whose names in files the runtime does not know
without_names = {"gpt_neox"}


class TemporaryFolder(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)


def spec_of(family: str, **changes: Any) -> ModelSpec:
    """The model of a family."""
    return from_json(ModelSpec, {**families[family]["model"], **changes})


def plan_json(
    model: dict[str, Any],
    pipeline: int = 1,
    slices: Iterable[int] = (tokens_in_sequence,),
    split: bool = False,
    micro_batches: int = 2,
    recompute: str = "none",
    **layout: Any,
) -> dict[str, Any]:
    """plan.json with all forwards, then all backwards, in `slices` of one sequence; `split`: I, and W right after it."""
    lengths = list(slices)
    units, actions = [], []
    for micro_batch in range(micro_batches):
        context = 0
        for number, tokens in enumerate(lengths):
            units.append({"microBatch": micro_batch, "slice": number, "batch": 1, "tokens": tokens, "context": context})
            context += tokens
    backward = [m * len(lengths) + s for m in range(micro_batches) for s in reversed(range(len(lengths)))]
    for stage in range(pipeline):
        row = [f"{stage}F{unit}" for unit in range(len(units))]
        row += [f"{stage}{kind}{unit}" for unit in backward for kind in ("IW" if split else "B")]
        actions.append(row)
    layers = model["layers"] // pipeline
    ends = [(stage == 0, stage == pipeline - 1) for stage in range(pipeline)]
    return {
        "kind": "terapipe-torch-plan",
        "version": 1,
        "model": model,
        "layout": {"pipeline": pipeline, **layout},
        "stages": [
            {"rank": stage, "firstLayer": stage * layers, "layers": layers, "embedding": first, "head": last}
            for stage, (first, last) in enumerate(ends)
        ],
        "units": units,
        "actions": actions,
        "training": {
            **TRAINING,
            "sequenceLength": sum(lengths),
            "globalBatch": micro_batches * layout.get("data", 1),
            "recompute": recompute,
        },
    }


def plan_of(data: dict[str, Any], folder: Path) -> Plan:
    """The plan that the runtime reads from such an object."""
    path = folder / "plan.json"
    path.write_text(json.dumps(data))
    return load_plan(path)


def whole_stage(spec: ModelSpec) -> Stage:
    """The whole model on this process, its weights not yet set."""
    return Stage(spec, StageLayers(0, 0, spec.layers, True, True), Parallel(Axis(), Axis(), False, WeightGradients()))


def random_stage(spec: ModelSpec, seed: int = 0) -> Stage:
    """The whole model with weights that no part of it can be without: biases and norms too are drawn."""
    stage = whole_stage(spec)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, tensor in (*stage.named_parameters(), *stage.named_buffers()):
            tensor.copy_(torch.randn(tensor.shape, generator=generator) * deviation(name, tensor))
    return stage


def deviation(name: str, tensor: torch.Tensor) -> float:
    """Standard deviation of random weights. Those of routers are large: between close scores, rounding would choose."""
    if name.endswith("mlp.gate.weight"):
        return 1.0
    return 0.15 if tensor.dim() > 1 else 0.3


def write_random_weights(spec: ModelSpec, folder: Path) -> None:
    """Weights of `random_stage` in Hugging Face's names."""
    save_weights([random_stage(spec)], spec, single_mesh(), str(folder))

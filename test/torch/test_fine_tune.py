"""A tiny Llama, fine-tuned from safetensors on four processes, in slices and in whole sequences."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import tempfile
import unittest
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import torch
from support import RankFailed, on_ranks, plans_folder
from terapipe_torch.loop import Pipeline
from terapipe_torch.mesh import make_mesh, single_mesh
from terapipe_torch.model.linear import Parallel
from terapipe_torch.model.stage import Stage
from terapipe_torch.plan import Plan, StageLayers, load_plan
from terapipe_torch.training import Trainer
from terapipe_torch.weight_grads import WeightGradients
from terapipe_torch.weights.load import Weights
from terapipe_torch.weights.save import save_weights

STEPS = 200
LEARNING_RATE = 1e-3


@dataclass(frozen=True)
class Run:
    """A plan, the folder that it starts from, and the one that it writes."""

    plan: Plan
    origin: str
    target: str


class Copies:
    """Sequences whose second half repeats the first, of 16 words: what attention to earlier tokens learns."""

    def __init__(self, length: int) -> None:
        self.half = (length + 1) // 2 + 1
        self.length = length

    def batch(self, step: int, first: int, count: int) -> torch.Tensor:
        """int64 [count, length + 1]."""
        generator = torch.Generator().manual_seed(1000 * step + first)
        half = torch.randint(0, 16, (count, self.half), generator=generator)
        return torch.cat((half, half), 1)[:, : self.length + 1]


def fine_tune(run: Run) -> list[float]:
    """The loss of each step."""
    plan = run.plan
    mesh = make_mesh(plan.layout, torch.device("cpu"))
    pipeline = Pipeline(plan, mesh, Weights(run.origin, plan.model))
    trainer = Trainer(pipeline, Copies(plan.training.sequence_length), STEPS)
    with contextlib.redirect_stdout(io.StringIO()):
        losses = [trainer.step().loss for _ in range(STEPS)]
    save_weights(pipeline.stages.values(), plan.model, mesh, run.target, run.origin)
    return losses


def tiny_plan(name: str) -> Plan:
    """A plan of the tiny Llama on four processes, with a rate that learns in 200 steps."""
    plan = load_plan(plans_folder() / f"{name}.json")
    training = dataclasses.replace(plan.training, learning_rate=LEARNING_RATE)
    return dataclasses.replace(plan, model=dataclasses.replace(plan.model, qkv_bias=False), training=training)


def write_origin(plan: Plan, folder: str) -> None:
    """The model as Hugging Face keeps it: config.json and safetensors."""
    mesh = single_mesh()
    whole = StageLayers(0, 0, plan.model.layers, embedding=True, head=True)
    stage = Stage(plan.model, whole, Parallel(mesh.tp, mesh.cp, False, WeightGradients()))
    stage.initialise(plan.training.seed)
    save_weights([stage], plan.model, mesh, folder)
    spec = plan.model
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": spec.hidden,
        "intermediate_size": spec.ffn,
        "num_hidden_layers": spec.layers,
        "num_attention_heads": spec.heads,
        "num_key_value_heads": spec.kv_heads,
        "head_dim": spec.head_dim,
        "vocab_size": spec.vocab,
        "rms_norm_eps": spec.norm_epsilon,
        "rope_theta": spec.rotary.base,
        "hidden_act": "silu",
        "attention_bias": False,
        "tie_word_embeddings": spec.tied_embeddings,
        "max_position_embeddings": 64,
    }
    Path(folder, "config.json").write_text(json.dumps(config), encoding="utf-8")


class FineTune(unittest.TestCase):
    """Starts and ends in safetensors with Hugging Face's names."""

    def test_slices_train_as_whole_sequences_do(self) -> None:
        with tempfile.TemporaryDirectory() as root:
            whole, sliced = self._trained(root, tiny_plan("1F1B-4-whole"), tiny_plan("Seq1F1B-ZB-4-shrinking"))
            for step, (expected, actual) in enumerate(zip(whole, sliced, strict=True)):
                self.assertAlmostEqual(actual, expected, delta=1e-4, msg=f"step {step}")
            self.assertLess(whole[-1], 0.7 * whole[0], "nothing was learnt")
            self._loads_elsewhere(f"{root}/sliced", sliced[-1])

    def _trained(self, root: str, whole: Plan, sliced: Plan) -> tuple[list[float], list[float]]:
        self.assertEqual(whole.replica_batch, sliced.replica_batch)
        write_origin(whole, f"{root}/origin")
        runs = [Run(whole, f"{root}/origin", f"{root}/whole"), Run(sliced, f"{root}/origin", f"{root}/sliced")]
        results = on_ranks(4, fine_tune, runs)
        for ranks in results:
            for result in ranks:
                self.assertNotIsInstance(result, RankFailed, result)
        return results[0][0], results[1][0]

    def _loads_elsewhere(self, folder: str, loss: float) -> None:
        if find_spec("transformers") is None:
            self.skipTest("Transformers is not installed: what was written was not loaded there")
        from transformers import AutoModelForCausalLM

        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
        tokens = Copies(24).batch(STEPS, 0, 8)
        with torch.no_grad():
            logits = model(tokens[:, :-1]).logits
        after = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()).item()
        self.assertAlmostEqual(after, loss, delta=0.3)


if __name__ == "__main__":
    unittest.main()

"""A fine-tune from safetensors and back, sliced and unsliced, on four processes."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import struct
import unittest
from pathlib import Path

import torch
import torch.nn.functional as F
from models import TemporaryFolder, families, plan_json, plan_of
from support import ROOT, on_ranks
from terapipe_torch.data import FileTokens
from terapipe_torch.loop import Pipeline
from terapipe_torch.mesh import make_mesh
from terapipe_torch.plan import Plan
from terapipe_torch.training import Trainer
from terapipe_torch.weights.load import Weights
from terapipe_torch.weights.save import save_weights

try:
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    absent = "" if int(transformers.__version__.split(".")[0]) >= 5 else "Transformers is older than 5"
except ImportError:
    absent = "Transformers is not installed"

steps = 200


@dataclasses.dataclass(frozen=True)
class Run:
    """A plan, and the folders that its weights come from and go to."""

    plan: Plan
    source: str
    target: str
    data: str


def train(run: Run) -> list[float]:
    """The losses of all steps."""
    plan = run.plan
    mesh = make_mesh(plan.layout, torch.device("cpu"))
    pipeline = Pipeline(plan, mesh, Weights(run.source, plan.model))
    tokens = FileTokens(run.data, plan.model.vocab, plan.training.sequence_length, plan.training.seed, plan.replica_batch)
    trainer = Trainer(pipeline, tokens, steps)
    with contextlib.redirect_stdout(io.StringIO()):
        losses = [trainer.step().loss for _ in range(steps)]
    save_weights(pipeline.stages.values(), plan.model, mesh, run.target, run.source)
    return losses


@unittest.skipIf(absent, absent)
class TestFinetune(TemporaryFolder):
    """A tiny Llama of Transformers learns the letters of a document."""

    def test_slices_do_not_change_what_is_learned(self) -> None:
        """The same losses at each step, and weights that Transformers loads and computes the same loss with."""
        data = self._tokens()
        torch.manual_seed(0)
        config = transformers.AutoConfig.for_model(**families["llama"]["config"])
        transformers.AutoModelForCausalLM.from_config(config).save_pretrained(self.folder / "start")
        cuts = {"whole": (64,), "sliced": (28, 20, 16)}
        runs = [self._run(name, lengths, data) for name, lengths in cuts.items()]
        (whole, *_), (sliced, *_) = on_ranks(4, train, runs)
        self.assertEqual(len(whole), steps)
        for step, (first, second) in enumerate(zip(whole, sliced, strict=True)):
            self.assertLessEqual(abs(first - second), 1e-4, f"step {step}")
        self.assertLess(sum(sliced[-10:]), 0.75 * sum(sliced[:10]))
        start, end = (self._loss(Path(folder), data) for folder in (runs[1].source, runs[1].target))
        self.assertAlmostEqual(self._loss(Path(runs[0].target), data), end, delta=1e-3)
        self.assertLess(end, 0.75 * start)

    def _run(self, name: str, lengths: tuple[int, ...], data: Path) -> Run:
        plan = plan_of(plan_json(families["llama"]["model"], pipeline=4, slices=lengths, split=len(lengths) > 1), self.folder)
        training = dataclasses.replace(plan.training, learning_rate=2e-3)
        return Run(dataclasses.replace(plan, training=training), str(self.folder / "start"), str(self.folder / name), str(data))

    def _tokens(self) -> Path:
        """Bytes of a document, as tokens below 96 of 16 bits each."""
        text = (ROOT / "docs" / "architecture.md").read_bytes()
        path = self.folder / "text.bin"
        path.write_bytes(b"".join(struct.pack("<H", max(byte - 32, 0) % 96) for byte in text))
        return path

    def _loss(self, folder: Path, data: Path) -> float:
        """Of Transformers, over the first tokens of the document."""
        model = transformers.AutoModelForCausalLM.from_pretrained(folder).float().eval()
        numbers = struct.unpack("<1040H", data.read_bytes()[:2080])
        tokens = torch.tensor(numbers).view(-1, 65)
        with torch.no_grad():
            logits = model(tokens[:, :-1]).logits
        return F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten()).item()


if __name__ == "__main__":
    unittest.main()

"""Models of Transformers: their weights come in, give the same logits and gradients, and go out again."""

from __future__ import annotations

import unittest
from typing import Any

import torch
import torch.nn.functional as F
from models import TemporaryFolder, deviation, families, plan_json, plan_of, spec_of, tokens_in_sequence, whole_stage, without_names
from terapipe_torch.check import check_step, whole_step
from terapipe_torch.loop import Pipeline
from terapipe_torch.mesh import single_mesh
from terapipe_torch.model.slice import SliceContext
from terapipe_torch.model.stage import Stage
from terapipe_torch.plan import Unit
from terapipe_torch.weights.load import Weights
from terapipe_torch.weights.save import save_weights

try:
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    absent = "" if int(transformers.__version__.split(".")[0]) >= 5 else "Transformers is older than 5"
except ImportError:
    absent = "Transformers is not installed"

slices = (24, 8, 32)


@unittest.skipIf(absent, absent)
class TestFamilies(TemporaryFolder):
    """Each family as Transformers builds it from a config, with random weights, norms and biases too."""

    def test_logits_are_equal_whole_and_in_slices(self) -> None:
        """Within 1e-5, the whole sequence at once and slice by slice with keys and values kept."""
        for family in self._families():
            with self.subTest(family):
                theirs = _model(family)
                ours = self._loaded(theirs, family)
                tokens = _tokens()
                with torch.no_grad():
                    expected = theirs(tokens).logits
                    for lengths in ((tokens_in_sequence,), slices):
                        error = (_logits(ours, tokens, lengths) - expected).abs().max().item()
                        self.assertLessEqual(error, 1e-5, lengths)
                    self.assertGreater(expected.std().item(), 0.1)

    def test_gradients_are_equal(self) -> None:
        """Of each tensor within 1e-5 of the largest gradient of the model, whole; in slices with split backward against the whole model."""
        for family in self._families():
            with self.subTest(family):
                theirs, tokens = _model(family), _tokens(1)
                data = plan_json(families[family]["model"], slices=slices, split=True)
                plan = plan_of(data, self.folder)
                self._loaded(theirs, family)
                weights = Weights(str(self.folder / family), plan.model)
                stage, loss = whole_step(plan, tokens, single_mesh(), weights)
                expected, expected_loss = self._gradients(theirs, tokens, family)
                self.assertAlmostEqual(loss, expected_loss, delta=1e-5)
                self._compare(stage, expected)
                result = check_step(Pipeline(plan, single_mesh(), weights), tokens, tokens)
                self.assertTrue(result.passed, result)

    def test_transformers_load_what_is_saved(self) -> None:
        """To the bit, with no tensor missing or left over."""
        for family in self._families():
            with self.subTest(family):
                theirs = _model(family)
                ours = self._loaded(theirs, family)
                saved = str(self.folder / f"{family}.saved")
                save_weights([ours], spec_of(family), single_mesh(), saved, str(self.folder / family))
                again, info = transformers.AutoModelForCausalLM.from_pretrained(saved, output_loading_info=True)
                self.assertFalse(any(info.values()), info)
                for name, tensor in theirs.state_dict().items():
                    self.assertTrue(torch.equal(tensor, again.state_dict()[name]), name)

    def _families(self) -> list[str]:
        return [family for family in families if family not in without_names]

    def _loaded(self, theirs: Any, family: str) -> Stage:
        theirs.save_pretrained(self.folder / family)
        stage = whole_stage(spec_of(family))
        Weights(str(self.folder / family), spec_of(family)).load(stage)
        return stage

    def _gradients(self, theirs: Any, tokens: torch.Tensor, family: str) -> tuple[Stage, float]:
        """The gradients of Transformers as the weights of a stage: saved and loaded as weights are."""
        logits = theirs(tokens[:, :-1]).logits
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        with torch.no_grad():
            for parameter in theirs.parameters():
                parameter.copy_(torch.zeros_like(parameter) if parameter.grad is None else parameter.grad)
        folder = self.folder / f"{family}.gradients"
        theirs.save_pretrained(folder)
        stage = whole_stage(spec_of(family))
        Weights(str(folder), spec_of(family)).load(stage)
        return stage, loss.item()

    def _compare(self, ours: Stage, expected: Stage) -> None:
        references = dict(expected.named_parameters())
        largest = max(each.abs().max().item() for each in references.values())
        for name, parameter in ours.named_parameters():
            error = (parameter.main_grad - references[name]).abs().max().item()
            own = references[name].abs().max().item()
            # each tensor by its own largest gradient, too: a small tensor must not hide behind a large one
            self.assertLessEqual(error, min(1e-5 * largest, 1e-3 * own + 1e-6 * largest), name)


def _model(family: str) -> Any:
    """Of Transformers, with eager attention, which knows soft caps."""
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(**families[family]["config"])
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager").float().eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.normal_(std=deviation(name, parameter))
        for name, buffer in model.named_buffers():
            if name.endswith("e_score_correction_bias"):
                buffer.normal_(std=0.3)
    return model


def _tokens(extra: int = 0) -> torch.Tensor:
    return torch.randint(0, 96, (2, tokens_in_sequence + extra), generator=torch.Generator().manual_seed(1))


def _logits(stage: Stage, tokens: torch.Tensor, lengths: tuple[int, ...]) -> torch.Tensor:
    caches: dict = {}
    parts, start = [], 0
    for number, length in enumerate(lengths):
        unit = Unit(0, number, 2, length, start)
        kept = caches if len(lengths) > 1 else None
        place = SliceContext(unit, torch.arange(start, start + length), None, kept, tokens_in_sequence)
        parts.append(stage.lm_head.logits(stage(tokens[:, start : start + length], place)))
        start += length
    return torch.cat(parts, 1)


if __name__ == "__main__":
    unittest.main()

"""Models and layouts that the layers cannot do are refused in a sentence as the plan is read."""

from __future__ import annotations

import unittest
from typing import Any

import torch
from models import TemporaryFolder, families, plan_json, plan_of, spec_of, whole_stage
from terapipe_torch.errors import RuntimeRefusal
from terapipe_torch.model.refusals import untrained


class TestRefusals(TemporaryFolder):
    """Each with the words that name what is refused."""

    def test_models(self) -> None:
        experts = {"count": 4, "active": 2}
        kind = {"feedForward": "dense", "window": None}
        cases: list[tuple[str, dict[str, Any], str]] = [
            ("llama", {"mtpLayers": 1}, "mtpLayers"),
            ("llama", {"attentionSinks": True}, "attentionSinks"),
            ("llama", {"embeddingNorm": True}, "embeddingNorm"),
            ("llama", {"outputGate": True}, "outputGate"),
            ("llama", {"unusedPositions": 2}, "unusedPositions"),
            ("llama", {"details": {"alibi": True}}, "alibi"),
            ("llama", {"details": {"activationClamp": 7}}, "activationClamp"),
            ("llama", {"details": {"activation": "mish"}}, "mish"),
            ("llama", {"details": {"normPlacement": "post"}}, "norms of the sum"),
            ("llama", {"normsPerLayer": 3}, "3 norms"),
            ("llama", {"normsPerLayer": 1}, "one norm"),
            ("llama", {"vocab": 0}, "vocabulary"),
            ("llama", {"rotary": {"base": 1e4, "scaling": {"kind": "longrope"}}}, "longrope"),
            ("llama", {"layerKinds": [{**kind, "mixer": "state"}] * 4}, "do not attend"),
            ("llama", {"layerKinds": [{**kind, "stack": "encoder"}] * 4}, "encoder-decoder"),
            ("llama", {"layerKinds": [{**kind, "feedForward": "none"}] * 4}, "feed-forward"),
            ("llama", {"layerKinds": [{**kind, "feedForward": "experts"}] * 4}, "experts"),
            ("gpt2", {"qkNorm": True}, "LayerNorms"),
            ("mixtral", {"experts": {**experts, "latent": 8}}, "compressed"),
            ("mixtral", {"experts": {**experts, "active": 5}}, "5 of 4 experts"),
            ("mixtral", {"experts": {**experts, "groups": {"count": 3, "active": 1}}}, "groups"),
            ("mixtral", {"experts": {**experts, "groups": {"count": 4, "active": 1}}}, "groups"),
            ("mixtral", {"mlpBias": True}, "biases"),
            ("mixtral", {"details": {"routerScore": "tanh"}}, "tanh"),
            ("mixtral", {"details": {"routerInputScaling": True}}, "routerInputScaling"),
            ("deepseek_v3", {"qkNorm": True}, "latent"),
        ]
        for family, changes, words in cases:
            with self.subTest(words), self.assertRaisesRegex(RuntimeRefusal, words):
                plan_of(plan_json({**families[family]["model"], **changes}), self.folder)

    def test_layouts(self) -> None:
        cases: list[tuple[str, dict[str, Any], str]] = [
            ("llama", {"tensor": 4}, "2 key/value heads cannot be split over 4"),
            ("gpt2", {"tensor": 3}, "4 heads cannot be split over 3"),
            ("mixtral", {"expert": 2}, "expert parallelism"),
            ("llama", {"slices": (33, 31), "context": 2}, "33 tokens cannot be split over 2"),
            ("llama", {"slices": (33, 31), "tensor": 2, "sequenceParallel": True}, "33 tokens cannot be split over 2"),
            ("gpt2", {"slices": (129,)}, "128 positions"),
        ]
        for family, settings, words in cases:
            with self.subTest(words), self.assertRaisesRegex(RuntimeRefusal, words):
                plan_of(plan_json(families[family]["model"], **settings), self.folder)

    def test_names_what_it_leaves_out_of_training(self) -> None:
        losses = {family: untrained(plan_of(plan_json(each["model"]), self.folder).model) for family, each in families.items()}
        self.assertEqual(losses["llama"], [])
        self.assertEqual(losses["mixtral"], ["load-balancing loss of the routers"])
        self.assertEqual(losses["deepseek_v3"], ["update of the experts' bias of the routers"])


class TestPrecision(unittest.TestCase):
    """What stays in fp32 whatever the precision of the weights."""

    def test_the_bias_that_chooses_experts_stays_in_fp32(self) -> None:
        stage = whole_stage(spec_of("deepseek_v3")).to(torch.bfloat16)
        self.assertEqual({each.dtype for each in stage.buffers()}, {torch.float32})
        self.assertEqual({each.dtype for each in stage.parameters()}, {torch.bfloat16})


if __name__ == "__main__":
    unittest.main()

"""Files of safetensors: what is written is read to the bit, and what is damaged is refused in a sentence."""

from __future__ import annotations

import json
import unittest
from pathlib import Path
from typing import Any

import torch
from models import TemporaryFolder, random_stage, spec_of, whole_stage, write_random_weights
from terapipe_torch.errors import RuntimeRefusal
from terapipe_torch.weights.load import Weights
from terapipe_torch.weights.safetensors import Planned, TensorFile, WeightFolder, write_tensors

try:
    from safetensors.torch import load_file, save_file

    absent = ""
except ImportError:
    absent = "the safetensors package is not installed"

_types = (torch.float32, torch.bfloat16, torch.float16, torch.int64, torch.uint8, torch.bool)


def _write(path: Path, header: Any, data: bytes = b"") -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


def _tensors() -> dict[str, torch.Tensor]:
    tensors = {str(dtype): (torch.randn(3, 5) * 9).to(dtype) for dtype in _types}
    return {**tensors, "scalar": torch.tensor(2.5), "empty": torch.empty(0, 4), "turned": torch.randn(4, 3).t()}


def _write_all(path: Path, tensors: dict[str, torch.Tensor]) -> None:
    planned = [Planned(name, tensor.dtype, tuple(tensor.shape)) for name, tensor in tensors.items()]
    write_tensors(path, planned, tensors.values())


class TestFormat(TemporaryFolder):
    """The reader and the writer, by themselves and against the package."""

    def test_reads_what_it_wrote(self) -> None:
        tensors, path = _tensors(), self.folder / "a.safetensors"
        _write_all(path, tensors)
        file = TensorFile(path)
        self.assertEqual(list(file.entries), list(tensors))
        for name, tensor in tensors.items():
            self.assertTrue(torch.equal(file.read(name), tensor), name)
        self.assertEqual([each.name for each in self.folder.iterdir()], ["a.safetensors"])

    @unittest.skipIf(absent, absent)
    def test_the_package_reads_and_writes_the_same(self) -> None:
        tensors = {name: tensor.contiguous() for name, tensor in _tensors().items()}
        _write_all(self.folder / "ours.safetensors", tensors)
        save_file(tensors, self.folder / "theirs.safetensors")
        read = load_file(self.folder / "ours.safetensors")
        file = TensorFile(self.folder / "theirs.safetensors")
        for name, tensor in tensors.items():
            self.assertTrue(torch.equal(read[name], tensor), name)
            self.assertTrue(torch.equal(file.read(name), tensor), name)

    def test_reads_tensors_that_are_not_aligned(self) -> None:
        header = {"a": {"dtype": "F32", "shape": [1], "data_offsets": [1, 5]}}
        text = json.dumps(header).encode()
        path = _write(self.folder / "a.safetensors", text + b" " * (-len(text) % 8), b"\0\0\0\x80?")
        self.assertEqual(TensorFile(path).read("a").tolist(), [1.0])

    def test_refuses_damaged_files(self) -> None:
        """A header that is too long, no JSON, or whose places are outside of the file or of the shape."""

        def entry(shape: Any = (2,), offsets: Any = (0, 8), dtype: Any = "F32") -> dict[str, Any]:
            return {"a": {"dtype": dtype, "shape": shape, "data_offsets": offsets}}

        headers = {
            "past the end": entry(offsets=[8, 16]),
            "before the start": entry(offsets=[-8, 0]),
            "backwards": entry(offsets=[8, 0]),
            "longer than its shape": entry(shape=[1]),
            "negative": entry(shape=[-1, -2]),
            "huge": entry(shape=[2**62, 2]),
            "fraction": entry(shape=[2.0]),
            "boolean": entry(shape=[True, 2]),
            "no places": {"a": {"dtype": "F32", "shape": [2]}},
            "three places": entry(offsets=[0, 8, 8]),
            "no type": entry(dtype=None),
            "no object": [],
            "no entry": {"a": 1},
            "no JSON": b"{nonsense",
            "no text": b"\xff\xfe\xff",
            "deep": b"[" * 100_000,
        }
        for what, header in headers.items():
            with self.subTest(what), self.assertRaises(RuntimeRefusal):
                TensorFile(_write(self.folder / "a.safetensors", header, bytes(8)))
        for what, raw in {"empty": b"", "short": b"\x08\0\0", "header past the end": (2**63).to_bytes(8, "little") + b"{}"}.items():
            (self.folder / "a.safetensors").write_bytes(raw)
            with self.subTest(what), self.assertRaises(RuntimeRefusal):
                TensorFile(self.folder / "a.safetensors")

    def test_refuses_quantised_weights_when_they_are_read(self) -> None:
        path = _write(self.folder / "a.safetensors", {"a": {"dtype": "F8_E4M3", "shape": [4], "data_offsets": [0, 4]}}, bytes(4))
        with self.assertRaisesRegex(RuntimeRefusal, "F8_E4M3"):
            TensorFile(path).read("a")

    def test_refuses_an_index_that_leaves_the_folder(self) -> None:
        for name in ("../a.safetensors", "/a.safetensors", "b/a.safetensors", "..\\a.safetensors", "a.bin", 1):
            (self.folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": name}}))
            with self.subTest(name), self.assertRaises(RuntimeRefusal):
                WeightFolder(self.folder)


class TestFolders(TemporaryFolder):
    """Weights that are not those of the plan's model."""

    def setUp(self) -> None:
        super().setUp()
        self.spec = spec_of("llama")
        write_random_weights(self.spec, self.folder)
        self.tensors = {name: WeightFolder(self.folder).read(name).clone() for name in WeightFolder(self.folder).names}

    def test_loads_names_of_a_model_without_head(self) -> None:
        renamed = {name.removeprefix("model."): tensor for name, tensor in self.tensors.items()}
        _write_all(self.folder / "model.safetensors", renamed)
        stage = whole_stage(self.spec)
        Weights(str(self.folder), self.spec).load(stage)
        for name, tensor in random_stage(self.spec).named_parameters():
            self.assertTrue(torch.equal(stage.get_parameter(name), tensor), name)

    def test_refuses_a_missing_tensor(self) -> None:
        del self.tensors["model.layers.2.mlp.up_proj.weight"]
        self._refuses("has no tensor model.layers.2.mlp.up_proj.weight")

    def test_refuses_another_shape(self) -> None:
        self.tensors["model.norm.weight"] = torch.zeros(31)
        self._refuses(r"model.norm.weight .* has shape \[31\], in the plan's model \[32\]")

    def test_refuses_tensors_that_training_would_leave_out(self) -> None:
        """A bias that the plan's model does not have, and a layer too many."""
        for name in ("model.layers.1.self_attn.q_proj.bias", "model.layers.4.input_layernorm.weight"):
            self.tensors[name] = torch.zeros(32)
            self._refuses(f"{name} .* belongs to no layer")
            del self.tensors[name]

    def test_takes_buffers_and_layers_of_multi_token_prediction(self) -> None:
        """Both are in published files and in no model of Transformers."""
        self.tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = torch.zeros(4)
        self.tensors["model.layers.4.input_layernorm.weight"] = torch.zeros(32)
        _write_all(self.folder / "model.safetensors", self.tensors)
        (self.folder / "config.json").write_text(json.dumps({"model_type": "llama", "num_nextn_predict_layers": 1}))
        Weights(str(self.folder), self.spec).load(whole_stage(self.spec))

    def test_refuses_a_family_of_unknown_names(self) -> None:
        (self.folder / "config.json").write_text(json.dumps({"model_type": "mamba"}))
        with self.assertRaisesRegex(RuntimeRefusal, "mamba"):
            Weights(str(self.folder), self.spec)

    def _refuses(self, pattern: str) -> None:
        _write_all(self.folder / "model.safetensors", self.tensors)
        with self.assertRaisesRegex(RuntimeRefusal, pattern):
            Weights(str(self.folder), self.spec).load(whole_stage(self.spec))


if __name__ == "__main__":
    unittest.main()

"""Files of tokens, and the learning rate."""

from __future__ import annotations

import dataclasses
import struct
import tempfile
import unittest
from pathlib import Path

import torch
from support import TRAINING
from terapipe_torch.data import FileTokens, SyntheticTokens, read_tokens
from terapipe_torch.errors import RuntimeRefusal
from terapipe_torch.learning_rate import learning_rate
from terapipe_torch.model.spec import from_json
from terapipe_torch.plan import Training

VOCAB = 1000


def npy(kind: str, shape: tuple[int, ...], data: bytes) -> bytes:
    """A file as numpy.save writes it."""
    header = str({"descr": kind, "fortran_order": False, "shape": shape})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


class Data(unittest.TestCase):
    """Tokens 0, 1, 2, ... in every format."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def written(self, name: str, data: bytes) -> Path:
        path = self.folder / name
        path.write_bytes(data)
        return path

    def source(self, path: Path, length: int = 4, seed: int = 1, global_batch: int = 2) -> FileTokens:
        return FileTokens(str(path), VOCAB, length, seed, global_batch)

    def test_every_format_gives_the_same_tokens(self) -> None:
        numbers = range(41)
        self.written("megatron.idx", b"MMIDIDX\x00\x00" + struct.pack("<QB", 1, 4) + b"\x00" * 16)
        files = [
            self.written("short.bin", struct.pack("<41H", *numbers)),
            self.written("megatron.bin", struct.pack("<41i", *numbers)),
            self.written("short.npy", npy("<u2", (41,), struct.pack("<41H", *numbers))),
            self.written("long.npy", npy("<i8", (41, 1), struct.pack("<41q", *numbers))),
        ]
        batches = [self.source(file).batch(0, 0, 2) for file in files]
        for batch in batches:
            self.assertEqual((batch.dtype, batch.shape), (torch.int64, (2, 5)))
            self.assertTrue(torch.equal(batch, batches[0]))
        wide = read_tokens(self.written("wide.bin", struct.pack("<2I", 65536, 70000)), 100_000)
        self.assertEqual(wide.tolist(), [65536, 70000])

    def test_an_epoch_takes_each_sequence_once_in_an_order_of_the_seed(self) -> None:
        path = self.written("t.bin", struct.pack("<41H", *range(41)))
        source = self.source(path)
        epochs = [torch.cat([source.batch(step, 0, 2) for step in range(first, first + 5)]) for first in (0, 5)]
        for epoch in epochs:
            self.assertEqual(sorted(epoch[:, 0].tolist()), list(range(0, 40, 4)))
            self.assertTrue(torch.equal(epoch, epoch[:, :1] + torch.arange(5)))
        self.assertFalse(torch.equal(*epochs))
        self.assertFalse(torch.equal(self.source(path, seed=2).batch(0, 0, 10), self.source(path).batch(0, 0, 10)))

    def test_continues_where_another_global_batch_left_off(self) -> None:
        path = self.written("t.bin", struct.pack("<41H", *range(41)))
        whole = self.source(path, global_batch=10).batch(0, 0, 10)
        later = self.source(path, global_batch=3)
        later.resume_at(2, 4)
        self.assertTrue(torch.equal(later.batch(2, 0, 3), whole[4:7]))
        self.assertTrue(torch.equal(later.batch(3, 0, 3), whole[7:10]))

    def test_what_cannot_be_read_is_one_sentence(self) -> None:
        tokens = struct.pack("<6H", 1, 2, 1000, 3, 4, 5)
        cases = [
            (self.folder / "missing.bin", "cannot be read: .*No such file"),
            (self.written("odd.bin", b"\x01\x00\x02"), "has 3 bytes, not a whole number of tokens of 2 bytes each"),
            (self.written("few.bin", b"\x01\x00" * 4), "has 4 tokens: a sequence needs 5"),
            (self.written("large.bin", tokens), "token 2 is 1,000, but the vocabulary of the model has 1,000"),
            (self.written("negative.npy", npy("<i8", (5,), struct.pack("<5q", 7, -1, 8, 9, 3))), "token 1 is -1, but"),
            (self.written("float.npy", npy("<f4", (8,), b"\x00" * 32)), "its numbers are <f4"),
            (self.written("no.npy", b"words"), "does not begin as an .npy file"),
            (self.written("tokens.txt", b"1 2 3"), "is neither .bin nor .npy"),
        ]
        for path, words in cases:
            with self.subTest(path=path.name), self.assertRaisesRegex(RuntimeRefusal, words):
                self.source(path).batch(0, 0, 1)

    def test_random_tokens_do_not_depend_on_how_a_batch_is_cut(self) -> None:
        source = SyntheticTokens(VOCAB, 8, 1)
        self.assertTrue(torch.equal(source.batch(3, 0, 4)[2:], source.batch(3, 2, 2)))


class Rates(unittest.TestCase):
    """Warm-up to the full rate, then a decay."""

    def rates(self, schedule: str, **settings: float) -> list[float]:
        usual = from_json(Training, {**TRAINING, "sequenceLength": 8, "globalBatch": 8})
        training = dataclasses.replace(usual, learning_rate=1.0, learning_rate_schedule=schedule, warmup_steps=2, **settings)
        return [round(learning_rate(training, step, 6), 4) for step in range(8)]

    def test_schedules(self) -> None:
        self.assertEqual(self.rates("constant"), [0.5, 1, 1, 1, 1, 1, 1, 1])
        self.assertEqual(self.rates("linear", min_learning_rate=0.2), [0.5, 1, 1, 0.8, 0.6, 0.4, 0.2, 0.2])
        self.assertEqual(self.rates("cosine"), [0.5, 1, 1, 0.8536, 0.5, 0.1464, 0, 0])
        self.assertEqual(self.rates("linear", decay_steps=4), [0.5, 1, 1, 0.5, 0, 0, 0, 0])

    def test_an_unknown_schedule_is_refused(self) -> None:
        with self.assertRaisesRegex(RuntimeRefusal, "learningRateSchedule is 'steep'"):
            self.rates("steep")


if __name__ == "__main__":
    unittest.main()

"""Starts, failures and signals of train.py: what is printed, and that all processes end."""

from __future__ import annotations

import io
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from contextlib import redirect_stderr
from pathlib import Path
from unittest.mock import patch

import torch
from support import ROOT, RankFailed, on_ranks, plans_folder
from terapipe_torch.checkpoint import newest_checkpoint
from terapipe_torch.launch import agree
from terapipe_torch.start_here import start_here
from terapipe_torch.waiting import within
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure

RUNTIME = ROOT / "src/runtime/torch"
TRAIN = str(RUNTIME / "train.py")
FAILING = str(ROOT / "test/torch/failing_train.py")
LIMIT = 300


def run(*command: str) -> subprocess.CompletedProcess[str]:
    """A command of this Python, in the folder of the runtime."""
    return subprocess.run([sys.executable, *command], cwd=RUNTIME, capture_output=True, text=True, timeout=LIMIT, check=False)


def agree_as(digests: tuple[str, ...]) -> None:
    """Each rank with its own plan."""
    agree(digests[torch.distributed.get_rank()])


class Waiting(unittest.TestCase):
    """A call that may never return."""

    def test_ends_after_its_time(self) -> None:
        never = threading.Event()
        self.addCleanup(never.set)
        with self.assertRaisesRegex(TimeoutError, "no answer for 0.1 s"):
            within(0.1, never.wait)

    def test_gives_what_it_returns_or_raises(self) -> None:
        self.assertEqual(within(60, lambda: 7), 7)
        with self.assertRaises(ZeroDivisionError):
            within(60, lambda: 1 // 0)


class Launch(unittest.TestCase):
    """On two processes of this machine."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.plan = str(plans_folder() / "Seq1F1B-2-halves.json")

    def sentences(self, done: subprocess.CompletedProcess[str]) -> list[str]:
        return [line for line in done.stderr.splitlines() if line.startswith("terapipe: ")]

    def test_reason_of_a_rank_that_raises_is_printed_last(self) -> None:
        done = run(FAILING, "raise", "1", "1B1", self.plan, "--steps", "1")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(done.stderr.splitlines()[-1], "terapipe: rank 1 failed at 1B1: ValueError: a fault of the test")
        self.assertEqual(len(self.sentences(done)), 1)

    def test_rank_that_is_killed_ends_all(self) -> None:
        done = run(FAILING, "kill", "1", "1B1", self.plan, "--steps", "1")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr.splitlines()[-1], "^terapipe: rank 1 was ended by SIGKILL")

    def test_a_rank_that_aborts_because_another_was_killed_is_not_named(self) -> None:
        failures = {rank: ProcessFailure(rank, 1000 + rank, -number, "") for rank, number in enumerate((signal.SIGABRT, signal.SIGKILL))}
        self.addCleanup(logging.disable, logging.NOTSET)
        with (
            patch.dict(os.environ),
            patch("terapipe_torch.start_here.elastic_launch") as started,
            redirect_stderr(io.StringIO()) as shown,
        ):
            started.return_value.side_effect = ChildFailedError("train.py", failures)
            self.assertEqual(start_here(2, False, "train.py", []), 1)
        self.assertRegex(shown.getvalue(), "^terapipe: rank 1 was ended by SIGKILL")

    def test_run_killed_while_saving_leaves_the_checkpoint_before(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            done = run(FAILING, "kill", "0", "save 2", self.plan, "--steps", "3", "--save", folder, "--save-every", "1")
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertTrue((Path(folder) / ".step-2.partial").exists())
            self.assertEqual(newest_checkpoint(folder).name, "step-1")

    def test_under_torchrun_one_rank_says_what_all_find(self) -> None:
        done = run("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "3", TRAIN, self.plan)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(len(self.sentences(done)), 1, done.stderr)
        self.assertIn("the plan needs 2 processes", self.sentences(done)[0])

    def test_old_pytorch_is_one_sentence(self) -> None:
        code = f"import torch, sys; torch.__version__ = '2.5.1'; import train; sys.exit(train.main([{self.plan!r}]))"
        done = run("-c", code)
        self.assertEqual((done.returncode, done.stderr), (2, "terapipe: PyTorch 2.5.1 is too old: install 2.6 or newer\n"))

    def test_missing_gpus_are_one_sentence(self) -> None:
        gpus = "torch.cuda.is_available, torch.cuda.device_count = lambda: True, lambda: 1"
        done = run("-c", f"import torch, sys; {gpus}; import train; sys.exit(train.main([{self.plan!r}]))")
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr, "terapipe: the plan needs 2 GPUs, this machine has 1: start torchrun on several\n")

    def test_tokens_outside_the_vocabulary_are_one_sentence(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "tokens.bin"
            file.write_bytes(b"\x05\x00" * 100 + b"\xff\x7f" * 100)
            done = run(TRAIN, self.plan, "--data", str(file), "--device", "cpu")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertRegex(done.stderr, r"token \d+ is 32,767, but the vocabulary of the model has")

    def test_ranks_with_different_plans_refuse(self) -> None:
        (same, different) = on_ranks(2, agree_as, [("a", "a"), ("a", "b")])
        self.assertEqual(same, [None, None])
        for each in different:
            self.assertIsInstance(each, RankFailed)
            self.assertIn("the ranks have different plans or options", str(each))

    def running(self, stderr: int) -> subprocess.Popen[str]:
        """A long run that has done a step."""
        command = [sys.executable, TRAIN, self.plan, "--steps", "1000000", "--device", "cpu"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True)
        assert process.stdout is not None
        while process.stdout.readline().startswith("step 0") is False and process.poll() is None:
            pass
        return process

    def test_interrupt_ends_all(self) -> None:
        with self.running(stderr=subprocess.PIPE) as process:
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=LIMIT)
        self.assertEqual((process.returncode, errors), (130, "terapipe: ended by SIGINT\n"))

    def test_ranks_end_with_a_launcher_that_was_killed(self) -> None:
        with self.running(stderr=subprocess.DEVNULL) as process:
            process.kill()
            # they have the other end of the pipe
            process.communicate(timeout=LIMIT)
        self.assertEqual(process.returncode, -signal.SIGKILL)


if __name__ == "__main__":
    unittest.main()

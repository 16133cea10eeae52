"""The processes of the other tests end in a bounded time."""

from __future__ import annotations

import multiprocessing
import signal
import tempfile
import time
import unittest

from ranks import Hanging, end_of, write_stacks_when_asked


def end_with(code: int) -> None:
    """A process that ends."""
    raise SystemExit(code)


def wait_for_ever(folder: str) -> None:
    """A process that does not."""
    write_stacks_when_asked(folder)
    time.sleep(1e6)


class EndOf(unittest.TestCase):
    """What a start of ranks gives."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, self.context = folder.name, multiprocessing.get_context("forkserver")

    def test_processes_that_have_ended_before_are_not_waited_for(self) -> None:
        ranks = [self.context.Process(target=end_with, args=(0,)) for _ in range(3)]
        for each in ranks:
            each.start()
        while any(each.exitcode is None for each in ranks):
            time.sleep(0.01)
        self.assertEqual(end_of(ranks, self.folder, 60), 0)

    def test_a_failure_ends_the_others(self) -> None:
        ranks = [self.context.Process(target=wait_for_ever, args=(self.folder,)), self.context.Process(target=end_with, args=(3,))]
        for each in ranks:
            each.start()
        self.assertEqual(end_of(ranks, self.folder, 300), 3)
        self.assertEqual(ranks[0].exitcode, -signal.SIGKILL)

    def test_stacks_of_processes_that_do_not_end_are_the_error(self) -> None:
        ranks = [self.context.Process(target=wait_for_ever, args=(self.folder,))]
        ranks[0].start()
        with self.assertRaisesRegex(Hanging, "1 of 1 processes did not end in 8 s\nstacks-[^$]*in wait_for_ever"):
            end_of(ranks, self.folder, 8)
        self.assertEqual(ranks[0].exitcode, -signal.SIGKILL)


if __name__ == "__main__":
    unittest.main()

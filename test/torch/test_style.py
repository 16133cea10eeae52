"""Format and lint of the Python sources, with ruff."""

from __future__ import annotations

import subprocess
import sys
import unittest
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RUNTIME = ROOT / "src/runtime/torch"


@unittest.skipIf(find_spec("ruff") is None, "ruff is not installed")
class Style(unittest.TestCase):
    """Sources are as ruff wants them."""

    def ruff(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "ruff", *arguments, "--config", str(RUNTIME / "ruff.toml"), str(RUNTIME), str(ROOT / "test/torch")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_sources_are_formatted(self) -> None:
        self.ruff("format", "--check")

    def test_sources_pass_lint(self) -> None:
        self.ruff("check")

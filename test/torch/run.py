"""
Runs unittest files and appends an event for each test to a file, one JSON object a line, as
test/harness/events.mjs reads them: python run.py EVENTS FILE...
"""

from __future__ import annotations

import importlib.util
import json
import sys
import traceback
import unittest
from pathlib import Path
from types import TracebackType

_ExcInfo = tuple[type[BaseException], BaseException, TracebackType] | tuple[None, None, None]


class _Events(unittest.TestResult):
    """Writes what happens as it happens, so that nothing is lost when the process dies."""

    def __init__(self, file: str) -> None:
        super().__init__()
        self.file = Path(file)

    def write(self, **event: object) -> None:
        with self.file.open("a", encoding="utf-8") as out:
            out.write(json.dumps(event) + "\n")

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self.write(kind="start", name=test.id())

    def addSuccess(self, test: unittest.TestCase) -> None:
        self.write(kind="pass", name=test.id())

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        self.write(kind="note", text=f"{test.id()} is skipped: {reason}")
        self.write(kind="skip", name=test.id())

    def addError(self, test: unittest.TestCase, err: _ExcInfo) -> None:
        super().addError(test, err)
        self.write(kind="fail", name=test.id(), why="".join(traceback.format_exception(*err)))

    def addFailure(self, test: unittest.TestCase, err: _ExcInfo) -> None:
        self.addError(test, err)

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: _ExcInfo | None) -> None:
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.write(kind="fail", name=subtest.id(), why="".join(traceback.format_exception(*err)))


def main(events: str, files: list[str]) -> None:
    """Every test of the files; whether they passed is in the events."""
    result = _Events(events)
    suites = []
    for file in files:
        spec = importlib.util.spec_from_file_location(Path(file).stem, file)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        suites.append(unittest.defaultTestLoader.loadTestsFromModule(module))
    result.write(kind="expect", count=sum(suite.countTestCases() for suite in suites))
    for suite in suites:
        suite.run(result)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])

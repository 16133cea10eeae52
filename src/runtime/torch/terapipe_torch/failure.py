"""What is printed when a rank fails: one sentence, once, by the first that failed."""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from pathlib import Path

import torch
import torch.distributed as dist

from terapipe_torch.errors import PassFailed, RuntimeRefusal, TrainingFailed
from terapipe_torch.waiting import limit, within

REASON_FILE = "TERAPIPE_REASON_FILE"
# what gloo reports when the other process has ended, and when nothing came for the limit of waiting.py
_lost = ("Connection closed by peer", "Connection reset by peer", "Broken pipe", "Connection closed by remote peer")
_silent = "Timed out waiting"
# the store may be of a rank that hangs
_store_patience_s = 10.0
_store: list[dist.Store] = []


def use_store(store: dist.Store) -> None:
    """The store of the process group, by which ranks learn whether another failed before them."""
    _store[:] = [store]


def end(error: BaseException) -> None:
    """
    Ends this process with 2 for what a person must change, else 1. At once: another rank may wait for it in a
    collective, and torchrun ends the others when one has ended. The first that fails gives the reason.
    """
    cause = error.__cause__ if isinstance(error, PassFailed) and error.__cause__ is not None else error
    reason = _reason(error, cause)
    _write_error_file(reason)
    sys.stdout.flush()
    if _is_first(reason):
        if not isinstance(cause, (RuntimeRefusal, TrainingFailed, torch.OutOfMemoryError)) and not _is_of_another(cause):
            traceback.print_exception(cause)
        if REASON_FILE not in os.environ:
            print(f"terapipe: {reason}", file=sys.stderr)
    sys.stderr.flush()
    os._exit(2 if isinstance(cause, RuntimeRefusal) else 1)


def refuse(error: RuntimeRefusal) -> int:
    """The exit status before there are ranks: of several processes that find the same, one prints it."""
    if os.environ.get("RANK", "0") == "0":
        print(f"terapipe: {error}", file=sys.stderr)
    return 2


def _reason(error: BaseException, cause: BaseException) -> str:
    if isinstance(cause, (RuntimeRefusal, TrainingFailed)):
        return str(cause)
    action = f" at {error}" if isinstance(error, PassFailed) else ""
    if _is_of_another(cause):
        what = f"has done nothing for {limit().total_seconds():g} s" if _silent in str(cause) else "has ended"
        return f"rank {os.environ.get('RANK', '0')} failed{action}: a rank that it waited for {what}"
    first_line = str(cause).strip().split("\n")[0]
    return f"rank {os.environ.get('RANK', '0')} failed{action}: {type(cause).__name__}: {first_line}"


def _is_of_another(cause: BaseException) -> bool:
    return isinstance(cause, RuntimeError) and any(words in str(cause) for words in (*_lost, _silent))


def _is_first(reason: str) -> bool:
    """Whether no other rank failed before; true where that cannot be known."""
    try:
        if REASON_FILE in os.environ:
            with Path(os.environ[REASON_FILE]).open("x", encoding="utf-8") as file:
                file.write(reason)
            return True
        if _store:
            return within(_store_patience_s, lambda: _store[0].add("terapipe/failed", 1)) == 1
    except FileExistsError:
        return False
    except (OSError, RuntimeError):
        return True
    return os.environ.get("RANK", "0") == "0"


def _write_error_file(reason: str) -> None:
    """For the table that torchrun prints when it has ended all ranks."""
    path = os.environ.get("TORCHELASTIC_ERROR_FILE")
    if path:
        error = {"message": reason, "extraInfo": {"py_callstack": reason, "timestamp": str(int(time.time()))}}
        Path(path).write_text(json.dumps({"message": error}), encoding="utf-8")

"""
Ten plans of a small Llama on two gloo processes, predicted and measured in three rounds: each profiles this machine,
plans from that profile and runs each plan once, five steps. A shared machine may be 15 % slower ten minutes later. Run
it on a quiet machine: python test/torch/measure.py [--limit PERCENT] [--keep DIR]
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
_length, _batch, _rounds, _steps, _warm_up = 512, 4, 3, 7, 2
_model = {"layers": 4, "hidden": 256, "heads": 8, "kvHeads": 4, "ffn": 768, "gatedMlp": True, "vocab": 1024}
_seconds = 120


def slices(*tokens: int) -> dict[str, Any]:
    """Every sequence in slices of these lengths."""
    return {"scheme": [[1, list(tokens)]] * _batch}


# None: solved by TeraPipe's program
_plans: dict[str, tuple[str, dict[str, Any] | None]] = {
    "whole, 1F1B": ("1F1B", slices(_length)),
    "whole, GPipe": ("GPipe", slices(_length)),
    "whole, zero bubble": ("ZB-H1", slices(_length)),
    "whole, interleaved": ("Interleaved1F1B", slices(_length)),
    "whole, zero bubble V": ("ZBVZeroBubble", slices(_length)),
    "2 equal, Seq1F1B": ("Seq1F1B", slices(256, 256)),
    "4 equal, Seq1F1B": ("Seq1F1B", slices(128, 128, 128, 128)),
    "2 equal, zero bubble": ("Seq1F1B-ZB", slices(256, 256)),
    "2 equal, TeraPipe": ("TeraPipe", slices(256, 256)),
    "solved, TeraPipe": ("TeraPipe", None),
}


@dataclass(frozen=True)
class Row:
    """
    Times in ms, medians of all rounds. `noise`: half of what the middle half of the steps of all runs spread; `errors`:
    predicted over measured of each round, less 1; `waited`: wall over processor time of its passes, median.
    """

    name: str
    predicted: float
    measured: float
    noise: float
    errors: list[float]
    waited: float


def main(arguments: list[str]) -> int:
    """1 where `--limit` is given and the mean error is above it, or the order is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=float, help="largest mean error, percent")
    parser.add_argument("--keep", metavar="DIR", help="keep plans, profile and traces there")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(options.keep or temporary)
        rows = _rows([_round(folder / str(number)) for number in range(_rounds)])
    print("\n".join(_line(row) for row in rows))
    return _report(rows, options.limit)


@dataclass(frozen=True)
class Run:
    """A step as planned, ms, and what ran in the steps that count."""

    predicted: float
    events: list[dict[str, Any]]

    def steps(self) -> list[float]:
        return [_step_ms([each for each in self.events if each["args"]["step"] == step]) for step in range(_warm_up, _steps)]


def _round(folder: Path) -> dict[str, Run]:
    """A profile of this machine, and one run of each plan that is made from it."""
    folder.mkdir(parents=True, exist_ok=True)
    profile = _profile(folder)
    plans = {name: _exported(folder, name, profile) for name in _plans}
    return {name: _traced(plan) for name, plan in plans.items()}


def _profile(folder: Path) -> Path:
    """Measures what plans are made of, in slices of one of them."""
    profile = folder / "profile.json"
    _train(_exported(folder, "4 equal, Seq1F1B", None), "--profile", str(profile))
    warnings = json.loads(profile.read_text(encoding="utf-8"))["warnings"]
    print("\n".join(f"profile: {each}" for each in warnings) or "profile: quiet", flush=True)
    return profile


def _traced(plan: Path) -> Run:
    trace = plan / "trace.json"
    _train(plan, "--steps", str(_steps), "--trace", str(trace))
    events = json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
    predicted = json.loads((plan / "plan.json").read_text(encoding="utf-8"))["predicted"]["iterationMs"]
    return Run(predicted, [each for each in events if each["ph"] == "X" and each["args"]["step"] >= _warm_up])


def _rows(rounds: list[dict[str, Run]]) -> list[Row]:
    """Steps of a round count as if its plans took as long in the mean as those of all rounds: noise is that of plans, not of rounds."""
    means = [statistics.mean(statistics.median(run.steps()) for run in runs.values()) for runs in rounds]
    factors = [statistics.mean(means) / mean for mean in means]
    print("rounds take " + ", ".join(f"{1 / factor:.2f}" for factor in factors) + " of their mean", flush=True)
    return [_row(name, [runs[name] for runs in rounds], factors) for name in _plans]


def _row(name: str, runs: list[Run], factors: list[float]) -> Row:
    steps = [ms * factor for run, factor in zip(runs, factors, strict=True) for ms in run.steps()]
    low, _, high = statistics.quantiles(steps, n=4, method="inclusive")
    passes = [each for run in runs for each in run.events if each["cat"] == "pass"]
    waited = statistics.median(each["dur"] / 1e3 / max(each["args"]["cpuMs"], 1e-6) for each in passes)
    predicted = statistics.median(run.predicted for run in runs)
    errors = [run.predicted / statistics.median(run.steps()) - 1 for run in runs]
    return Row(name, predicted, statistics.median(steps), (high - low) / 2, errors, waited)


def _step_ms(events: list[dict[str, Any]]) -> float:
    return (max(each["ts"] + each["dur"] for each in events) - min(each["ts"] for each in events)) / 1e3


def _line(row: Row) -> str:
    times = f"predicted {row.predicted:7.1f} ms, measured {row.measured:7.1f} (+-{row.noise:.1f})"
    return f"{row.name:22} {times}, error {statistics.median(row.errors):+6.1%}, wall over processor {row.waited:.2f}"


def _report(rows: list[Row], limit: float | None) -> int:
    apart = [(a, b) for a, b in itertools.combinations(rows, 2) if abs(a.measured - b.measured) > a.noise + b.noise]
    wrong = [(a, b) for a, b in apart if (a.measured < b.measured) != (a.predicted < b.predicted)]
    mean = statistics.mean(abs(error) for row in rows for error in row.errors)
    waited = statistics.median(row.waited for row in rows)
    print(f"mean error {mean:.1%}; order right in {len(apart) - len(wrong)} of {len(apart)} pairs that differ by more than noise")
    for a, b in wrong:
        print(f"  {a.name} is {'faster' if a.measured < b.measured else 'slower'} than {b.name}, predicted the other way round")
    print(f"wall over processor time of passes {waited:.2f}{'' if waited < 1.1 else ': something else used the machine'}")
    return 1 if limit is not None and (100 * mean > limit or wrong) else 0


def _exported(folder: Path, name: str, profile: Path | None) -> Path:
    """The folder that trains a plan, predicted from the profile where there is one."""
    schedule, slicing = _plans[name]
    slug = name.replace(",", "").replace(" ", "-")
    config = folder / f"{slug}.json"
    layout = {"tensor": 1, "pipeline": 2, "data": 1}
    training = {"sequenceLength": _length, "globalBatch": _batch, "precision": "fp32", "runtime": "torchtitan", "zeroStage": 0}
    document = {"model": _model, "training": training, "layout": layout, "schedule": schedule, "slicing": {"unit": 64, **(slicing or {})}}
    config.write_text(json.dumps(document), encoding="utf-8")
    run = folder / f"{slug}{'' if profile is None else '-run'}"
    command = ["node", str(ROOT / "dist/cli.js"), "export", str(config), "--to", "torchrun", "--out", str(run)]
    _call([*command, *(["--profile", str(profile)] if profile is not None else [])])
    return run


def _train(run: Path, *options: str) -> None:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    _call([*command, str(run / "train.py"), str(run / "plan.json"), "--device", "cpu", *options])


def _call(command: list[str]) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=_seconds)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""
A ViT on scikit-learn's digits (or CIFAR-10) on four gloo processes, static and with layers that freeze: accuracy and time by alpha, and
each mechanism on and off, next to what is planned from the rate of the first epochs. Run it on a quiet machine, after `npm run build`:
python test/torch/digits.py [--out docs/elastic/digits.json] [--cifar DIR] [--repeat N] [--keep DIR]
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src/runtime/torch"))

from terapipe_torch.launch import device_name

ROOT = Path(__file__).resolve().parents[2]
_length, _batch, _micro_batches, _layers = 4, 32, 4, 8
_seconds = 1200
# before any layer freezes; the rest is the export's
_training = {"learningRate": 3e-3, "learningRateSchedule": "cosine", "warmupSteps": 30, "weightDecay": 0.05, "beta2": 0.98}
# a core of a processor and copies in its memory, roughly: the measured rate of the static run scales what is planned of them
_cluster = {
    "gpu": {"preset": "L40S", "memoryGB": 4, "peakTflops": {"fp32": 0.05}, "memoryTBps": 0.01},
    "nodes": 1,
    "gpusPerNode": _length,
    "links": {"intraNodeBusGBps": {"2": 2, "4": 2}, "allReduceLatencyUs": {"base": 100, "perDoubling": 100}},
}


@dataclass(frozen=True)
class Images:
    """Of one channel or several, from -1 to 1 [count, channels, side, side]; `patch`: pixels of its side."""

    name: str
    images: torch.Tensor
    labels: torch.Tensor
    test_images: torch.Tensor
    test_labels: torch.Tensor
    patch: int


@dataclass(frozen=True)
class Run:
    """`variant`: as `terapipe elastic --json` names what is switched on."""

    name: str
    alpha: Fraction
    variant: str


_third = Fraction(1, 3)
_runs = [
    Run("static", Fraction(0), "none"),
    Run("alpha 1/5", Fraction(1, 5), "all"),
    Run("alpha 1/3", _third, "all"),
    Run("alpha 1/2", Fraction(1, 2), "all"),
    Run("freezing only", _third, "freezing"),
    Run("shorter pipelines", _third, "pipe"),
    Run("shorter pipelines, cache", _third, "pipe-cache"),
    Run("shorter pipelines, replicas", _third, "pipe-dp"),
]
_mechanisms = {
    "none": (True, True, True),
    "all": (True, True, True),
    "freezing": (False, False, False),
    "pipe": (True, False, False),
    "pipe-cache": (True, False, True),
    "pipe-dp": (True, True, False),
}


def main(arguments: list[str]) -> int:
    """Measures, plans, writes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", metavar="FILE", help="write what was measured and planned there")
    parser.add_argument("--cifar", metavar="DIR", help="CIFAR-10, binary version: data_batch_1.bin to data_batch_5.bin, test_batch.bin")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--repeat", type=int, default=1, help="of the times of an epoch the least of this many runs counts")
    parser.add_argument("--keep", metavar="DIR", help="keep configs and logs there")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(options.keep or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        found = _digits() if options.cifar is None else _cifar(Path(options.cifar))
        torch.save({"images": found.images, "labels": found.labels}, folder / "train.pt")
        torch.save({"images": found.test_images, "labels": found.test_labels}, folder / "test.pt")
        _write_config(folder, found, options.epochs, [])
        measured = [_measured(folder, run, options.repeat) for run in _runs]
        rate = _steady_rate(measured[0])
        _write_config(folder, found, options.epochs, [[0, _length, rate]])
        processor = statistics.median(each["processorMs"] for each in measured[0])
        runs = [_joined(folder, run, epochs, processor) for run, epochs in zip(_runs, measured, strict=True)]
    result = {
        "task": found.name,
        "machine": f"{device_name(torch.device('cpu'))}, {os.cpu_count()} cores",
        "torch": torch.__version__,
        "date": datetime.date.today().isoformat(),
        "samples": len(found.labels),
        "testSamples": len(found.test_labels),
        "layers": _layers,
        "batch": _batch,
        "staticSamplesPerSecond": rate,
        "runs": runs,
    }
    if options.out is not None:
        Path(options.out).parent.mkdir(parents=True, exist_ok=True)
        Path(options.out).write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return 0


def _digits() -> Images:
    """1,437 and 360 of the 1,797 images of 8 x 8 that scikit-learn comes with."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise SystemExit("install scikit-learn, or give --cifar DIR") from None
    data = load_digits()
    order = torch.randperm(len(data.target), generator=torch.Generator().manual_seed(1))
    images, labels = torch.tensor(data.images, dtype=torch.float32)[order].unsqueeze(1) / 8 - 1, torch.tensor(data.target)[order]
    return Images("digits", images[:1437], labels[:1437], images[1437:], labels[1437:], 2)


def _cifar(folder: Path) -> Images:
    def read(*names: str) -> tuple[torch.Tensor, torch.Tensor]:
        data = torch.cat([torch.frombuffer(bytearray((folder / name).read_bytes()), dtype=torch.uint8).view(-1, 3073) for name in names])
        return data[:, 1:].view(-1, 3, 32, 32).float() / 127.5 - 1, data[:, 0].long()

    return Images("CIFAR-10", *read(*(f"data_batch_{number}.bin" for number in range(1, 6))), *read("test_batch.bin"), 4)


def _write_config(folder: Path, found: Images, epochs: int, throughputs: list[list[float]]) -> None:
    _, channels, side, _ = found.images.shape
    model = {
        "architectures": ["ViTForImageClassification"],
        "model_type": "vit",
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_attention_heads": 4,
        "num_hidden_layers": _layers,
        "image_size": side,
        "patch_size": found.patch,
        "num_channels": channels,
        "qkv_bias": True,
        "initializer_range": 0.1,
        "id2label": {str(label): str(label) for label in range(10)},
    }
    elastic = {
        "epochs": epochs,
        "datasetSize": len(found.labels),
        "evaluationSamples": len(found.test_labels),
        "batch": _batch,
        "batchScaling": "kept",
        "microBatches": _micro_batches,
        "pipelineLength": _length,
        "balance": "parameters",
        "transitionSeconds": 0.1,
        **({"throughputs": throughputs} if throughputs else {}),
    }
    training = {"precision": "fp32", "attention": "unfused", "dropout": False}
    document = {"model": "config.json", "cluster": _cluster, "training": training, "elastic": elastic}
    (folder / "config.json").write_text(json.dumps(model), encoding="utf-8")
    (folder / "terapipe.json").write_text(json.dumps(document), encoding="utf-8")


def _measured(folder: Path, run: Run, repeat: int) -> list[dict[str, Any]]:
    """The epochs of a run: of each time the least."""
    elastic = _exported(folder, run)
    slug = run.name.replace(",", "").replace(" ", "-").replace("/", "-")
    file = folder / "run" / f"{slug}.json"
    file.write_text(json.dumps(elastic), encoding="utf-8")
    logs = []
    for number in range(repeat):
        log = folder / f"{slug}-{number}.jsonl"
        log.unlink(missing_ok=True)
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(_length)]
        data = ["--data", str(folder / "train.pt"), "--evaluate", str(folder / "test.pt"), "--epochs-log", str(log)]
        _call([*command, str(folder / "run/train.py"), str(file), "--device", "cpu", *data])
        logs.append([json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()])
    names = ("trainMs", "transitionMs", "evaluationMs", "processorMs")
    epochs = [same[0] | {name: min(each[name] for each in same) for name in names} for same in zip(*logs, strict=True)]
    total = sum(_epoch_ms(each) for each in epochs) / 1e3
    print(f"{run.name:28} {total:7.1f} s, accuracy {epochs[-1]['accuracy']:.1%}", flush=True)
    return epochs


def _exported(folder: Path, run: Run) -> dict[str, Any]:
    """
    What is planned by epoch, with as many micro-batches as stages: here small ones cost more than bubbles. Runs with fewer mechanisms
    freeze by the rule, in the same epochs.
    """
    command = ["node", str(ROOT / "dist/cli.js"), "export", str(folder / "terapipe.json"), "--to", "torchrun", "--out", str(folder / "run")]
    _call([*command, "--write", "--set", f"elastic.alpha={float(run.alpha) or float(_third)}"])
    elastic = json.loads((folder / "run/elastic.json").read_text(encoding="utf-8"))
    elastic["training"] |= _training
    elastic["model"]["details"] = {**elastic["model"].get("details", {}), "initStd": 0.1}
    elastic["freezing"] = {"rule": "alpha", "alpha": float(run.alpha), "frozenLayers": []}
    elastic["mechanisms"] = dict(zip(("pipe", "replicas", "cache"), _mechanisms[run.variant], strict=True))
    for epoch in elastic["planned"]:
        epoch["microBatches"] = epoch["pipelineLength"]
    if run.variant not in ("all", "pipe-dp"):
        elastic["planned"] = []
    return elastic


def _epoch_ms(epoch: dict[str, Any]) -> float:
    return epoch["trainMs"] + epoch["transitionMs"] + epoch["evaluationMs"]


def _steady_rate(epochs: Sequence[dict[str, Any]]) -> float:
    """Samples a second of the static run, without its first epoch: PyTorch imports parts of itself in the first step."""
    later = [each["trainMs"] for each in epochs[1:]]
    return epochs[0]["steps"] * _batch / (statistics.median(later) / 1e3)


def _joined(folder: Path, run: Run, epochs: list[dict[str, Any]], processor: float) -> dict[str, Any]:
    """
    Measured, and planned from the rate of the static run. `plannedWorkMs`: what its `processor` time of an epoch, ms of all processes
    together, becomes with the time that GPUs compute in the plan. The planner lists that for runs with all mechanisms.
    """
    alpha = float(run.alpha) or float(_third)
    command = ["node", str(ROOT / "dist/cli.js"), "elastic", str(folder / "terapipe.json"), "--json", "--set", f"elastic.alpha={alpha}"]
    plan = json.loads(_call(command))
    (planned,) = (each["epochMs"] for each in plan["variants"] if each["id"] == run.variant)
    static, *_ = work = [_work(each) for each in plan["epochs"]]
    known = {"none": [static] * len(epochs), "all": work}.get(run.variant)
    names = ("epoch", "frozenLayers", "pipelineLength", "replicas", "loss", "accuracy", "processorMs")
    rows = [
        {name: each[name] for name in names}
        | {"cache": each["cache"], "epochMs": _epoch_ms(each), "plannedMs": expected}
        | ({} if known is None else {"plannedWorkMs": processor * known[number] / static})
        for number, (each, expected) in enumerate(zip(epochs, planned, strict=True))
    ]
    return {"name": run.name, "alpha": str(run.alpha), "variant": run.variant, "epochs": rows}


def _work(epoch: dict[str, Any]) -> float:
    """Of all GPUs in an epoch, ms, without what they wait."""
    busy = epoch["pipelineMs"] * (1 - epoch["bubbleRate"]) + epoch["allReduceMs"] + epoch["optimizerMs"]
    return epoch["steps"] * epoch["replicas"] * (epoch["frozenMs"] + epoch["pipelineLength"] * busy)


def _call(command: list[str]) -> str:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=_seconds)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""`--profile`: what a plan is made of, measured where it trains. `terapipe plan FILE --profile` reads it."""

from __future__ import annotations

import datetime
import json
import platform
import statistics
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from terapipe_torch.data import SyntheticTokens
from terapipe_torch.launch import device_memory, device_name
from terapipe_torch.loop import DTYPES, Pipeline
from terapipe_torch.mesh import Mesh
from terapipe_torch.model.spec import ModelSpec
from terapipe_torch.optimizer import stage_squares
from terapipe_torch.plan import Plan, StageLayers
from terapipe_torch.profile_cells import Cell, cells_of
from terapipe_torch.profile_links import collective_times, send_times
from terapipe_torch.profile_passes import Part, pass_times, samples
from terapipe_torch.stopwatch import Stopwatch, spread
from terapipe_torch.training import Trainer

VERSION = 1
_optimizer_rounds = 8
_sweeps = 2
# of each part, which take turns
_copies = 2
# median wall over processor time of a pass above which the profile has a warning
_busy = 1.1


def profile(plan: Plan, mesh: Mesh, path: str) -> None:
    """Every rank calls it and measures its share of the slices; rank 0 writes the file."""
    watch = Stopwatch(mesh.device)
    optimizer = _optimizer_times(plan, mesh, watch)
    hosts: list[str] = [""] * dist.get_world_size()
    dist.all_gather_object(hosts, platform.node())
    sends, collectives = send_times(mesh, hosts), collective_times(mesh, hosts)
    dist.barrier()
    parts = {name: pass_times(copies, cells, watch) for name, copies, cells in _shares(plan, mesh)}
    waited = statistics.median(watch.waited) if watch.waited else 1.0
    mine = {"optimizer": optimizer, "sends": sends, "collectives": collectives, "parts": parts, "waited": waited}
    ranks: list[Any] | None = [None] * dist.get_world_size() if mesh.rank == 0 else None
    dist.gather_object(mine, ranks)
    if ranks is not None:
        Path(path).write_text(_text(_document(plan, mesh, ranks)), encoding="utf-8")


def layer_kinds(model: ModelSpec) -> dict[int, int]:
    """The first layer of each kind, and how many there are of it."""
    first: dict[Any, int] = {}
    counts: dict[int, int] = {}
    for layer in range(model.layers):
        number = first.setdefault((model.kind_of(layer), model.ffn_of(layer)), layer)
        counts[number] = counts.get(number, 0) + 1
    return counts


def _shares(plan: Plan, mesh: Mesh) -> list[tuple[str, tuple[Part, ...], list[Cell]]]:
    """All parts in copies that take turns, and the cells of each that this rank measures."""
    cells = cells_of(plan)
    ends = list(dict.fromkeys(Cell(each.batch, each.tokens, 0) for each in cells))
    dtype = DTYPES[plan.training.precision]
    wanted = [(f"layer {layer}", StageLayers(0, layer, 1), cells) for layer in layer_kinds(plan.model)]
    wanted += [("embedding", StageLayers(0, 0, 0, embedding=True), ends), ("head", StageLayers(0, 0, 0, head=True), ends)]
    world = dist.get_world_size()
    return [
        (name, tuple(Part(plan, mesh, dtype, part) for _ in range(_copies)), cells_of_rank(all_cells, mesh.rank, world))
        for name, part, all_cells in wanted
    ]


def cells_of_rank(cells: list[Cell], rank: int, ranks: int) -> list[Cell]:
    """One of every N with N ranks; in the second sweep those of the next rank, as ranks differ in speed."""
    return [cell for sweep in range(_sweeps) for cell in cells[(rank + sweep) % ranks :: ranks]]


def _optimizer_times(plan: Plan, mesh: Mesh, watch: Stopwatch) -> dict[str, Any]:
    """Zeroing of the gradients and the step of this rank's own parameters, after one training step."""
    pipeline = Pipeline(plan, mesh)
    source = SyntheticTokens(plan.model.vocab, plan.training.sequence_length, plan.training.seed)
    trainer = Trainer(pipeline, source, 1)
    trainer.step()
    times: list[float] = []
    for number in range(_optimizer_rounds + 2):
        norm = stage_squares(pipeline.gradients, mesh).sum().sqrt()
        # sums over replicas are measured apart
        ms = watch.ms(lambda: trainer.optimizer.step(norm)) + watch.ms(pipeline.zero_gradients)  # noqa: B023
        if number >= 2:
            times.append(ms)
    parameters = list(pipeline.parameters().values())
    return {"rank": mesh.rank, "parameters": sum(each.numel() for each in parameters), "tensors": len(parameters), **spread(times)}


def _document(plan: Plan, mesh: Mesh, ranks: list[dict[str, Any]]) -> dict[str, Any]:
    def of(name: str) -> list[dict[str, Any]]:
        return samples([rank["parts"][name] for rank in ranks])

    model, waited = plan.model, statistics.median(rank["waited"] for rank in ranks)
    layers = [{"layer": layer, "count": count, "samples": of(f"layer {layer}")} for layer, count in layer_kinds(model).items()]
    busy = f"passes took {waited:.2f} times their processor time: something else used the machine"
    return {
        "kind": "terapipe-torch-profile",
        "version": VERSION,
        "measuredAt": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "title": plan.title,
        "device": {
            "kind": "gpu" if mesh.device.type == "cuda" else "cpu",
            "name": device_name(mesh.device),
            "memoryBytes": device_memory(mesh.device),
        },
        "versions": {"torch": torch.__version__, "python": platform.python_version(), "os": platform.platform()},
        "backend": dist.get_backend(),
        "threads": None if mesh.device.type == "cuda" else torch.get_num_threads(),
        "precision": plan.training.precision,
        "sequenceLength": plan.training.sequence_length,
        "tensor": plan.layout.tensor,
        "shape": _shape(plan),
        "attention": "scaled_dot_product_attention",
        "layers": layers,
        "embedding": of("embedding"),
        "head": of("head"),
        "optimizer": {"sharded": plan.layout.zero_stage > 0, "ranks": [rank["optimizer"] for rank in ranks]},
        "sends": [each for rank in ranks for each in rank["sends"]],
        "collectives": [each for rank in ranks for each in rank["collectives"]],
        "waited": round(waited, 4),
        "warnings": [busy] if waited > _busy else [],
    }


def _shape(plan: Plan) -> dict[str, Any]:
    """The layer as one rank holds it, as TeraPipe's profiles name it; `vocab` is the model's."""
    model, tensor = plan.model, plan.layout.tensor
    experts = None if model.experts is None else {"count": model.experts.count, "active": model.experts.active}
    return {
        "hidden": model.hidden,
        "heads": model.heads // tensor,
        "kvHeads": max(1, model.kv_heads // tensor),
        "headDim": model.head_dim,
        "ffn": model.ffn // tensor,
        "gatedMlp": model.gated_mlp,
        "norm": model.norm,
        "rotary": model.positions == "rotary",
        "qkvBias": model.qkv_bias,
        "attentionOutputBias": model.attention_output_bias,
        "mlpBias": model.mlp_bias,
        "qkNorm": model.qk_norm,
        "experts": experts,
        "vocab": model.vocab,
        "learnedPositions": model.positions == "learned",
    }


def _text(document: dict[str, Any]) -> str:
    """JSON with a line for each sample."""
    lists = {"layers", "embedding", "head", "sends", "collectives"}
    lines = [f'  "{key}": {json.dumps(value)}' for key, value in document.items() if key not in lists]
    for key in ("embedding", "head", "sends", "collectives"):
        lines.append(f'  "{key}": {_rows(document[key], 4)}')
    kinds = [
        f'    {{"layer": {each["layer"]}, "count": {each["count"]}, "samples": {_rows(each["samples"], 6)}}}' for each in document["layers"]
    ]
    lines.append('  "layers": [\n' + ",\n".join(kinds) + "\n  ]")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _rows(items: list[dict[str, Any]], indent: int) -> str:
    if not items:
        return "[]"
    return "[\n" + ",\n".join(" " * indent + json.dumps(each) for each in items) + "\n" + " " * (indent - 2) + "]"

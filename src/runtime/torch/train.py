"""Trains a plan of TeraPipe: torchrun --nproc-per-node N train.py plan.json [options]."""

from __future__ import annotations

import argparse
import contextlib
import sys
import time

import torch
import torch.distributed as dist
from terapipe_torch.check import LIMIT, check_step, in_fp32
from terapipe_torch.collectives import all_reduce
from terapipe_torch.data import SyntheticTokens
from terapipe_torch.errors import CheckFailed, RuntimeRefusal
from terapipe_torch.launch import agree, start
from terapipe_torch.loop import Pipeline, valid_labels
from terapipe_torch.mesh import Mesh, make_mesh
from terapipe_torch.model.refusals import untrained
from terapipe_torch.optimizer import Optimizer, gradient_norm
from terapipe_torch.plan import Plan, load_plan, with_training
from terapipe_torch.trace import Trace
from terapipe_torch.weights.load import Weights
from terapipe_torch.weights.save import save_weights


def main(arguments: list[str]) -> int:
    """Exit status: 0, 1 for a failed check, 2 for what a person must change."""
    options = _parser().parse_args(arguments)
    try:
        _run(options)
    except RuntimeRefusal as error:
        print(f"terapipe: {error}", file=sys.stderr)
        return 2
    except CheckFailed as error:
        print(f"terapipe: {error}", file=sys.stderr)
        return 1
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plan")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--check", action="store_true", help="one step in fp32 against the whole model")
    parser.add_argument("--weights", metavar="DIR", help="start from safetensors with Hugging Face's names")
    parser.add_argument("--save", metavar="DIR", help="write the trained weights there, in the same format")
    parser.add_argument("--precision", choices=("fp32", "bf16", "fp16"))
    parser.add_argument("--seed", type=int)
    parser.add_argument("--trace", metavar="FILE", help="write every operation of every rank as a Chrome trace")
    parser.add_argument("--device", choices=("cpu", "cuda"))
    return parser


def _run(options: argparse.Namespace) -> None:
    plan = load_plan(options.plan)
    if options.precision is not None:
        plan = with_training(plan, precision=options.precision)
    if options.seed is not None:
        plan = with_training(plan, seed=options.seed)
    device = start(options.device)
    agree(plan.digest)
    mesh = make_mesh(plan.layout, device)
    if mesh.rank == 0:
        for each in untrained(plan.model):
            print(f"not trained: {each}", flush=True)
    if options.check:
        _check(in_fp32(plan), mesh, options.weights)
    else:
        _train(plan, mesh, options)


def _source(plan: Plan) -> SyntheticTokens:
    return SyntheticTokens(plan.model.vocab, plan.training.sequence_length, plan.training.seed)


def _weights(plan: Plan, folder: str | None) -> Weights | None:
    return None if folder is None else Weights(folder, plan.model)


def _check(plan: Plan, mesh: Mesh, folder: str | None) -> None:
    pipeline, source = Pipeline(plan, mesh, _weights(plan, folder)), _source(plan)
    tokens = source.batch(0, mesh.dp.index * plan.replica_batch, plan.replica_batch)
    result = check_step(pipeline, tokens, source.batch(0, 0, plan.replica_batch * mesh.dp.size))
    say = (
        f"loss {result.loss:.7f}, of the whole model {result.whole_loss:.7f}; "
        f"largest difference of a gradient {result.worst:.1e} of the largest one"
    )
    if not result.passed:
        raise CheckFailed(f"{say} (limit {LIMIT:.0e}){' in ' + result.where if result.where else ''}")
    if mesh.rank == 0:
        print(say, flush=True)


def _train(plan: Plan, mesh: Mesh, options: argparse.Namespace) -> None:
    pipeline, source = Pipeline(plan, mesh, _weights(plan, options.weights)), _source(plan)
    optimizer = Optimizer(pipeline.gradients, plan.training)
    trace = Trace(options.trace, options.steps, pipeline, optimizer) if options.trace else None
    for step in range(options.steps):
        with trace.step(step) if trace is not None else contextlib.nullcontext():
            _step(pipeline, optimizer, source, step)
    if trace is not None:
        trace.write()
    if options.save is not None:
        save_weights(pipeline.stages.values(), plan.model, mesh, options.save, options.weights)


def _step(pipeline: Pipeline, optimizer: Optimizer, source: SyntheticTokens, step: int) -> None:
    plan, mesh, recorder = pipeline.plan, pipeline.mesh, pipeline.recorder
    begin = time.perf_counter()
    tokens = source.batch(step, mesh.dp.index * plan.replica_batch, plan.replica_batch)
    pipeline.zero_gradients()
    loss = pipeline.run(tokens, valid_labels(tokens, mesh))
    with recorder.operation("reduce", "reduce"):
        pipeline.reduce_gradients()
    with recorder.operation("norm", "reduce"):
        norm = gradient_norm(pipeline.gradients, mesh)
    with recorder.operation("optimizer", "optimizer"):
        optimizer.step(norm)
    total = all_reduce(torch.tensor(loss, device=mesh.device), mesh.world).item() / mesh.tp.size
    seconds = time.perf_counter() - begin
    if mesh.rank == 0:
        rate = plan.replica_batch * mesh.dp.size * plan.training.sequence_length / seconds
        what = f"loss {total:.5f}, gradient norm {norm.item():.4f}"
        print(f"step {step}: {what}, {seconds * 1e3:.0f} ms, {rate:,.0f} tokens/s", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""
Trains a plan of TeraPipe, or elastic.json, a run that freezes layers. `python train.py plan.json` starts all its
processes on this machine; on several, `torchrun --nproc-per-node N ... train.py plan.json` starts them.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from terapipe_torch.check import LIMIT, check_step, in_fp32
from terapipe_torch.checkpoint import is_unsaved, load_checkpoint, save_checkpoint
from terapipe_torch.data import FileTokens, SyntheticTokens, TokenSource
from terapipe_torch.elastic.plan import ElasticPlan, is_elastic, load_elastic
from terapipe_torch.elastic.run import ElasticOptions, ElasticRun
from terapipe_torch.elastic.samples import samples_of
from terapipe_torch.errors import CheckFailed, RuntimeRefusal
from terapipe_torch.failure import end, refuse
from terapipe_torch.launch import agree, is_started, require_torch, start
from terapipe_torch.loop import Pipeline
from terapipe_torch.mesh import Mesh, make_mesh
from terapipe_torch.model.refusals import untrained
from terapipe_torch.plan import Plan, load_plan, with_training
from terapipe_torch.profile import profile
from terapipe_torch.pytorch_schedule import PyTorchPipeline
from terapipe_torch.start_here import start_here
from terapipe_torch.trace import Trace
from terapipe_torch.training import Trainer
from terapipe_torch.waiting import limit, set_limit
from terapipe_torch.weights.load import Weights
from terapipe_torch.weights.save import save_weights


def main(arguments: list[str]) -> int:
    """Exit status: 0, 1 for a failed check or run, 2 for what a person must change."""
    options = _parser().parse_args(arguments)
    set_limit(options.timeout)
    try:
        require_torch()
        if not is_started():
            world = _elastic(options).world if is_elastic(options.plan) else _plan(options).layout.world
            on_gpus = options.device != "cpu" and torch.cuda.is_available()
            return start_here(world, on_gpus, str(Path(__file__).resolve()), arguments)
    except RuntimeRefusal as error:
        return refuse(error)
    try:
        _run_elastic(options) if is_elastic(options.plan) else _run(options)
    except Exception as error:
        end(error)
    dist.destroy_process_group()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("plan")
    parser.add_argument("--steps", type=int, default=10, help="where the run ends, counted from its first start")
    parser.add_argument("--check", action="store_true", help="one step in fp32 against the whole model")
    parser.add_argument("--weights", metavar="DIR", help="start from safetensors with Hugging Face's names")
    parser.add_argument("--save", metavar="DIR", help="write the trained weights there, in the same format")
    parser.add_argument("--save-every", type=int, metavar="N", help="write a checkpoint into the folder of --save every N steps")
    parser.add_argument(
        "--resume",
        metavar="DIR",
        help="continue from the newest checkpoint in there, of any layout; from the start if --save is the same folder and has none",
    )
    parser.add_argument("--data", metavar="FILE", help="tokens: .bin (16 or 32 bits each) or .npy; random ones without it")
    parser.add_argument("--log", metavar="FILE", help="add a line of JSON for each step")
    parser.add_argument("--precision", choices=("fp32", "bf16", "fp16"))
    parser.add_argument("--seed", type=int)
    parser.add_argument("--pytorch-schedule", action="store_true", help="run whole sequences by torch.distributed.pipelining, to compare")
    parser.add_argument("--trace", metavar="FILE", help="write every operation of every rank as a Chrome trace")
    parser.add_argument("--profile", metavar="FILE", help="measure layers, links and optimizer for terapipe plan --profile")
    parser.add_argument("--evaluate", metavar="FILE", help="elastic.json: data that is evaluated on after each epoch")
    parser.add_argument(
        "--epochs-log", metavar="FILE", help="elastic.json: add a line of JSON for each epoch, with its decisions and norms"
    )
    parser.add_argument("--cache", metavar="DIR", help="elastic.json: disk for outputs of frozen layers that memory does not hold")
    parser.add_argument("--by-rule", action="store_true", help="elastic.json: freeze by its rule as the run goes, not as planned")
    parser.add_argument(
        "--timeout",
        type=_seconds,
        default=limit().total_seconds(),
        metavar="SECONDS",
        help="how long a rank waits for another (%(default)g)",
    )
    parser.add_argument("--device", choices=("cpu", "cuda"))
    return parser


def _seconds(text: str) -> float:
    with contextlib.suppress(ValueError):
        if 0 < float(text) < 1e8:
            return float(text)
    raise argparse.ArgumentTypeError(f"{text} is not a number of seconds")


def _plan(options: argparse.Namespace) -> Plan:
    if options.save_every is not None and (options.save is None or options.save_every < 1):
        raise RuntimeRefusal("--save-every needs a number of steps from 1 and --save DIR")
    plan = load_plan(options.plan)
    given = {name: getattr(options, name) for name in ("precision", "seed") if getattr(options, name) is not None}
    return with_training(plan, **given)


def _elastic(options: argparse.Namespace) -> ElasticPlan:
    other = [name for name in ("check", "profile", "trace", "pytorch_schedule") if getattr(options, name)]
    if other:
        raise RuntimeRefusal(f"--{other[0].replace('_', '-')} is of plans that do not freeze layers")
    if options.save_every is not None and (options.save is None or options.save_every < 1):
        raise RuntimeRefusal("--save-every needs a number of steps from 1 and --save DIR")
    plan = load_elastic(options.plan)
    if options.by_rule:
        plan = dataclasses.replace(plan, planned=())
    given = {name: getattr(options, name) for name in ("precision", "seed") if getattr(options, name) is not None}
    return dataclasses.replace(plan, training=dataclasses.replace(plan.training, **given))


def _run_elastic(options: argparse.Namespace) -> None:
    plan, device = _elastic(options), start(options.device)
    agree(
        " ".join([plan.digest, *(str(getattr(options, name)) for name in ("precision", "seed", "save_every", "save", "resume", "by_rule"))])
    )
    samples = samples_of(options.data, plan.model, plan.training, plan.samples)
    evaluation = None if options.evaluate is None else samples_of(options.evaluate, plan.model, plan.training, None)
    files = {name: getattr(options, name) for name in ("save", "save_every", "resume", "log", "epochs_log", "cache", "weights")}
    run = ElasticRun(plan, samples, evaluation, device, ElasticOptions(**files))
    run.train()
    trainer = run.trainer
    if trainer is not None and options.save is not None and plan.model.patch_width is None:
        save_weights(trainer.pipeline.stages.values(), plan.model, trainer.mesh, options.save, options.weights)


def _run(options: argparse.Namespace) -> None:
    plan = _plan(options)
    device = start(options.device)
    same = [
        str(getattr(options, name))
        for name in ("steps", "check", "precision", "seed", "save_every", "trace", "resume", "profile", "pytorch_schedule")
    ]
    agree(" ".join([plan.digest, *same]))
    mesh = make_mesh(plan.layout, device)
    if mesh.rank == 0:
        for each in untrained(plan.model):
            print(f"not trained: {each}", flush=True)
    if options.check:
        _check(in_fp32(plan), mesh, options)
    elif options.profile:
        profile(plan, mesh, options.profile)
    else:
        _train(plan, mesh, options)


def _source(plan: Plan, mesh: Mesh, data: str | None) -> TokenSource:
    vocab, length, seed = plan.model.vocab, plan.training.sequence_length, plan.training.seed
    if data is None:
        return SyntheticTokens(vocab, length, seed)
    return FileTokens(data, vocab, length, seed, plan.replica_batch * mesh.dp.size)


def _pipeline(plan: Plan, mesh: Mesh, options: argparse.Namespace) -> Pipeline:
    weights = None if options.weights is None else Weights(options.weights, plan.model)
    if options.pytorch_schedule:
        return PyTorchPipeline(plan, mesh, weights)
    return Pipeline(plan, mesh, weights)


def _check(plan: Plan, mesh: Mesh, options: argparse.Namespace) -> None:
    pipeline, source = _pipeline(plan, mesh, options), _source(plan, mesh, options.data)
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
    pipeline = _pipeline(plan, mesh, options)
    trainer = Trainer(pipeline, _source(plan, mesh, options.data), options.steps, options.log)
    if options.resume is not None and not is_unsaved(options.resume, options.save):
        load_checkpoint(trainer, options.resume)
    trace = Trace(options.trace, options.steps - trainer.next_step, pipeline, trainer.optimizer) if options.trace else None
    for number in range(options.steps - trainer.next_step):
        with trace.step(number) if trace is not None else contextlib.nullcontext():
            trainer.step()
        if options.save_every is not None and trainer.next_step % options.save_every == 0:
            save_checkpoint(trainer, options.save)
    if trace is not None:
        trace.write()
    if options.save is not None:
        with pipeline.gradients.whole_weights():
            save_weights(pipeline.stages.values(), plan.model, mesh, options.save, options.weights)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

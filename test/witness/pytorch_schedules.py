"""Loads schedules in PyTorch's CSV with the PyTorch at hand and runs them: on every rank the gradients have to be those of the whole model.

    python test/witness/pytorch_schedules.py FOLDER

FOLDER holds the files; `test/witness/schedules.ts` writes them and runs this. Files that end in `.comms.csv` are loaded as `compute_comms`,
others as `compute_only`. Prints a line of JSON for each: {"file", "ok", "why"}. Ranks are processes on this machine (gloo), a stage is a
small layer.
"""

import json
import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.pipelining import PipelineStage
from torch.distributed.pipelining.schedules import _Action, _PipelineScheduleRuntime

WIDTH = 4
PASSES = {"F", "B", "I", "W"}


def cells_of(path):
    return [[_Action.from_str(cell) for cell in line.split(",")] for line in Path(path).read_text().splitlines()]


def shape_of(path):
    """The stages of each rank, and the number of micro-batches."""
    rows = cells_of(path)
    leaves = [[leaf for cell in row if cell is not None for leaf in (cell.sub_actions or (cell,))] for row in rows]
    passes = [[leaf for leaf in row if leaf.computation_type.value in PASSES] for row in leaves]
    stages = [sorted({leaf.stage_index for leaf in row}) for row in passes]
    return stages, 1 + max(leaf.microbatch_index for row in passes for leaf in row)


def layer_of(stage):
    torch.manual_seed(stage)
    return torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.Tanh())


def loss_of(output, target):
    return ((output - target) ** 2).sum()


def expected_gradients(stages, inputs, targets):
    layers = [layer_of(stage) for stage in range(stages)]
    hidden = inputs
    for layer in layers:
        hidden = layer(hidden)
    loss_of(hidden, targets).backward()
    return [[parameter.grad for parameter in layer.parameters()] for layer in layers]


def run(rank, path):
    of_rank, micro_batches = shape_of(path)
    count = 1 + max(stage for row in of_rank for stage in row)
    torch.manual_seed(1000)
    inputs, targets = torch.randn(micro_batches, WIDTH), torch.randn(micro_batches, WIDTH)
    layers = {stage: layer_of(stage) for stage in of_rank[rank]}
    stages = [PipelineStage(layer, stage, count, torch.device("cpu")) for stage, layer in layers.items()]
    schedule = _PipelineScheduleRuntime(stages, micro_batches, loss_fn=loss_of, scale_grads=False)
    schedule._load_csv(str(path), format="compute_comms" if path.name.endswith(".comms.csv") else "compute_only")
    first, last = 0 in layers, count - 1 in layers
    schedule.step(*([inputs] if first else []), **({"target": targets} if last else {}))
    expected = expected_gradients(count, inputs, targets)
    for stage, layer in layers.items():
        for parameter, gradient in zip(layer.parameters(), expected[stage]):
            torch.testing.assert_close(parameter.grad, gradient, rtol=1e-4, atol=1e-5)


def one(rank, ranks, path, port, answers):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    try:
        dist.init_process_group("gloo", rank=rank, world_size=ranks)
        run(rank, path)
        answers.put((rank, ""))
    except Exception as error:  # what a rank refuses is the answer
        answers.put((rank, f"rank {rank}: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"))
    answers.close()
    answers.join_thread()
    os._exit(0)


def judged(path, port, seconds):
    try:
        ranks = len(shape_of(path)[0])
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    context = mp.get_context("fork")
    answers = context.Queue()
    workers = [context.Process(target=one, args=(rank, ranks, path, port, answers)) for rank in range(ranks)]
    for worker in workers:
        worker.start()
    why = ""
    try:
        for _ in workers:
            why = why or answers.get(timeout=seconds)[1]
            if why:
                break
    except Exception:
        why = f"not done after {seconds} s"
    for worker in workers:
        worker.kill()
        worker.join()
    return why


def main():
    folder = Path(sys.argv[1])
    failed = 0
    for index, path in enumerate(sorted(folder.glob("*.csv"))):
        why = judged(path, 29600 + index, 60)
        failed += why != ""
        print(json.dumps({"file": path.name, "ok": why == "", "why": why}), flush=True)
    print(f"torch {torch.__version__}: {failed} refused or wrong", file=sys.stderr)


if __name__ == "__main__":
    main()

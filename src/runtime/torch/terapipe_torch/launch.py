"""torch.distributed from the variables that torchrun or srun set."""

from __future__ import annotations

import contextlib
import os
import platform
import signal
from pathlib import Path

import torch
import torch.distributed as dist

from terapipe_torch.errors import RuntimeRefusal
from terapipe_torch.failure import use_store
from terapipe_torch.waiting import end_with_parent, limit

_oldest = (2, 6)


def require_torch() -> None:
    """Raises RuntimeRefusal where PyTorch is older than what the package was written for."""
    version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    if version < _oldest:
        raise RuntimeRefusal(f"PyTorch {torch.__version__} is too old: install {'.'.join(map(str, _oldest))} or newer")


def is_started() -> bool:
    """Whether torchrun or srun started this process as one of several; of srun's variables, sets those that torch reads."""
    _translate_slurm_variables()
    if "RANK" not in os.environ and int(os.environ.get("SLURM_NTASKS", "1")) > 1 and "SLURM_PROCID" in os.environ:
        raise RuntimeRefusal("srun started several tasks, but MASTER_ADDR and MASTER_PORT are not set")
    return "RANK" in os.environ


def start(device: str | None = None) -> torch.device:
    """Joins the process group, with NCCL on GPUs and gloo on CPUs; returns this rank's device. Raises RuntimeRefusal."""
    missing = [name for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT") if name not in os.environ]
    if missing:
        raise RuntimeRefusal(f"{', '.join(missing)} not set: start it with torchrun, as run.sh does")
    # a rank that waits in a collective could not run Python's handler
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if "TORCHELASTIC_RUN_ID" in os.environ:
        end_with_parent()
    chosen = _device(device)
    store, rank, world = next(dist.rendezvous("env://", timeout=limit()))
    store.set_timeout(limit())
    use_store(store)
    bound = {"device_id": chosen} if chosen.type == "cuda" else {}
    dist.init_process_group("nccl" if bound else "gloo", store=store, rank=rank, world_size=world, timeout=limit(), **bound)
    return chosen


def ranks_here() -> int:
    """Processes of the run on this machine; 1 where the launcher does not give it."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", os.environ.get("SLURM_NTASKS_PER_NODE", "1")))


def _device(wanted: str | None) -> torch.device:
    """The GPU of this process's number on this machine, else the CPU."""
    found = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if wanted == "cuda" and found == 0:
        raise RuntimeRefusal("--device cuda, but PyTorch finds no GPU")
    if wanted == "cpu" or found == 0:
        return torch.device("cpu")
    here = ranks_here()
    local = int(os.environ.get("LOCAL_RANK", "0"))
    if max(here, local + 1) > found:
        raise RuntimeRefusal(f"{max(here, local + 1)} processes on a machine with {found} GPUs: each needs its own")
    torch.cuda.set_device(local)
    return torch.device("cuda", local)


def _translate_slurm_variables() -> None:
    """srun with one task for each GPU sets no variable that torch reads."""
    for name, slurm in (("RANK", "SLURM_PROCID"), ("WORLD_SIZE", "SLURM_NTASKS"), ("LOCAL_RANK", "SLURM_LOCALID")):
        if name not in os.environ and slurm in os.environ and "MASTER_ADDR" in os.environ:
            os.environ[name] = os.environ[slurm]


def agree(digest: str) -> None:
    """Whether all ranks have the same plan and options: a receive of another size would abort the process. Raises RuntimeRefusal."""
    digests: list[str | None] = [None] * dist.get_world_size()
    dist.all_gather_object(digests, digest)
    if len(set(digests)) > 1:
        raise RuntimeRefusal("the ranks have different plans or options: copy one plan.json to all nodes")


def device_name(device: torch.device) -> str:
    """As the driver names a GPU; the CPU's model where the system gives it."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine() or "CPU"


def device_memory(device: torch.device) -> int | None:
    """Bytes of the GPU's memory, or of the machine's; None where the system does not give it."""
    if device.type == "cuda":
        return torch.cuda.get_device_properties(device).total_memory
    with contextlib.suppress(AttributeError, ValueError, OSError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return None

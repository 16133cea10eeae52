"""torch.distributed from the variables that torchrun or srun set."""

from __future__ import annotations

import datetime
import os

import torch
import torch.distributed as dist

from terapipe_torch.errors import RuntimeRefusal

_oldest = (2, 6)
_timeout = datetime.timedelta(minutes=10)


def require_torch() -> None:
    """Raises RuntimeRefusal where PyTorch is older than what the package was written for."""
    version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    if version < _oldest:
        raise RuntimeRefusal(f"PyTorch {torch.__version__} is too old: install 2.6 or newer")


def start(device: str | None = None) -> torch.device:
    """Joins the process group, with NCCL on GPUs and gloo on CPUs; returns this rank's device."""
    require_torch()
    _slurm_variables()
    missing = [name for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT") if name not in os.environ]
    if missing:
        raise RuntimeRefusal(f"{', '.join(missing)} not set: start it with torchrun, as run.sh does")
    local = int(os.environ.get("LOCAL_RANK", "0"))
    on_gpu = device != "cpu" and torch.cuda.is_available()
    if on_gpu and local >= torch.cuda.device_count():
        raise RuntimeRefusal(f"process {local} of this machine has no GPU: it has {torch.cuda.device_count()}")
    chosen = torch.device("cuda", local) if on_gpu else torch.device("cpu")
    if on_gpu:
        torch.cuda.set_device(chosen)
        dist.init_process_group("nccl", timeout=_timeout, device_id=chosen)
    else:
        dist.init_process_group("gloo", timeout=_timeout)
    return chosen


def _slurm_variables() -> None:
    """srun with one task for each GPU sets no variable that torch reads."""
    for name, slurm in (("RANK", "SLURM_PROCID"), ("WORLD_SIZE", "SLURM_NTASKS"), ("LOCAL_RANK", "SLURM_LOCALID")):
        if name not in os.environ and slurm in os.environ and "MASTER_ADDR" in os.environ:
            os.environ[name] = os.environ[slurm]


def agree(digest: str) -> None:
    """Whether all ranks read the same plan: a receive of another size would abort the process. Raises RuntimeRefusal."""
    digests: list[str | None] = [None] * dist.get_world_size()
    dist.all_gather_object(digests, digest)
    if len(set(digests)) > 1:
        raise RuntimeRefusal("the ranks read different plans: copy one plan.json to all nodes")

"""
TorchTitan's reader of TOML (`ConfigManager`, to 0.2.2) and the check of its sizes (`ParallelDims`).

Needs tyro from PyPI.
"""

import contextlib
import importlib
import json
import sys

from stand_in import PYTORCH, answers, stand_in_for

UNUSED = "torch triton tiktoken torchao torchdata datasets tokenizers safetensors tensorboard wandb einops numpy".split()


def manager_of(root):
    stand_in_for(UNUSED, PYTORCH)
    sys.path.insert(0, root)
    for name in ("torchtitan.config", "torchtitan.config_manager"):
        try:
            return importlib.import_module(name).ConfigManager
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
    raise SystemExit("no ConfigManager in these sources")


def sizes_of(config, world):
    """The sizes as `Trainer` passes them, by the names that this version has."""
    sizes = config.parallelism
    given = {
        "dp_replicate": sizes.data_parallel_replicate_degree,
        "dp_shard": sizes.data_parallel_shard_degree,
        "cp": sizes.context_parallel_degree,
        "tp": sizes.tensor_parallel_degree,
        "pp": sizes.pipeline_parallel_degree,
        "ep": getattr(sizes, "expert_parallel_degree", 1),
        "etp": getattr(sizes, "expert_tensor_parallel_degree", 1),
        "world_size": world,
        "enable_loss_parallel": True,
    }
    dims = importlib.import_module("torchtitan.distributed.parallel_dims").ParallelDims
    return dims(**{name: value for name, value in given.items() if name in dims.__dataclass_fields__})


def accept(manager, case):
    config = manager().parse_args([f"--job.config_file={case['file']}"])
    sizes_of(config, case["world"])


if __name__ == "__main__":
    with contextlib.redirect_stdout(sys.stderr):
        manager = manager_of(sys.argv[1])
    json.dump(answers(json.load(sys.stdin), lambda case: accept(manager, case)), sys.stdout)

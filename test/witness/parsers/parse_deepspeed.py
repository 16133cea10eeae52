"""
DeepSpeed's `DeepSpeedConfig`, which also divides the batch among the replicas.

Needs pydantic, hjson, py-cpuinfo, psutil, tqdm, msgpack and einops from PyPI.
"""

import contextlib
import importlib
import json
import sys
import types

from stand_in import PYTORCH, answers, stand_in_for

UNUSED = "torch triton".split()


def config_of(root):
    stand_in_for(UNUSED, PYTORCH)
    sys.path.insert(0, root)
    module = importlib.import_module("deepspeed.runtime.config")
    module.dist = types.SimpleNamespace(get_rank=lambda: 0)
    return module.DeepSpeedConfig


def accept(config, case):
    with open(case["file"]) as file:
        given = json.load(file)
    # The size of a sequence's group is up to the script.
    shared = case["context"] * given.get("pipeline", {}).get("stages", 1) * given.get("tensor_parallel", {}).get("autotp_size", 1)
    config(case["file"], types.SimpleNamespace(get_data_parallel_world_size=lambda: case["world"] // shared))


if __name__ == "__main__":
    with contextlib.redirect_stdout(sys.stderr):
        config = config_of(sys.argv[1])
    json.dump(answers(json.load(sys.stdin), lambda case: accept(config, case)), sys.stdout)

"""
The parser of Megatron-LM: its argparse, `validate_args`, and the configuration of the model that is made of the arguments.

Needs packaging and numpy from PyPI.
"""

import contextlib
import importlib
import json
import os
import sys
import types
import typing
import warnings

from stand_in import PYTORCH, Module, answers, stand_in_for

UNUSED = "torch six sentencepiece transformers tiktoken triton transformer_engine transformer_engine_torch".split()
ENVIRONMENT = dict(os.environ)


def arguments_of(root):
    """Its `arguments.py`, of a folder with its sources; stand-ins replace the packages that it imports and does not use."""
    stand_in_for(UNUSED, PYTORCH)
    if not hasattr(typing, "override"):
        typing.override = lambda method: method
    sys.path.insert(0, root)
    # Its own __init__ imports the whole training loop.
    training = Module("megatron.training")
    training.__path__ = [f"{root}/megatron/training"]
    sys.modules["megatron.training"] = training
    for name in ("torch.version", "torch.cuda", "torch.distributed"):
        importlib.import_module(name)
    return importlib.import_module("megatron.training.arguments")


def accept(arguments, case):
    sys.argv = [case["program"], *case["words"]]
    os.environ.clear()
    os.environ.update(ENVIRONMENT, **case["variables"], RANK="0", LOCAL_RANK="0", WORLD_SIZE=str(case["world"]))
    major, minor = case["capability"]
    cuda = sys.modules["torch.cuda"]
    cuda.get_device_capability = lambda *_: (major, minor)
    cuda.get_device_properties = lambda *_: types.SimpleNamespace(major=major, minor=minor, multi_processor_count=132)
    args = arguments.parse_args()
    # As pretrain_gpt.py and pretrain_mamba.py call it.
    args = arguments.validate_args(args, {"tokenizer_type": "GPT2BPETokenizer"}) or args
    arguments.core_transformer_config_from_args(args)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with contextlib.redirect_stdout(sys.stderr):
        arguments = arguments_of(sys.argv[1])
    json.dump(answers(json.load(sys.stdin), lambda case: accept(arguments, case)), sys.stdout)

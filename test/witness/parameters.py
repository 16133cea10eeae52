"""Counts the parameters of every generating model type of the installed transformers release on PyTorch's meta device.

A witness for our own counts, never a need of `npm test`. In an environment of its own, with torch and transformers from PyPI:

    python test/witness/parameters.py --out counts.json                # class defaults of every type
    python test/witness/parameters.py --configs FOLDER --out counts.json   # every config.json under a folder
    node --import tsx test/witness/parameters.ts counts.json           # the table: theirs, ours, exact, off by, refused

No weights are made or fetched: tensors on the meta device have a shape and nothing else.
"""

import argparse
import json
import pathlib
import re
import sys

import torch
import transformers
from transformers.models.auto import modeling_auto
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

# In this order: an encoder-decoder, a decoder, a language model with something in front of it.
MAPPINGS = (
    modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING,
    modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING,
    modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING,
)


def generating_types():
    names = (
        modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        modeling_auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
        modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
    )
    return sorted({name for mapping in names for name in mapping})


def class_of(config):
    named = [getattr(transformers, name, None) for name in (config.architectures or [])]
    for found in named:
        if found is not None:
            return found
    for mapping in MAPPINGS:
        if type(config) in mapping:
            found = mapping[type(config)]
            return found[0] if isinstance(found, (list, tuple)) else found
    raise ValueError(f"no generating class for {config.model_type}")


def shapes_of(model):
    """Names of parameters with the numbers of layers taken out, by shape: how many there are of each."""
    counts = {}
    seen = set()
    for name, tensor in model.named_parameters():
        if id(tensor) in seen:
            continue
        seen.add(id(tensor))
        key = (re.sub(r"\.\d+(?=\.|$)", ".N", name), tuple(tensor.shape))
        counts[key] = counts.get(key, 0) + 1
    return [[name, list(shape), count] for (name, shape), count in counts.items()]


def distinct(named):
    return sum(tensor.numel() for tensor in {id(tensor): tensor for _, tensor in named}.values())


# Where a multimodal model keeps what turns images and sound into tokens, by the first names of its modules; of most the language model is
# a module of its own.
OTHER_TOWERS = re.compile(r"vision|visual|image|audio|projector|connector|extend")


def text_pairs(named):
    own = [pair for pair in named if re.match(r"(model\.)?language_model\.|lm_head\.", pair[0])]
    has_own = any("language_model." in name for name, _ in own)
    return own if has_own else [pair for pair in named if not OTHER_TOWERS.search(".".join(pair[0].split(".")[:2]))]


def counted(name, config, shapes):
    try:
        with torch.device("meta"):
            cls = class_of(config)
            try:
                model = cls(config)
            except TypeError:
                model = cls._from_config(config)
            model.tie_weights()
        named = list(model.named_parameters(remove_duplicate=False))
        total = distinct(named)
        multimodal = config.get_text_config() is not config
        text = distinct(text_pairs(named)) if multimodal else total
        saved = json.loads(config.to_json_string(use_diff=False))
        saved["architectures"] = [cls.__name__]
        answer = {"id": name, "parameters": text, "whole": total, "config": saved}
        return {**answer, "shapes": shapes_of(model)} if shapes else answer
    except Exception as error:  # a class that cannot be built gives the reason
        return {"id": name, "parameters": None, "error": f"{type(error).__name__}: {error}"[:300]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True)
    parser.add_argument("--configs", help="a folder of config.json files instead of the class defaults")
    parser.add_argument("--types", nargs="*", help="only these types")
    parser.add_argument("--shapes", action="store_true", help="with the shapes of all tensors")
    options = parser.parse_args()
    cases = []
    if options.configs:
        for file in sorted(pathlib.Path(options.configs).rglob("*.json")):
            given = json.loads(file.read_text())
            config = CONFIG_MAPPING[given["model_type"]].from_dict(given)
            cases.append(counted(str(file), config, options.shapes))
    else:
        for name in options.types or generating_types():
            try:
                config = CONFIG_MAPPING[name]()
            except Exception as error:
                cases.append({"id": name, "parameters": None, "error": f"{type(error).__name__}: {error}"[:300]})
                continue
            cases.append(counted(name, config, options.shapes))
            print(name, cases[-1]["parameters"], cases[-1].get("error", ""), file=sys.stderr, flush=True)
    versions = {"transformers": transformers.__version__, "torch": torch.__version__}
    pathlib.Path(options.out).write_text(json.dumps({"versions": versions, "cases": cases}, indent=1))


if __name__ == "__main__":
    main()

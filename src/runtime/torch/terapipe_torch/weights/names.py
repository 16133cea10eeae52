"""What Transformers calls each parameter in its files, and how it lies in them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import torch

from terapipe_torch.errors import RuntimeRefusal
from terapipe_torch.model.spec import ModelSpec


@dataclass(frozen=True)
class Source:
    """
    A tensor of a file. `rows`: of several parameters joined along the first dimension, where this one
    begins and how many there are in all; `transposed`: the file has [in, out] (GPT-2's Conv1D).
    """

    name: str
    rows: tuple[int, int] | None = None
    transposed: bool = False


Naming = Callable[[ModelSpec, str], Source]

_layer = re.compile(r"layers\.(\d+)\.(.+)")
_expert = re.compile(r"mlp\.experts\.(\d+)\.(\w+)\.(\w+)")
# buffers of masks and frequencies that older files have
_ignored = re.compile(r"(.*\.)?(rotary_emb\.inv_freq|attn\.bias|attn\.masked_bias)")


def naming_of(family: str) -> Naming:
    """The names of a model_type. Raises RuntimeRefusal for one whose files this package does not know."""
    if family not in _families:
        raise RuntimeRefusal(f"the runtime does not know how the weights of {family} are named")
    return _families[family]


def layer_in(name: str) -> int | None:
    """Number of the layer that a tensor of a file belongs to."""
    match = re.search(r"(?:^|\.)(?:layers|h)\.(\d+)\.", name)
    return int(match[1]) if match else None


def stored_shape(spec: ModelSpec, name: str, tensor: torch.Tensor) -> tuple[int, ...]:
    """Shape of a parameter, not cut for tp, without the rows by which tp pads the vocabulary; as [out, in]."""
    shape = tuple(getattr(tensor, "whole_shape", tensor.shape))
    if name == "embed_tokens.weight" or name.startswith("lm_head."):
        return (spec.vocab, *shape[1:])
    return shape


def is_ignored(name: str) -> bool:
    """Whether a tensor of a file holds nothing that is learned."""
    return _ignored.fullmatch(name) is not None


def _shared(spec: ModelSpec, name: str) -> Source:
    """Names that most families have, which are the names of the parameters here too."""
    if name.startswith("lm_head."):
        tied = spec.tied_embeddings and name.endswith(".weight")
        return Source("model.embed_tokens.weight" if tied else name.replace("lm_head.projection.", "lm_head."))
    return Source(f"model.{name}")


def _qwen2_moe(spec: ModelSpec, name: str) -> Source:
    return _shared(spec, name.replace(".shared_experts.", ".shared_expert."))


def _mixtral(spec: ModelSpec, name: str) -> Source:
    layer = _layer.fullmatch(name)
    if layer is None or not layer[2].startswith("mlp."):
        return _shared(spec, name)
    expert = _expert.fullmatch(layer[2])
    if expert is None:
        return _shared(spec, name.replace(".mlp.", ".block_sparse_moe."))
    matrix = {"gate_proj": "w1", "down_proj": "w2", "up_proj": "w3"}[expert[2]]
    return _shared(spec, f"layers.{layer[1]}.block_sparse_moe.experts.{expert[1]}.{matrix}.{expert[3]}")


def _phi3(spec: ModelSpec, name: str) -> Source:
    queries, keys = spec.heads * spec.head_dim, spec.kv_heads * spec.head_dim
    total = queries + 2 * keys
    joined = {
        "self_attn.q_proj": ("self_attn.qkv_proj", (0, total)),
        "self_attn.k_proj": ("self_attn.qkv_proj", (queries, total)),
        "self_attn.v_proj": ("self_attn.qkv_proj", (queries + keys, total)),
        "mlp.gate_proj": ("mlp.gate_up_proj", (0, 2 * spec.ffn)),
        "mlp.up_proj": ("mlp.gate_up_proj", (spec.ffn, 2 * spec.ffn)),
    }
    for ours, (theirs, rows) in joined.items():
        if f".{ours}." in name:
            return Source(_shared(spec, name.replace(ours, theirs)).name, rows)
    return _shared(spec, name)


def _gpt2(spec: ModelSpec, name: str) -> Source:
    ends = {
        "embed_tokens.weight": "wte.weight",
        "embed_tokens.positions": "wpe.weight",
        "norm.weight": "ln_f.weight",
        "norm.bias": "ln_f.bias",
        "lm_head.projection.weight": "wte.weight",
    }
    if name in ends:
        own_head = name.startswith("lm_head") and not spec.tied_embeddings
        return Source("lm_head.weight" if own_head else f"transformer.{ends[name]}")
    layer = _layer.fullmatch(name)
    if layer is None:
        raise RuntimeRefusal(f"the files of gpt2 have no {name}")
    width = spec.hidden
    modules: dict[str, tuple[str, tuple[int, int] | None]] = {
        "input_layernorm": ("ln_1", None),
        "post_attention_layernorm": ("ln_2", None),
        "self_attn.q_proj": ("attn.c_attn", (0, 3 * width)),
        "self_attn.k_proj": ("attn.c_attn", (width, 3 * width)),
        "self_attn.v_proj": ("attn.c_attn", (2 * width, 3 * width)),
        "self_attn.o_proj": ("attn.c_proj", None),
        "mlp.up_proj": ("mlp.c_fc", None),
        "mlp.down_proj": ("mlp.c_proj", None),
    }
    module, _, kind = layer[2].rpartition(".")
    theirs, rows = modules[module]
    return Source(f"transformer.h.{layer[1]}.{theirs}.{kind}", rows, kind == "weight" and "_proj" in module)


_families: dict[str, Naming] = {
    **dict.fromkeys(
        (
            "custom",
            "llama",
            "mistral",
            "qwen2",
            "qwen3",
            "qwen3_moe",
            "deepseek_v2",
            "deepseek_v3",
            "olmo2",
            "gemma",
            "gemma2",
            "gemma3_text",
        ),
        _shared,
    ),
    "gpt2": _gpt2,
    "mixtral": _mixtral,
    "phi3": _phi3,
    "qwen2_moe": _qwen2_moe,
}

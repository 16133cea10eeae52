"""The model of plan.json: its sizes and what else makes two models differ."""

from __future__ import annotations

import dataclasses
import re
import types
import typing
from dataclasses import dataclass, field
from typing import Any, TypeVar

from terapipe_torch.errors import RuntimeRefusal

T = TypeVar("T")


@dataclass(frozen=True)
class Experts:
    """Networks between which a router chooses for each token; `shared_ffn`: width of the networks that every token visits."""

    count: int
    active: int
    shared_ffn: int = 0
    shared_gate: bool = False
    groups: ExpertGroups | None = None
    router_bias: bool = False
    latent: int | None = None


@dataclass(frozen=True)
class ExpertGroups:
    """Experts are in `count` groups, and a token visits experts of `active` groups (DeepSeek-V3)."""

    count: int
    active: int


@dataclass(frozen=True)
class LatentAttention:
    """Multi-head latent attention (DeepSeek-V2, section 2.1)."""

    q_rank: int | None
    kv_rank: int
    nope_head_dim: int
    rope_head_dim: int
    v_head_dim: int


@dataclass(frozen=True)
class RopeScaling:
    """How rotary positions are stretched, with the parameters of Transformers' rope_scaling."""

    kind: str
    factor: float | None = None
    low_frequency_factor: float | None = None
    high_frequency_factor: float | None = None
    original_positions: float | None = None
    beta_fast: float | None = None
    beta_slow: float | None = None
    mscale: float | None = None
    mscale_all_dim: float | None = None
    attention_factor: float | None = None
    is_unrounded: bool = False


@dataclass(frozen=True)
class Rotary:
    """Base of the frequencies, and the share of a head that is rotated."""

    base: float = 10000.0
    share: float = 1.0
    scaling: RopeScaling | None = None


@dataclass(frozen=True)
class LayerKind:
    """`window`: a token attends to this many tokens up to and including itself; None: to all."""

    feed_forward: str = "dense"
    window: int | None = None
    stack: str | None = None
    mixer: str = "attention"


@dataclass(frozen=True)
class Details:
    """What neither time nor memory depends on; names as in TeraPipe's `inspect`."""

    activation: str | None = None
    init_std: float | None = None
    norm_unit_offset: bool = False
    norm_placement: str | None = None
    parallel_residual: bool = False
    rotary_interleaved: bool = False
    local_rotary_base: float | None = None
    no_rope_layers: tuple[int, ...] | None = None
    attention_scale: float | None = None
    attention_soft_cap: float | None = None
    embedding_multiplier: float = 1.0
    residual_multiplier: float = 1.0
    logit_multiplier: float = 1.0
    logit_soft_cap: float | None = None
    router_score: str = "softmax"
    router_normalised: bool = False
    router_scaling: float = 1.0
    router_expert_bias: bool = False
    router_group_best: int | None = None
    router_aux_loss: float = 0.0
    router_sequence_loss: bool = False
    router_z_loss: float = 0.0


@dataclass(frozen=True)
class ModelSpec:
    """
    A Transformer of one stack. Widths in elements, `headDim` per head; TeraPipe's ModelSpec. `causal` is false where
    tokens attend to later ones, too; `patch_width`: numbers of a patch (of all channels), where images are read.
    """

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    vocab: int
    model_type: str = "custom"
    gated_mlp: bool = False
    tied_embeddings: bool = False
    max_positions: int | None = None
    positions: str = "rotary"
    norm: str = "rmsnorm"
    qkv_bias: bool = False
    attention_output_bias: bool = False
    mlp_bias: bool = False
    qk_norm: bool = False
    qk_norm_across_heads: bool = False
    norms_per_layer: int | None = None
    norm_parameters: int | None = None
    head_bias: bool = False
    experts: Experts | None = None
    dense_ffn: int | None = None
    latent: LatentAttention | None = None
    layer_kinds: tuple[LayerKind, ...] | None = None
    rotary: Rotary = field(default_factory=Rotary)
    norm_epsilon: float = 1e-5
    details: Details = field(default_factory=Details)
    causal: bool = True
    patch_width: int | None = None

    def kind_of(self, layer: int) -> LayerKind:
        if self.layer_kinds is not None:
            return self.layer_kinds[layer]
        return LayerKind("experts" if self.experts else "dense")

    def ffn_of(self, layer: int) -> int:
        """Width of the feed-forward block of a dense layer."""
        return self.dense_ffn if self.experts is not None and self.dense_ffn is not None else self.ffn


def from_json(cls: type[T], data: dict[str, Any]) -> T:
    """
    A dataclass from an object with camelCase keys. Raises RuntimeRefusal for a key that the class does
    not have: another model would be trained without it. KeyError: a field is missing; TypeError: it has another type.
    """
    types_of = typing.get_type_hints(cls)
    values = {}
    for key, value in data.items():
        name = _snake_case(key)
        if name not in types_of:
            if value in (None, False):
                continue
            raise RuntimeRefusal(f"the runtime cannot train a model with {key} = {value!r}")
        if value is not None:
            values[name] = _value(types_of[name], value)
    missing = [
        each.name
        for each in dataclasses.fields(cls)
        if each.default is dataclasses.MISSING and each.default_factory is dataclasses.MISSING and each.name not in values
    ]
    for name in missing:
        if type(None) not in typing.get_args(types_of[name]):
            raise KeyError(f"{cls.__name__} has no {name}")
        values[name] = None
    return cls(**values)


def _value(expected: Any, value: Any) -> Any:
    if typing.get_origin(expected) in (types.UnionType, typing.Union):
        expected = next(each for each in typing.get_args(expected) if each is not type(None))
    if typing.get_origin(expected) is tuple:
        return tuple(_value(typing.get_args(expected)[0], each) for each in value)
    if dataclasses.is_dataclass(expected):
        return from_json(expected, value)
    if expected is float and isinstance(value, int):
        return float(value)
    if not isinstance(value, expected) or (expected is int and isinstance(value, bool)):
        raise TypeError(f"{value!r} is not {expected.__name__}")
    return value


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda match: "_" + match[1].lower(), name)

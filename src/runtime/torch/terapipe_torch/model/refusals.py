"""Models and splits that the layers cannot do, refused in one sentence each."""

from __future__ import annotations

from collections.abc import Iterator

from terapipe_torch.errors import RuntimeRefusal
from terapipe_torch.model.functions import activation_of, router_scores
from terapipe_torch.model.rotary import scaling_kinds
from terapipe_torch.model.spec import Experts, ModelSpec


def check_model(spec: ModelSpec, tensor: int) -> None:
    """Raises RuntimeRefusal for a model that this package has no layers for, or that tensor parallelism of this size cannot cut."""
    activation_of(spec)
    for refused, what in (*_layers(spec), *_attention(spec), *_experts(spec)):
        if refused:
            raise RuntimeRefusal(f"the runtime cannot train {what}")
    for count, what in _divided(spec):
        if count % tensor != 0:
            raise RuntimeRefusal(f"{count} {what} cannot be split over {tensor} ranks of tensor parallelism")


def untrained(spec: ModelSpec) -> list[str]:
    """The parts of the plan's model that the runtime leaves out of training, as Transformers does unless it is asked to."""
    details = spec.details
    losses = [
        ("load-balancing loss", details.router_aux_loss),
        ("z loss", details.router_z_loss),
        ("update of the experts' bias", details.router_expert_bias),
    ]
    return [f"{name} of the routers" for name, given in losses if given and spec.experts is not None]


def _layers(spec: ModelSpec) -> Iterator[tuple[bool, str]]:
    details, norms = spec.details, spec.norms_per_layer or 2
    yield spec.vocab < 1, "a model without vocabulary, which has no loss"
    yield spec.norm not in ("layernorm", "rmsnorm"), f"norms of kind {spec.norm}"
    yield details.norm_placement not in (None, "output"), "norms of the sum of a layer's input and output"
    yield norms not in (1, 2, 4), f"{norms} norms in a layer"
    yield norms == 1 and not details.parallel_residual, "one norm in a layer without parallel residual"
    yield spec.layer_kinds is not None and len(spec.layer_kinds) != spec.layers, "layers without a kind"
    kinds = spec.layer_kinds or ()
    yield any(kind.stack is not None for kind in kinds), "an encoder-decoder model"
    yield any(kind.mixer != "attention" for kind in kinds), "layers that do not attend"
    yield any(kind.feed_forward not in ("dense", "experts") for kind in kinds), "layers without feed-forward block"
    yield any(kind.window is not None and kind.window < 1 for kind in kinds), "windows of no token"
    special = any(kind.window is not None for kind in kinds) or details.attention_soft_cap is not None
    yield not spec.causal and special, "an encoder with windows or capped scores"
    yield spec.patch_width is not None and (spec.patch_width < 1 or spec.positions != "learned"), "patches without learned positions"
    yield spec.patch_width is not None and spec.tied_embeddings, "a head tied to the embedding of patches"


def _attention(spec: ModelSpec) -> Iterator[tuple[bool, str]]:
    scaling = spec.rotary.scaling
    rotated = spec.latent.rope_head_dim if spec.latent else spec.head_dim
    yield spec.positions not in ("learned", "rotary", "none"), f"positions of kind {spec.positions}"
    yield spec.positions == "learned" and not spec.max_positions, "learned positions without a number of them"
    yield scaling is not None and scaling.kind not in scaling_kinds, f"rotary scaling of kind {scaling.kind if scaling else ''}"
    yield spec.positions == "rotary" and int(rotated * spec.rotary.share) % 2 != 0, "rotary positions over an odd part of a head"
    yield spec.latent is None and spec.heads % spec.kv_heads != 0, "heads that do not share key/value heads evenly"
    yield spec.latent is not None and spec.qk_norm, "latent attention with norms of queries and keys"
    yield spec.qk_norm and spec.norm == "layernorm", "LayerNorms of queries and keys"


def _experts(spec: ModelSpec) -> Iterator[tuple[bool, str]]:
    experts, details = spec.experts, spec.details
    if experts is None:
        yield (
            any(kind.feed_forward == "experts" for kind in spec.layer_kinds or ()),
            "layers with experts, whose number the plan does not give",
        )
        return
    yield not 1 <= experts.active <= experts.count, f"{experts.active} of {experts.count} experts for a token"
    yield bool(experts.latent), "experts that work on compressed tokens"
    yield spec.mlp_bias, "experts with biases"
    yield details.router_score not in router_scores, f"a router with scores by {details.router_score}"
    yield _groups_are_wrong(experts), "groups of experts that do not divide them, or are too small for the choice"


def _groups_are_wrong(experts: Experts) -> bool:
    groups = experts.groups
    if groups is None:
        return False
    if groups.count < 1 or experts.count % groups.count != 0 or not 1 <= groups.active <= groups.count:
        return True
    return experts.count // groups.count * groups.active < experts.active


def _divided(spec: ModelSpec) -> Iterator[tuple[int, str]]:
    yield spec.heads, "heads"
    if spec.latent is None:
        yield spec.kv_heads, "key/value heads"
    yield spec.ffn, "columns of the feed-forward block"
    yield spec.dense_ffn or 0, "columns of the dense feed-forward block"
    yield (spec.experts.shared_ffn if spec.experts else 0), "columns of the shared experts"

"""Writes the rows of class-defaults.ts and class-details.ts in src/core/huggingface from the classes of the installed transformers release.

In an environment of its own, with transformers from PyPI (torch is not needed):

    python test/witness/class_defaults.py

Each class that the table lists and transformers has gets its row; a new class is listed as `NameOfConfig: [],`. What a class has and we
plan otherwise is an exception in the families' code.
"""

import json
import pathlib
import re

import transformers
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

HUGGINGFACE = pathlib.Path(__file__).parents[2] / "src/core/huggingface"
CLASS_DEFAULTS = HUGGINGFACE / "class-defaults.ts"
CLASS_DETAILS = HUGGINGFACE / "class-details.ts"

# Attributes of a column of that table, by class the first that it has: names of encoders and of dense layers before those that all share.
COLUMNS = {
    "layers": "encoder_layers n_layers n_layer num_layers num_hidden_layers",
    "hidden": "d_model n_embd dim hidden_size",
    "heads": "encoder_attention_heads attention_heads n_heads n_head num_heads num_attention_heads",
    "kv_heads": "num_key_value_heads num_kv_heads",
    "head_dim": "d_kv head_dim attention_head_dim",
    "ffn": "dense_intermediate_size prefix_dense_intermediate_size intermediate_size_mlp encoder_ffn_dim ffn_dim ffn_hidden_size d_ff dff"
    " n_inner hidden_dim intermediate_size",
    "vocab": "vocab_size",
    "positions": "max_target_positions n_positions max_seq_len context_length max_position_embeddings",
    "tied": "tie_word_embeddings",
    "experts": "num_local_experts num_experts n_routed_experts num_routed_experts moe_num_experts",
    "active": "num_experts_per_tok moe_k moe_topk num_experts_per_token",
    "expert_ffn": "moe_intermediate_size",
}

# Attributes of the columns of the other table, and those that few classes have, which a row has by their names.
ACTIVATIONS = "hidden_activation hidden_act mlp_hidden_act activation_function activation"
INITIAL_STDS = "initializer_range init_std"
EPSILONS = "rms_norm_eps layer_norm_eps layer_norm_epsilon layernorm_epsilon norm_eps norm_epsilon"
RARE = (
    "attention_multiplier attn_logit_softcapping embedding_multiplier final_logit_softcapping lm_head_multiplier logit_scale logits_scaling"
    " norm_topk_prob output_multiplier parallel_attn query_pre_attn_scalar residual_multiplier rope_interleave rotary_dim"
    " routed_scaling_factor route_scale router_aux_loss_coef router_scaling_factor scale_depth scale_emb swiglu_limit use_parallel_residual scale_embedding"
    " attention_dropout attention_probs_dropout_prob attn_pdrop dropout dropout_rate hidden_dropout hidden_dropout_prob resid_pdrop"
    " residual_dropout"
)
KEPT = ("attention_multiplier", "norm_topk_prob", "scale_embedding", "use_parallel_residual")


def class_sizes(cls):
    """A row of the table: what the class itself has, before an instance derives sizes from others."""
    row = {}
    for column, names in COLUMNS.items():
        found = [getattr(cls, name) for name in names.split() if hasattr(cls, name) and not isinstance(getattr(cls, name), property)]
        row[column] = found[0] if found else None
    if any(hasattr(cls, name) for name in COLUMNS["ffn"].split()[:3]):
        row["expert_ffn"] = cls.intermediate_size
    sizes = [*row.values()]
    sizes[8] = bool(sizes[8])
    sizes = sizes[:9] if row["experts"] is None else sizes
    while len(sizes) > 9 and sizes[-1] is None:
        sizes.pop()
    return sizes


def first_of(cls, names):
    found = [getattr(cls, name, None) for name in names.split()]
    return next((value for value in found if value is not None and not isinstance(value, property)), None)


def class_rotary(cls):
    """Base of the positions, and what else they have that few classes have: the defaults that an instance makes."""
    try:
        parameters = getattr(cls(), "rope_parameters", None)
    except Exception:
        parameters = None
    if not isinstance(parameters, dict):
        return None, {}
    local = parameters.get("sliding_attention")
    whole = parameters.get("full_attention", parameters) or {}
    rare = {"partial_rotary_factor": whole.get("partial_rotary_factor")}
    if isinstance(local, dict) and local.get("rope_theta") != whole.get("rope_theta"):
        rare["rope_local_base_freq"] = local.get("rope_theta")
    return whole.get("rope_theta"), rare


def is_none(name, value):
    """A multiplier of 1, no dropout, or a switch that is off, unless its being off is read; Granite's scale of attention is not a multiplier."""
    return value is not True and value in (1, False) and name not in KEPT


def class_details(cls):
    """A row of the table of what no size depends on."""
    base, rare = class_rotary(cls)
    rare = {**{name: getattr(cls, name, None) for name in RARE.split()}, **rare}
    kept = {name: value for name, value in rare.items() if isinstance(value, (bool, int, float)) and not is_none(name, value)}
    row = [first_of(cls, ACTIVATIONS), first_of(cls, INITIAL_STDS), base, first_of(cls, EPSILONS)]
    return [*row, kept] if kept else row


def main():
    classes = {cls.__name__: cls for cls in CONFIG_MAPPING.values()}

    def write(path, row_of):
        def rewritten(match):
            name = match.group(1)
            cls = classes.get(name) or getattr(transformers, name, None)
            return f"  {name}: {json.dumps(row_of(cls))}," if cls is not None else match.group(0)

        generated, rest = path.read_text().split("} as const", 1)
        rows = re.sub(r"^  (\w+): \[.*?\],$", rewritten, generated, flags=re.M | re.S)
        path.write_text(rows + "} as const" + rest)

    write(CLASS_DEFAULTS, class_sizes)
    write(CLASS_DETAILS, class_details)


if __name__ == "__main__":
    main()

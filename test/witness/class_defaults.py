"""Writes the rows of src/core/huggingface/class-defaults.ts from the configuration classes of the installed transformers release.

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

CLASS_DEFAULTS = pathlib.Path(__file__).parents[2] / "src/core/huggingface/class-defaults.ts"

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


def main():
    classes = {cls.__name__: cls for cls in CONFIG_MAPPING.values()}

    def rewritten(match):
        name = match.group(1)
        cls = classes.get(name) or getattr(transformers, name, None)
        return f"  {name}: {json.dumps(class_sizes(cls))}," if cls is not None else match.group(0)

    generated, rest = CLASS_DEFAULTS.read_text().split("} as const", 1)
    rows = re.sub(r"^  (\w+): \[.*\],$", rewritten, generated, flags=re.M)
    CLASS_DEFAULTS.write_text(rows + "} as const" + rest)


if __name__ == "__main__":
    main()

/** Keys of a config.json that make a model another one of equal sizes and positions. */
interface Details {
  readonly n_group?: number;
  readonly topk_group?: number;
  readonly topk_method?: string;
  readonly norm_topk_prob?: boolean;
  readonly routed_scaling_factor?: number;
  readonly aux_loss_alpha?: number;
  readonly seq_aux?: boolean;
  readonly sliding_window?: number | null;
  readonly query_pre_attn_scalar?: number;
  readonly attention_multiplier?: number;
  readonly embedding_multiplier?: number;
  readonly residual_multiplier?: number;
  readonly logits_scaling?: number;
  readonly logit_scale?: number;
  readonly use_qk_norm?: boolean;
  readonly clip_qkv?: number;
}

/** A router whose tokens may visit every expert, and what multiplies the scores of the chosen. */
function ungrouped(scaling: number): Details {
  return { n_group: 1, topk_group: 1, norm_topk_prob: true, routed_scaling_factor: scaling };
}

/** @param attention multiplies scores, @param logits divides logits. */
function granite(attention: number, logits: number): Details {
  return { embedding_multiplier: 12, residual_multiplier: 0.22, attention_multiplier: attention, logits_scaling: logits };
}

const deepseekV2: Details = { norm_topk_prob: false, aux_loss_alpha: 0.001, seq_aux: true };
const ling: Details = { n_group: 8, topk_group: 4, norm_topk_prob: true, routed_scaling_factor: 2.5 };

/**
 * By the plain name of a model, where its config.json differs from its class; the first that applies. Source: the config.json of each
 * on Hugging Face's hub.
 */
const details: readonly (readonly [names: RegExp, details: Details])[] = [
  [/^deepseek-v2$/, { ...deepseekV2, n_group: 8, topk_group: 3, topk_method: 'group_limited_greedy', routed_scaling_factor: 16 }],
  [/^deepseek-v2-lite$/, { ...deepseekV2, n_group: 1, topk_group: 1, topk_method: 'greedy', routed_scaling_factor: 1 }],
  [/^kimi-k2/, ungrouped(2.827)],
  [/^moonlight-|^kimi-vl-/, ungrouped(2.446)],
  [/^glm-4\.(?:5$|[67]$)/, ungrouped(2.5)],
  [/^glm-4\.5/, ungrouped(1)],
  [/^ling-|^llada2\./, ling],
  [/^nvidia-nemotron-3-nano-30b-/, ungrouped(2.5)],
  [/^nvidia-nemotron-3-super-/, ungrouped(5)],
  [/^qwen3-.*-a\d+b/, { norm_topk_prob: true }],
  [/^qwen(?:1\.5-moe|2-57b)-|^olmoe-1b-7b-0924$/, { norm_topk_prob: false }],
  // Mistral-7B has a window in its first version only
  [/^mistral-(?:7b$|7b-v0\.2$|nemo-|small-)|^devstral-/, { sliding_window: null }],
  [/^gemma-2-27b$/, { query_pre_attn_scalar: 144 }],
  [/^gemma-3-(?:270m|1b)$/, { sliding_window: 512 }],
  [/^gemma-3-27b$/, { sliding_window: 1024, query_pre_attn_scalar: 168 }],
  [/^gemma-3-/, { sliding_window: 1024 }],
  [/^phi-3-(?:mini|medium)-4k$/, { sliding_window: 2047 }],
  [/^starcoder2-/, { sliding_window: 4096 }],
  [/^granite-3\.3-2b$/, granite(0.015625, 8)],
  [/^granite-3\.3-8b$/, granite(0.0078125, 16)],
  [/^llama-4-maverick-/, { use_qk_norm: false }],
  [/^olmo-(?:1\.7-7b|7b-0424)$/, { clip_qkv: 8 }],
  [/^c4ai-command-r7b-/, { logit_scale: 0.25 }],
];

/** Where the config.json of a model differs from its class, by its plain name, apart from positions and sizes; null: nothing. */
export function hubDetails(name: string): Details | null {
  return details.find(([names]) => names.test(name))?.[1] ?? null;
}

/** Positions and the epsilon of norms, as a config.json has them. */
interface Positions {
  readonly max_position_embeddings?: number;
  readonly rope_theta?: number;
  readonly rms_norm_eps?: number;
  readonly rope_scaling?: Readonly<Record<string, string | number>>;
}

function llama3(factor: number): Positions {
  return {
    max_position_embeddings: 131_072,
    rope_theta: 500_000,
    rms_norm_eps: 1e-5,
    rope_scaling: { rope_type: 'llama3', factor, low_freq_factor: 1, high_freq_factor: 4, original_max_position_embeddings: 8192 },
  };
}

/** YaRN from 4,096 positions, as DeepSeek's kind of attention scales it. */
function yarn(factor: number, [fast, slow]: readonly [number, number], scale: number): Required<Positions>['rope_scaling'] {
  return {
    type: 'yarn',
    factor,
    original_max_position_embeddings: 4096,
    beta_fast: fast,
    beta_slow: slow,
    mscale: scale,
    mscale_all_dim: scale,
  };
}

const deepseekV3: Positions = {
  max_position_embeddings: 163_840,
  rope_theta: 10_000,
  rms_norm_eps: 1e-6,
  rope_scaling: yarn(40, [32, 1], 1),
};

/** By the plain name of a model; the first that applies. Source: the config.json of each on Hugging Face's hub. */
const positions: readonly (readonly [names: RegExp, positions: Positions])[] = [
  [/^llama-3\.2-/, llama3(32)],
  [/^llama-3\.\d/, llama3(8)],
  [/^llama-3-/, { max_position_embeddings: 8192, rope_theta: 500_000, rms_norm_eps: 1e-5 }],
  [/^llama-2-/, { max_position_embeddings: 4096, rope_theta: 10_000, rms_norm_eps: 1e-5 }],
  [/^deepseek-llm/, { max_position_embeddings: 4096, rope_theta: 10_000, rms_norm_eps: 1e-6 }],
  [/^deepseek-coder/, { max_position_embeddings: 16_384 }],
  [/^mistral-(?:7b$|nemo-)/, { rope_theta: 1_000_000, rms_norm_eps: 1e-5 }],
  [/^deepseek-(?:v3|r1)$/, deepseekV3],
  [
    /^deepseek-v2-lite$/,
    { max_position_embeddings: 163_840, rope_theta: 10_000, rms_norm_eps: 1e-6, rope_scaling: yarn(40, [32, 1], 0.707) },
  ],
  [/^kimi-k2$/, { max_position_embeddings: 131_072, rope_theta: 50_000, rms_norm_eps: 1e-6, rope_scaling: yarn(32, [1, 1], 1) }],
  [/^moonlight/, { max_position_embeddings: 8192, rope_theta: 50_000, rms_norm_eps: 1e-5 }],
  // the Math models, and what was distilled from them
  [/^qwen2\.5-math-|^deepseek-r1-distill-qwen-(?:1\.5b|7b)$/, { rope_theta: 10_000, rms_norm_eps: 1e-6 }],
  [/^qwen2|^deepseek-r1-distill-qwen/, { rope_theta: 1_000_000, rms_norm_eps: 1e-6 }],
  [/^qwen3-vl-/, { max_position_embeddings: 262_144, rope_theta: 5_000_000, rms_norm_eps: 1e-6 }],
  [/^qwen3-30b-a3b-2507$/, { max_position_embeddings: 262_144, rope_theta: 10_000_000, rms_norm_eps: 1e-6 }],
  [/^qwen3-.*-2507$/, { max_position_embeddings: 262_144, rope_theta: 5_000_000, rms_norm_eps: 1e-6 }],
  [/^qwen3-next/, { max_position_embeddings: 262_144, rope_theta: 10_000_000, rms_norm_eps: 1e-6 }],
  [/^qwen3-coder-/, { max_position_embeddings: 262_144, rope_theta: 10_000_000, rms_norm_eps: 1e-6 }],
  [/^qwen3-(?:\d|embedding)/, { rope_theta: 1_000_000, rms_norm_eps: 1e-6 }],
  [/^gemma-(?:1\.1-)?[27]b$|^gemma-2-/, { max_position_embeddings: 8192, rope_theta: 10_000, rms_norm_eps: 1e-6 }],
  [/^mixtral-8x/, { rope_theta: 1_000_000, rms_norm_eps: 1e-5 }],
];

/** What the config.json of a model has of its positions and norms, by its plain name; empty where it is not known here. */
export function hubPositions(name: string): Positions {
  return positions.find(([names]) => names.test(name))?.[1] ?? {};
}

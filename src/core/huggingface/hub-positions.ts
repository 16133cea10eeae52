/** Positions and the epsilon of norms, as a config.json has them. */
interface Positions {
  readonly max_position_embeddings?: number;
  readonly rope_theta?: number;
  readonly rope_local_base_freq?: number;
  readonly partial_rotary_factor?: number;
  readonly rms_norm_eps?: number;
  readonly rope_scaling?: Readonly<Record<string, string | number | boolean>>;
}

/** Rotary base, positions, and epsilon of the norms where it is not its class's. */
function plain(base: number, positions: number, epsilon?: number): Positions {
  return { max_position_embeddings: positions, rope_theta: base, ...(epsilon !== undefined && { rms_norm_eps: epsilon }) };
}

function llama3(factor: number): Positions {
  return {
    ...plain(500_000, 131_072, 1e-5),
    rope_scaling: { rope_type: 'llama3', factor, low_freq_factor: 1, high_freq_factor: 4, original_max_position_embeddings: 8192 },
  };
}

/** YaRN, as DeepSeek's kind of attention scales it. @param from positions before it. */
function yarn(factor: number, [fast, slow]: readonly [number, number], scale: number, from = 4096): Required<Positions>['rope_scaling'] {
  return {
    type: 'yarn',
    factor,
    original_max_position_embeddings: from,
    beta_fast: fast,
    beta_slow: slow,
    mscale: scale,
    mscale_all_dim: scale,
  };
}

const deepseekV3: Positions = { ...plain(10_000, 163_840, 1e-6), rope_scaling: yarn(40, [32, 1], 1) };

/** LongRoPE, whose lists of factors are not held here. */
const longRope = { rope_scaling: { type: 'longrope', original_max_position_embeddings: 4096 } };

function kimi(epsilon: number, fast: number): Positions {
  return { ...plain(50_000, 262_144, epsilon), rope_scaling: yarn(64, [fast, 1], 1) };
}

function gemma3(positions: number): Positions {
  return { ...plain(1_000_000, positions, 1e-6), rope_local_base_freq: 10_000 };
}

/** Not known here: what is written from it has to say that it takes a default. */
const open: Positions = {};

/** By the plain name of a model; the first that applies. Source: the config.json of each on Hugging Face's hub. */
const positions: readonly (readonly [names: RegExp, positions: Positions])[] = [
  [/^llama-3\.2-/, llama3(32)],
  [/^llama-3\.\d|^deepseek-r1-distill-llama-/, llama3(8)],
  [/^llama-3-/, plain(500_000, 8192, 1e-5)],
  [/^llama-2-/, plain(10_000, 4096, 1e-5)],
  [
    /^llama-4-scout-/,
    {
      ...plain(500_000, 10_485_760, 1e-5),
      rope_scaling: { rope_type: 'llama3', factor: 16, low_freq_factor: 1, high_freq_factor: 1, original_max_position_embeddings: 8192 },
    },
  ],
  [/^llama-4-maverick-/, plain(500_000, 1_048_576, 1e-5)],
  [/^llama-(?:7|13|30)b$/, plain(10_000, 2048, 1e-6)],
  [/^llama-65b$/, plain(10_000, 2048, 1e-5)],
  [/^tinyllama/, plain(10_000, 2048, 1e-5)],
  [/^tiny-random-llama/, plain(10_000, 2048, 1e-6)],
  [/^yi-(?:6|34)b$/, plain(5_000_000, 4096, 1e-5)],
  [/^seed-coder-8b$/, plain(500_000, 32_768, 1e-6)],
  [/^seed-oss-36b$/, plain(10_000_000, 524_288, 1e-6)],
  [/^llada-8b$/, plain(500_000, 4096, 1e-5)],
  [/^codellama-/, plain(1_000_000, 16_384, 1e-5)],
  [/^deepseek-llm/, plain(10_000, 4096, 1e-6)],
  [/^deepseek-coder/, { ...plain(100_000, 16_384, 1e-6), rope_scaling: { type: 'linear', factor: 4 } }],
  [/^mistral-7b-of-2023$/, plain(10_000, 32_768, 1e-5)],
  [/^mistral-7b-v0\.2$/, plain(1_000_000, 32_768, 1e-5)],
  [/^mistral-(?:7b$|nemo-)/, { rope_theta: 1_000_000, rms_norm_eps: 1e-5 }],
  [/^mistral-small-24b-2501$/, plain(100_000_000, 32_768, 1e-5)],
  [
    /^devstral-small-2-24b-2512$/,
    { ...plain(100_000_000, 393_216, 1e-5), rope_scaling: { ...yarn(48, [32, 1], 1, 8192), llama_4_scaling_beta: 0.1 } },
  ],
  [
    /^ministral-3-[38]b$/,
    { ...plain(1_000_000, 262_144, 1e-5), rope_scaling: { ...yarn(16, [32, 1], 1, 16_384), llama_4_scaling_beta: 0.1 } },
  ],
  [/^deepseek-(?:v3(?:\.[12])?|r1)$/, deepseekV3],
  [/^deepseek-v2(?:-lite)?$/, { ...plain(10_000, 163_840, 1e-6), rope_scaling: yarn(40, [32, 1], 0.707) }],
  [/^kimi-k2$/, { ...plain(50_000, 131_072, 1e-6), rope_scaling: yarn(32, [1, 1], 1) }],
  [/^kimi-k2-0905$/, kimi(1e-6, 1)],
  [/^kimi-k2-thinking$/, kimi(1e-5, 1)],
  [/^kimi-k2\.5$/, kimi(1e-5, 32)],
  [/^kimi-vl-/, plain(800_000, 131_072, 1e-5)],
  [/^moonlight/, plain(50_000, 8192, 1e-5)],
  [/^qwen2-audio-7b$/, plain(10_000, 8192, 1e-5)],
  [/^qwen2\.5-math-72b$/, { rope_theta: 10_000, rms_norm_eps: 1e-5 }],
  [/^qwen2\.5-math-7b-rope-300k$/, plain(300_000, 32_768, 1e-6)],
  // the Math models, and what was distilled from them
  [/^qwen2\.5-math-|^deepseek-r1-distill-qwen-(?:1\.5b|7b)$/, { rope_theta: 10_000, rms_norm_eps: 1e-6 }],
  [/^qwq-32b$/, plain(1_000_000, 40_960, 1e-5)],
  [/^qwen1\.5-moe-/, plain(1_000_000, 8192, 1e-6)],
  [/^qwen1\.5-/, plain(1_000_000, 32_768, 1e-6)],
  // the large ones without instruction
  [/^qwen2\.5-(?:14|32|72)b$|^qwen2-72b$|^deepseek-r1-distill-qwen-(?:14|32)b$/, { rope_theta: 1_000_000, rms_norm_eps: 1e-5 }],
  [/^qwen2|^deepseek-r1-distill-qwen/, { rope_theta: 1_000_000, rms_norm_eps: 1e-6 }],
  [/^internvl3-/, { rope_theta: 1_000_000, rms_norm_eps: 1e-6 }],
  [/^qwen3-vl-/, plain(5_000_000, 262_144, 1e-6)],
  [/^qwen3-omni-/, plain(1_000_000, 65_536, 1e-6)],
  [/^qwen3-30b-a3b-2507$/, plain(10_000_000, 262_144, 1e-6)],
  [/^qwen3-.*-2507$/, plain(5_000_000, 262_144, 1e-6)],
  [/^qwen3-next/, plain(10_000_000, 262_144, 1e-6)],
  [/^qwen3-coder-/, plain(10_000_000, 262_144, 1e-6)],
  [/^qwen3-(?:\d|embedding|reranker)/, { rope_theta: 1_000_000, rms_norm_eps: 1e-6 }],
  [/^qwen3\.[56]-/, { ...plain(10_000_000, 262_144, 1e-6), partial_rotary_factor: 0.25 }],
  [/^qwen3\.8-/, open],
  [
    /^deepseek-r1-qwen3-8b$/,
    { ...plain(1_000_000, 131_072, 1e-6), rope_scaling: { rope_type: 'yarn', factor: 4, original_max_position_embeddings: 32_768 } },
  ],
  [/^llava-onevision-1\.5-4b$/, open],
  [/^gemma-(?:1\.1-)?[27]b$|^gemma-2-/, plain(10_000, 8192, 1e-6)],
  [/^gemma-3-(?:270m|1b)$/, gemma3(32_768)],
  [/^gemma-3-/, { ...gemma3(131_072), rope_scaling: { rope_type: 'linear', factor: 8 } }],
  [/^mixtral-8x/, { rope_theta: 1_000_000, rms_norm_eps: 1e-5 }],
  [
    /^gpt-oss-/,
    {
      ...plain(150_000, 131_072, 1e-5),
      rope_scaling: { rope_type: 'yarn', factor: 32, beta_fast: 32, beta_slow: 1, original_max_position_embeddings: 4096, truncate: false },
    },
  ],
  [/^glm-4\.5v$/, { ...plain(10_000, 65_536, 1e-5), partial_rotary_factor: 0.5 }],
  [/^glm-4\.5/, { ...plain(1_000_000, 131_072, 1e-5), partial_rotary_factor: 0.5 }],
  [/^glm-4\.[67]$/, { ...plain(1_000_000, 202_752, 1e-5), partial_rotary_factor: 0.5 }],
  [/^glm-4\.7-flash$/, plain(1_000_000, 202_752, 1e-5)],
  [/^glm-5(?:\.1)?$/, plain(1_000_000, 202_752, 1e-5)],
  [/^glm-5\.2$/, plain(8_000_000, 1_048_576, 1e-5)],
  [/^glm-4-9b$/, plain(10_000, 8192, 1.5625e-7)],
  [/^glm-4-9b-chat$/, plain(5_000_000, 131_072, 1.5625e-7)],
  [/^glm-4-(?:9b|32b)-0414$/, plain(10_000, 32_768, 1e-5)],
  [/^minimax-m2/, { ...plain(5_000_000, 196_608, 1e-6), partial_rotary_factor: 0.5 }],
  [/^minimax-m3$/, { ...plain(5_000_000, 524_288, 1e-6), partial_rotary_factor: 0.5 }],
  [/^hy-mt2-/, plain(11_158_840, 262_144, 1e-5)],
  [/^muse-glimmer-/, plain(500_000, 131_072, 1e-5)],
  [/^falcon-h1-0\.5b$/, plain(100_000_000_000, 16_384, 1e-5)],
  [/^hy3-preview$/, plain(11_158_840, 262_144)],
  [
    /^mistral-small-4-119b-2603$/,
    { ...plain(10_000, 1_048_576, 1e-6), rope_scaling: { ...yarn(128, [32, 1], 1, 8192), llama_4_scaling_beta: 0.1 } },
  ],
  [/^ling-|^llada2\./, { ...plain(600_000, 32_768, 1e-6), partial_rotary_factor: 0.5 }],
  [/^phi-2$/, { ...plain(10_000, 2048), partial_rotary_factor: 0.4 }],
  [/^phi-3-(?:mini|medium)-4k$/, plain(10_000, 4096, 1e-5)],
  [/^phi-3(?:\.5)?-mini/, { ...plain(10_000, 131_072, 1e-5), ...longRope }],
  [/^phi-4$/, plain(250_000, 16_384, 1e-5)],
  [/^phi-4-mini$/, { ...plain(10_000, 131_072, 1e-5), partial_rotary_factor: 0.75, ...longRope }],
  [/^smollm-/, plain(10_000, 2048, 1e-5)],
  [/^smollm2-(?:135|360)m$/, plain(100_000, 8192, 1e-5)],
  [/^smollm2-1\.7b$/, plain(130_000, 8192, 1e-5)],
  [/^smolvlm-(?:256|500)m$/, plain(100_000, 8192, 1e-5)],
  [/^smolvlm-2\.2b$/, plain(273_768, 16_384, 1e-5)],
  [/^smollm3-/, plain(5_000_000, 65_536, 1e-6)],
  [/^olmo-(?:1b|7b)$/, plain(10_000, 2048)],
  [/^olmo-(?:1b|7b|1\.7)/, plain(10_000, 4096)],
  [/^olmo-2-/, plain(500_000, 4096, 1e-6)],
  [
    /^olmo-3-/,
    {
      ...plain(500_000, 65_536, 1e-6),
      rope_scaling: {
        rope_type: 'yarn',
        factor: 8,
        beta_fast: 32,
        beta_slow: 1,
        original_max_position_embeddings: 8192,
        attention_factor: 1.2079441541679836,
      },
    },
  ],
  [/^olmoe-/, plain(10_000, 4096, 1e-5)],
  [/^falcon3-/, { rope_theta: 1_000_042, rms_norm_eps: 1e-6 }],
  [/^falcon-7b$/, plain(10_000, 2048)],
  [/^pythia-|^gpt-neox-20b$/, { ...plain(10_000, 2048), partial_rotary_factor: 0.25 }],
  [/^starcoder2-3b$/, plain(999_999.4420358813, 16_384)],
  [/^starcoder2-7b$/, plain(1_000_000, 16_384)],
  [/^starcoder2-15b$/, plain(100_000, 16_384)],
  [/^granite-3\.3-/, plain(10_000_000, 131_072, 1e-5)],
  [/^c4ai-command-r7b-/, plain(50_000, 132_096)],
  [/^nemotron-mini-4b$/, { ...plain(10_000, 4096), partial_rotary_factor: 0.5 }],
  [/^ernie-4\.5-/, plain(500_000, 131_072, 1e-5)],
  [/^baichuan2-7b$/, plain(10_000, 4096, 1e-6)],
  [/^internlm2-/, plain(1_000_000, 32_768, 1e-5)],
  [/^dbrx$/, plain(500_000, 32_768)],
];

/** What the config.json of a model has of its positions and norms, by its plain name; null where it is not known here. */
export function hubPositions(name: string): Positions | null {
  return positions.find(([names]) => names.test(name))?.[1] ?? null;
}

/**
 * What an optimizer keeps for each parameter, and what its step reads and writes. Bytes are of the optimizer's own states: the master copy
 * of 16-bit weights is the runtime's (`masterBytes`).
 */
interface OptimizerTraits {
  /** Bytes of states a parameter where the weights that it updates are in fp32. */
  readonly state: number;
  /** States are made in the type of the weights that it updates (`torch.zeros_like`): half of `state` where those are in 16 bits. */
  readonly followsWeights?: true;
  /** Bytes that its step reads and writes for a parameter in all; absent: what `stepBytes` adds up. */
  readonly step?: number;
  /** Bytes of states a parameter of the word embedding, where they differ. */
  readonly embedding?: number;
  /** `state` is that of the layers' matrices; of all other parameters, which Adam updates. */
  readonly others?: number;
  /** States of the layers' dense matrices are those of a projection to few rows; its matrix is kept, or drawn again from a seed. */
  readonly projection?: 'kept' | 'drawn';
  /** In addition to `state`: two square matrices with their eigenvectors, for the two sides of each of the layers' dense matrices. */
  readonly keepsSquares?: true;
  /** The update of the layers' matrices is orthogonalised, by GEMMs (Newton-Schulz). */
  readonly orthogonalises?: true;
  /** It updates a parameter as soon as it has its gradient, and drops that: no buffer of gradients. */
  readonly dropsGradients?: true;
}

interface OptimizerRow extends OptimizerTraits {
  readonly names: readonly string[];
}

/** Two int8 states with an fp32 scale for each block of 256 elements, and one of them (bitsandbytes, `blocksize`). */
const twoInt8 = 2 + (2 * 4) / 256;
const oneInt8 = 1 + 4 / 256;

/**
 * Optimizers by the names that launchers and libraries have for them, ours first where we have one. Sources: `OptimizerNames` of
 * transformers 5.24 (training_args.py, trainer_optimizer.py: bitsandbytes updates the embedding in 32 bits; `rank` 128), Axolotl's
 * `CustomSupportedOptimizers` (utils/schemas/enums.py), DeepSpeed's runtime/config.py, Megatron-LM's `--optimizer`, GPT-NeoX's
 * `get_optimizer`, LLM Foundry's llmfoundry/optim; block-wise 8-bit states: Dettmers et al. 2022, arXiv 2110.02861; GaLore: arXiv
 * 2403.03507; APOLLO: 2412.05270; Muon: K. Jordan 2024; SOAP: 2409.11321; LOMO: 2306.09782. Sizes of AdEMAMix, Lion of 8 bits, SOAP and of
 * 1-bit Adam's error buffer are by what the optimizers are, not read in their sources.
 */
const rows = [
  {
    names: [
      'adam',
      'adamw',
      'adamw_torch',
      'adamw_torch_fused',
      'adamw_torch_xla',
      'adamw_torch_npu_fused',
      'adamw_apex_fused',
      'adamw_hf',
      'stable_adamw',
      'decoupled_adamw',
      'optimi_adamw',
      'adopt_adamw',
      'fused_adam',
      'fused_adamw',
      'megatron_fused_adam',
      'distributed_fused_adam',
      'mcore_distributed_optim',
      'cpu_adam',
      'cpu_torch_adam',
      'deepspeed_cpu_adam',
      'schedule_free_adamw',
      'schedule_free_radam',
      'lamb',
      'fused_lamb',
      'nadam',
      'radam',
    ],
    state: 8,
    followsWeights: true,
  },
  { names: ['adamw_anyprecision', 'paged_adamw_32bit', 'paged_adamw', 'adamw_32bit', 'adam_32bit'], state: 8 },
  { names: ['adam-bf16', 'fused_opt_states_bf16'], state: 4 },
  { names: ['adam-8bit', 'adamw_torch_8bit', 'ao_adamw_8bit', 'ao_adamw_fp8', 'adamw_fp8'], state: 2 },
  { names: ['adamw_torch_4bit', 'ao_adamw_4bit', 'adamw_4bit'], state: 1 },
  { names: ['adamw_bnb_8bit', 'adamw_8bit', 'paged_adamw_8bit'], state: twoInt8, embedding: 8 },
  { names: ['grokadamw'], state: 12, followsWeights: true },
  { names: ['onebitadam', 'zerooneadam', 'onebitlamb'], state: 12 },
  { names: ['ademamix', 'ademamix_32bit', 'paged_ademamix_32bit'], state: 12 },
  { names: ['ademamix_8bit', 'paged_ademamix_8bit'], state: 3 * oneInt8, embedding: 12 },
  // Bytes of a step without momentum's, as its time was measured with.
  { names: ['sgd'], state: 4, followsWeights: true, step: 14 },
  { names: ['sgd-no-momentum', 'sinkgd'], state: 0 },
  {
    names: [
      'lion',
      'lion_pytorch',
      'decoupled_lionw',
      'clip_lion',
      'adalr_lion',
      'fused_lion',
      'adagrad',
      'rmsprop',
      'novograd',
      'adam_mini',
      'schedule_free_sgd',
      'came_pytorch',
      'madgrad_wd',
    ],
    state: 4,
    followsWeights: true,
  },
  { names: ['lion_32bit', 'paged_lion_32bit', 'paged_lion', 'rmsprop_bnb', 'rmsprop_bnb_32bit'], state: 4 },
  { names: ['lion_8bit', 'paged_lion_8bit', 'rmsprop_bnb_8bit'], state: oneInt8, embedding: 4 },
  // A row and a column for each matrix.
  { names: ['adafactor', 'sm3'], state: 0 },
  { names: ['lomo', 'adalomo'], state: 0, dropsGradients: true },
  { names: ['galore_adamw'], state: 8, followsWeights: true, projection: 'kept' },
  { names: ['galore_adamw_8bit', 'q_galore_adamw8bit'], state: twoInt8, projection: 'kept' },
  { names: ['galore_adafactor'], state: 0, projection: 'kept' },
  { names: ['galore_adamw_layerwise'], state: 8, followsWeights: true, projection: 'kept', dropsGradients: true },
  { names: ['galore_adamw_8bit_layerwise'], state: twoInt8, projection: 'kept', dropsGradients: true },
  { names: ['galore_adafactor_layerwise'], state: 0, projection: 'kept', dropsGradients: true },
  { names: ['apollo_adamw'], state: 8, followsWeights: true, projection: 'drawn' },
  { names: ['apollo_adamw_layerwise'], state: 8, followsWeights: true, projection: 'drawn', dropsGradients: true },
  { names: ['muon', 'dist_muon', 'dion'], state: 4, followsWeights: true, others: 8, orthogonalises: true },
  { names: ['soap'], state: 8, keepsSquares: true },
  { names: ['none', 'no_op'], state: 0, step: 0 },
] as const satisfies readonly OptimizerRow[];

/** An optimizer by any of its names. */
type Optimizer = (typeof rows)[number]['names'][number];

const traits = Object.fromEntries<OptimizerTraits>(rows.flatMap((row) => row.names.map((name) => [name, row]))) as Readonly<
  Record<Optimizer, OptimizerTraits>
>;

/** All names, ours first. */
export const optimizers: readonly Optimizer[] = rows.flatMap((row): readonly Optimizer[] => row.names);

/** Names as they are compared: letters and digits, in any case. */
const plain = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
const byPlainName = new Map(optimizers.map((name) => [plain(name), name]));

/** What a name in a file means, the class of a Python path too (`torch.optim.AdamW`, `CPU_Adam`); null: no optimizer that is known. */
export function optimizerNamed(written: string): Optimizer | null {
  return byPlainName.get(plain(written.split('.').at(-1) ?? '')) ?? null;
}

/** What is known of an optimizer. */
export function traitsOfOptimizer(optimizer: Optimizer): OptimizerTraits {
  return traits[optimizer];
}

/** Rank of projections where no file gives one (GaLore and APOLLO in transformers). */
export const usualRank = 128;

/** The settings of training that decide the optimizer's bytes. */
interface Optimized {
  readonly optimizer: Optimizer;
  readonly precision: string;
  readonly optimizerStateBytes?: number;
  readonly masterWeightBytes?: MasterBytes;
}

/** Bytes of a master weight that a file may set; 0: there is none. */
export const masterWidths = [0, 2, 4] as const;
export type MasterBytes = (typeof masterWidths)[number];

/** Bytes a parameter of the copy of 16-bit weights that the optimizer updates: fp32 unless set otherwise; none in fp32. */
export function masterBytes({ optimizer, precision, masterWeightBytes = 4 }: Optimized): number {
  return precision === 'fp32' || optimizer === 'none' ? 0 : masterWeightBytes;
}

/** Bytes of states a parameter of the layers' matrices. */
export function stateBytes(training: Optimized): number {
  const { state, followsWeights } = traitsOfOptimizer(training.optimizer);
  const inHalf = followsWeights === true && training.precision !== 'fp32' && training.masterWeightBytes === 0;
  return training.optimizerStateBytes ?? (inHalf ? state / 2 : state);
}

/**
 * Bytes a parameter that an optimizer's step reads and writes: the gradient in fp32 once, master weight and states twice, the weight once;
 * without a master weight that twice. 30 for mixed-precision Adam (docs/model/time.md, After the pipeline).
 */
export function stepBytes(training: Optimized): number {
  const { optimizer, masterWeightBytes = 4 } = training;
  const { step } = traitsOfOptimizer(optimizer);
  const weight = masterWeightBytes === 0 ? 4 : 2 + 2 * masterWeightBytes;
  return step ?? 4 + weight + 2 * stateBytes(training);
}

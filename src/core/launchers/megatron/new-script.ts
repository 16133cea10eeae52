import type { Carried } from '../writing/editor';
import { slurmHeader, startLines } from '../writing/torchrun-script';
import { headerLines, type LaunchSettings } from '../writing/launch-settings';
import type { Remark } from '../writing/remarks';
import { isDataFlag } from './carried-flags';
import { oldestCore } from './core-version';
import { usualFp8Format } from '../../domain/number-formats';
import { hybridLetters } from './hybrid-flags';
import { modelFlags } from './model-flags';
import { dropoutShares } from './dropout-shares';
import { findSliceRuntime } from '../../slice-runtimes/registry';
import { shellValue } from './shell-syntax';
import { megatronFlags } from './written-keys';
import type { SettingEdit } from '../writing/desired-setting';
import { own } from '../../records';

/** How layers are issued, and how tokens get to their experts. */
function issueFlags({
  model,
  cudaGraphs,
  expertDispatcher = 'alltoall',
  overlapExpertComm,
  asyncTensorParallel,
  precision,
  gradAccumulationFp32,
  fp8Recipe,
  fp8ParamGather,
}: LaunchSettings): readonly string[] {
  const hasExperts = model.experts !== null;
  const isFlex = expertDispatcher !== 'alltoall';
  const graphs = {
    layers: ['--cuda-graph-impl transformer_engine', `--cuda-graph-scope ${hasExperts ? 'attn moe_router moe_preprocess' : 'attn mlp'}`],
    iteration: ['--cuda-graph-impl full_iteration', '--no-check-for-nan-in-loss-and-grad'],
  };
  return [
    ...(hasExperts ? [`--moe-token-dispatcher-type ${isFlex ? 'flex' : 'alltoall'}`] : []),
    ...(hasExperts && isFlex ? [`--moe-flex-dispatcher-backend ${expertDispatcher}`] : []),
    ...(overlapExpertComm === true ? ['--overlap-moe-expert-parallel-comm'] : []),
    ...(asyncTensorParallel === true ? ['--tp-comm-overlap'] : []),
    ...(precision === 'bf16' && !gradAccumulationFp32 ? ['--grad-reduce-in-bf16'] : []),
    ...(precision === 'fp16' && gradAccumulationFp32 ? ['--accumulate-allreduce-grads-in-fp32'] : []),
    ...(cudaGraphs === undefined ? [] : graphs[cudaGraphs]),
    // torchao's, which Transformer Engine lacks
    ...(fp8Recipe === undefined || fp8Recipe === 'rowwise' ? [] : [`--fp8-recipe ${fp8Recipe}`]),
    ...(fp8ParamGather === true ? ['--fp8-param-gather'] : []),
  ];
}

/**
 * A launch script for Megatron-LM, or for a runtime of token slices, which Slurm or a person starts.
 * @param carried learning rate, data, tokenizer, checkpoints and the like from the planned run's file, by `flagKey`.
 */
export function megatronScript(plan: LaunchSettings, edits: readonly SettingEdit[], gaps: readonly Remark[], carried: Carried): string {
  const { values } = carried;
  const { nodes, gpusPerNode, model } = plan;
  const isPatterned = edits.some(({ fact }) => fact === 'hybridPattern');
  const words = edits.flatMap((edit) => spellFlag(plan, edit) ?? []).filter((flag) => !isGoodAsNone(plan, flag));
  const isBatch = (flag: string): boolean => /^--(micro-batch|global-batch|bf16|fp16|fp8|fp4|recompute)/.test(flag);
  const isModel = (flag: string): boolean => /^--(seq-length|max-position|hybrid)/.test(flag);
  const positions = Math.max(plan.sequenceLength, model.maxPositions ?? 0);
  const runtime = findSliceRuntime(plan.sliced?.runtime ?? '');
  const isCarried = (keys: readonly string[]): boolean => keys.some((key) => values.has(key));
  const carriedLines = (ofData: boolean): string[] => [...values].flatMap(([key, line]) => (isDataFlag(key) === ofData ? [line] : []));
  const ofModel = modelFlags(model, isPatterned);
  const asked = askedData(runtime?.takes['tokenizer-type']?.[0]).filter(({ keys }) => !isCarried(keys));
  const flags = [...ofModel, ...words, ...values.values(), ...attentionFlag(plan), ...issueFlags(plan)];
  const core = runtime === undefined ? oldestStarted(plan, oldestCore(flags)) : null;
  const program = `"$MEGATRON/${hybridLetters(model) === null ? 'pretrain_gpt' : 'pretrain_mamba'}.py" \\
  "\${MODEL_ARGS[@]}" "\${PARALLEL_ARGS[@]}" "\${TRAINING_ARGS[@]}" "\${DATA_ARGS[@]}"`;
  return `${slurmHeader(plan)}
${[...headerLines(plan, gaps), ...versionLine(core)].map((line) => `# ${line}`).join('\n')}
set -euo pipefail

${environmentLines(plan, core)
  .map((line) => `${line}\n`)
  .join('')}
# What no plan knows: a clone of ${runtime?.version ?? 'Megatron-LM'}${asked.map(({ what }) => `, ${what}`).join('')}.
MEGATRON=\${MEGATRON:-.}
${asked.map(({ variable }) => `${variable}\n`).join('')}
GPUS_PER_NODE=${gpusPerNode}
NNODES=\${SLURM_NNODES:-${nodes}}

MODEL_ARGS=(
${lines([
  ...ofModel.filter((flag) => !isGoodAsNone(plan, flag)).map((flag) => spelled(plan, flag)),
  ...words.filter(isModel).filter((flag) => !flag.startsWith('--max-position')),
  `--max-position-embeddings ${positions}`,
  ...attentionFlag(plan),
  ...dropoutFlags(plan),
  ...lossFlags(plan),
])}
)

# Data parallelism is what these sizes leave of the GPUs.
PARALLEL_ARGS=(
${lines([...words.filter((flag) => !isBatch(flag) && !isModel(flag)), ...issueFlags(plan)])}
)

TRAINING_ARGS=(
${lines(words.filter(isBatch))}
${lines([...trainingDefaults.filter(({ keys }) => !isCarried(keys)).flatMap(({ flags }) => flags), ...carriedLines(false)])}
)

DATA_ARGS=(
${lines([...asked.flatMap(({ flags }) => flags), ...carriedLines(true)])}
)

${startLines(plan, program)}
`;
}

/** Flags that a script has where the planned run's file gives none of `keys`. */
interface FallbackFlags {
  /** By `flagKey`. */
  readonly keys: readonly string[];
  readonly flags: readonly string[];
}

const trainingDefaults: readonly FallbackFlags[] = [
  { keys: ['train-iters', 'train-samples'], flags: ['--train-iters 1000 # as long as you train'] },
  { keys: ['lr'], flags: ['--lr 1.0e-4'] },
  { keys: ['lr-decay-style'], flags: ['--lr-decay-style cosine'] },
];

/** Flags with a value that whoever starts the script sets. */
interface AskedFlags extends FallbackFlags {
  readonly what: string;
  /** The line that defines it as a variable. */
  readonly variable: string;
}

const usualTokenizer = 'HuggingFaceTokenizer';

/** Data, tokenizer and checkpoints. @param tokenizer the type to write: the first that a runtime of token slices takes. */
function askedData(tokenizer = usualTokenizer): readonly AskedFlags[] {
  const model = tokenizer === usualTokenizer ? 'folder or name' : 'SentencePiece model';
  return [
    {
      what: 'the data',
      keys: ['data-path', 'train-data-path', 'data-args-path', 'per-split-data-args-path', 'mock-data'],
      flags: ['--data-path "$DATA_PATH"'],
      variable: 'DATA_PATH=${DATA_PATH:?set it to the prefix of the preprocessed data}',
    },
    {
      what: 'the tokenizer',
      keys: ['tokenizer-type'],
      flags: [`--tokenizer-type ${tokenizer}`, '--tokenizer-model "$TOKENIZER"'],
      variable: `TOKENIZER=\${TOKENIZER:?set it to the ${model} of the tokenizer}`,
    },
    {
      what: 'where to save',
      keys: ['save'],
      flags: ['--save "$CHECKPOINTS"', '--save-interval 500 # without it, --save stops the run'],
      variable: 'CHECKPOINTS=${CHECKPOINTS:-checkpoints}',
    },
  ];
}

/** The oldest release that takes the script; a runtime of token slices is one version, which the script names elsewhere. */
function versionLine(core: number | null): readonly string[] {
  return core === null ? [] : [`For Megatron-LM core 0.${core} and newer.`];
}

/** Written always: without these flags Megatron-LM has dropout. */
function dropoutFlags(plan: LaunchSettings): readonly string[] {
  const { attention, hidden } = dropoutShares(plan);
  const text = (share: number): string => (share === 0 ? '0.0' : String(share));
  return [`--attention-dropout ${text(attention)}`, `--hidden-dropout ${text(hidden)}`];
}

function lossFlags(plan: LaunchSettings): readonly string[] {
  const flag = 'cross-entropy-loss-fusion';
  return plan.fusedCrossEntropy && !Object.hasOwn(lackedBy(plan), flag) ? [`--${flag}`] : [];
}

/** A runtime of slices that does not know this flag chooses attention by those that it needs. */
function attentionFlag(plan: LaunchSettings): readonly string[] {
  const isKnown = !Object.hasOwn(lackedBy(plan), 'attention-backend');
  const flag = `--attention-backend ${isKnown ? plan.attentionBackend : plan.attention}`;
  return isGoodAsNone(plan, flag) ? [] : [flag];
}

/** Whether the runtime behaves as this flag asks although it does not know the flag. */
function isGoodAsNone(plan: LaunchSettings, written: string): boolean {
  const [flag = '', value] = written.split(' ');
  const lacks = lackedBy(plan);
  const key = flag.replace(/^--/, '');
  return Object.hasOwn(lacks, key) && own(lacks, key) === value;
}

/** A flag in the words of the runtime of slices. */
function spelled({ sliced }: LaunchSettings, written: string): string {
  const { spells = {} } = findSliceRuntime(sliced?.runtime ?? '') ?? {};
  const [flag = '', ...values] = written.replace(/^--/, '').split(' ');
  return [`--${own(spells, flag) ?? flag}`, ...values].join(' ');
}

/** Flags that the runtime of slices does not know, with the value that is as good as none. */
function lackedBy({ sliced }: LaunchSettings): Readonly<Record<string, string | null>> {
  return findSliceRuntime(sliced?.runtime ?? '')?.lacks ?? {};
}

function lines(flags: readonly string[]): string {
  return flags.map((flag) => `  ${flag}`).join('\n');
}

function spellFlag({ fp8Recipe, fp8Format = usualFp8Format(fp8Recipe) }: LaunchSettings, edit: SettingEdit): string | null {
  const { fact, value, flag: written } = edit;
  const narrowFlags: Readonly<Record<string, string>> = { fp8: `--fp8-format ${fp8Format}`, nvfp4: '--fp4-format e2m1' };
  if (fact === 'precision') return own(narrowFlags, String(value)) ?? `--${String(value)}`;
  const flag = written ?? megatronFlags[fact]?.[0];
  if (flag === undefined || value === false) return null;
  return value === true ? flag : `${flag} ${shellValue(value)}`;
}

/**
 * Environment variables of a script for Megatron-LM (megatron/training/arguments.py 1453 to 1479 and 1961 to 1967 at d98e8a64).
 * `--attention-backend` sets those of Transformer Engine.
 * @param core minor number of the oldest release of Megatron-LM's core that takes the script; null for a fork.
 */
function environmentLines(plan: LaunchSettings, core: number | null): readonly string[] {
  const { computeCapability, cudaGraphs, sliced } = plan;
  // refused with the CUDA graphs of a layer; forks may run on a PyTorch that does not know it
  const canExpand = computeCapability !== null && cudaGraphs === undefined && sliced === undefined;
  return [
    ...(needsOneConnection(plan, core) ? ['export CUDA_DEVICE_MAX_CONNECTIONS=1'] : []),
    ...(canExpand ? ['export PYTORCH_CUDA_ALLOC_CONF=${PYTORCH_CUDA_ALLOC_CONF:-expandable_segments:True}'] : []),
  ];
}

/** The oldest release that takes a script started so: 0.11 wants one connection always. @param core the oldest that takes its flags. */
function oldestStarted(plan: LaunchSettings, core: number): number {
  return needsOneConnection(plan, core) ? core : Math.max(core, 12);
}

/** Where a tensor or sequence is split; from core 0.13 on not on Blackwell, nor where exchanges with experts are overlapped. */
function needsOneConnection({ tensor, context, computeCapability, overlapExpertComm }: LaunchSettings, core: number | null): boolean {
  const isBlackwell = Number(computeCapability ?? 0) >= 10 && core !== null && core >= 13;
  return (tensor > 1 || context > 1) && !isBlackwell && overlapExpertComm !== true;
}

import { vocabOfName, vocabOfType } from '../tables/tokenizers';
import type { Finding } from '../../findings';
import { quoted } from '../../text';
import type { Fact, Facts } from '../../run/facts';
import { isHybrid } from './hybrid';
import {
  backendKernels,
  backends,
  flexDispatchers,
  fp8FormatWords,
  graphScopes,
  positionKinds,
  sharedSettings,
  tokenDispatchers,
} from './core-keys';
import { detailFlagReads, readDetails } from './detail-facts';
import { detailFlags, sharedDetails } from './detail-keys';
import { llama3Scaling } from './megatron-defaults';
import { readCheckpointFlags } from './checkpoint-flags';
import {
  emptied,
  expertsOfReplicas,
  paddedWidth,
  partitioned,
  readRopeScaling,
  readScheduleFlags,
  slicedFacts,
  wholeRecompute,
} from './derived-facts';
import { flagsThatDiffer, type MegatronFork } from './fork';
import { flagFact, flagOutcome, placeOfValue, type LocatedFlag } from '../tables/located-flag';
import { gradientType, masterType, typeBytes } from '../tables/optimizer-facts';
import { pathWord } from '../tables/reads';
import { factsOfTable, joined, lenient, tableReads, renamed, row, unlessAuto, type FlagTable } from '../tables/table';
import { sliceFlags } from '../../slice-runtimes/flags';
import {
  any,
  choice,
  count,
  countOrNone,
  countUnlessZero,
  deviceCount,
  differentCounts,
  fixed,
  keep,
  names,
  nodeCount,
  numbers,
  on,
  positiveNumber,
  processCount,
  sameCount,
  share,
  taskCount,
  text,
  texts,
  wholes,
  window,
  type FlagRead,
} from '../../languages/reads';
import { anyOf, sentence, type Value } from '../../sentence';
import { own } from '../../records';

const granularities = ['full', 'selective', 'none'] as const;
/** An activation with a gate, by its name: `geglu`, `swiglu`. */
const gatedByName: FlagRead<boolean> = {
  words: 'one',
  of: ([name = '']) => (/glu$/i.test(name) ? { value: true } : { silent: true }),
};

const positions = {
  ...positionKinds,
  relative: null,
  // of Megatron-DeepSpeed and other forks
  rotary: 'rotary',
  absolute: 'learned',
  alibi: 'none',
} as const;

/**
 * The flags of Megatron-LM (`megatron/training/arguments.py`), of Megatron-DeepSpeed where it has its own, and of the launchers in front of
 * them, by the fact that they give. Of several flags the first one present wins.
 */
const ownFlags: FlagTable = {
  kvHeads: [row('num-key-value-heads', count(1))],
  // the second of each: YaLM's (megatron_lm/megatron/arguments.py of yandex/YaLM-100B)
  ffn: [row('intermediate-size', count(1))],
  gatedMlp: [
    row('swiglu', on(true)),
    row('glu', on(true)),
    row('geglu', on(true)),
    row('quick-geglu', on(true)),
    row('activation-type', gatedByName),
    // of BigScience's fork (megatron/model/glu_activations.py)
    row('glu-activation', gatedByName),
  ],
  vocab: [
    row('vocab-size', countUnlessZero),
    row('padded-vocab-size', count(1)),
    // of BigScience's fork (megatron/tokenizer/tokenizer.py 72 to 82)
    row('pad-vocab-size-to', count(1)),
    row('tokenizer-type', vocabOfType),
    row('tokenizer-name-or-path', vocabOfName),
    row('tokenizer-model', vocabOfName),
    row('vocab-file', vocabOfName),
  ],
  tiedEmbeddings: [row('untie-embeddings-and-output-weights', on(false))],
  positions: [
    row('position-embedding-type', choice(positions)),
    row('use-rotary-position-embeddings', fixed('rotary')),
    row('no-position-embedding', fixed('none')),
    row('pos-encoding-type', choice({ rotary: 'rotary' })),
  ],
  rotaryBase: [row('rotary-base', positiveNumber)],
  rotaryShare: [row('rotary-percent', share)],
  ropeScaling: [row('use-rope-scaling', fixed(llama3Scaling))],
  normEpsilon: [row('norm-epsilon', positiveNumber), row('layernorm-epsilon', positiveNumber)],
  norm: [row('normalization', choice({ layernorm: 'layernorm', rmsnorm: 'rmsnorm' }))],
  bias: [row('disable-bias-linear', on(false)), row('add-bias-linear', on(true))],
  qkNorm: [row('qk-l2-norm', on(true))],
  // the second: MegaBlocks'
  experts: [row('num-experts', sameCount), row('moe-num-experts', count(1))],
  // Megatron-DeepSpeed: pyramids (a number for each layer with experts) and residual experts (megatron/model/transformer.py 1650)
  unlikeExperts: [row('num-experts', differentCounts), row('mlp-type', choice({ standard: null, residual: 'residual' }))],
  activeExperts: [row('topk', count(1)), row('moe-top-k', count(1))],
  expertFfn: [row('moe-intermediate-size', count(1))],
  firstDenseLayers: [row('first-k-dense-replace', countOrNone)],
  moeLayerFrequency: [row('moe-layer-freq', text), row('expert-interval', text)],
  slidingWindow: [row('window-size', window)],
  windowFrequency: [row('window-attn-skip-freq', text)],
  encoderLayers: [row('encoder-num-layers', count(1))],
  decoderLayers: [row('decoder-num-layers', count(1))],
  encoderSequenceLength: [row('encoder-seq-length', count(1))],
  decoderSequenceLength: [row('decoder-seq-length', count(1))],
  hybridPattern: [row('hybrid-layer-pattern', text), row('hybrid-override-pattern', text)],
  linearAttentionFrequency: [row('linear-attention-freq', text)],
  // MindSpeed gives the first ranks one head more (core/tensor_parallel/unaligned_layers)
  unevenTensor: [row('unaligned-linear', on(true))],
  passOverlap: [row('moe-fb-overlap', on(true))],
  tensor: [row('model-parallel-size', count(1))],
  context: [row('ds-sequence-parallel-size', count(1))],
  expert: [row('moe-expert-parallel-size', count(1))],
  virtualStages: [row('num-virtual-stages-per-pipeline-rank', count(1))],
  pipelineLayout: [row('pipeline-model-parallel-layout', text)],
  stageLayers: [row('num-layer-list', numbers)],
  emptyLayers: [row('noop-layers', numbers)],
  partitionMethod: [row('pp-partition-method', text)],
  splitRank: [row('pipeline-model-parallel-split-rank', count(1))],
  firstStageLayers: [row('decoder-first-pipeline-num-layers', count(1))],
  lastStageLayers: [row('decoder-last-pipeline-num-layers', count(1))],
  embeddingAsLayer: [row('account-for-embedding-in-pipeline-split', on(true))],
  lossAsLayer: [row('account-for-loss-in-pipeline-split', on(true))],
  dataReplicate: [row('num-distributed-optimizer-instances', count(1))],
  contextCommunication: [row('cp-comm-type', texts)],
  contextLevels: [row('hierarchical-context-parallel-sizes', wholes)],
  microBatchGroup: [row('microbatch-group-size-per-virtual-pipeline-stage', count(1)), row('microbatch-group-size-per-vp-stage', count(1))],
  pipelineModule: [row('no-pipeline-parallel', on(false))],
  sequenceLength: [row('encoder-seq-length', count(1))],
  microBatch: [row('batch-size', count(1))],
  batchSchedule: [row('step-batch-size-schedule', texts), row('rampup-batch-size', texts)],
  precision: [
    row('fp8-format', choice({ e4m3: 'fp8', hybrid: 'fp8' })),
    row('fp8', choice({ e4m3: 'fp8', hybrid: 'fp8' })),
    row('fp4-format', lenient(choice({ e2m1: 'nvfp4' }))),
    row('fp4', lenient(choice({ e2m1: 'nvfp4' }))),
    row('bf16', fixed('bf16')),
    row('fp16', fixed('fp16')),
  ],
  fp8Format: [row('fp8-format', choice(fp8FormatWords)), row('fp8', choice(fp8FormatWords))],
  optimizer: [row('optimizer', text)],
  precisionAware: [row('use-precision-aware-optimizer', on(true))],
  firstMomentBytes: [row('exp-avg-dtype', typeBytes)],
  secondMomentBytes: [row('exp-avg-sq-dtype', typeBytes)],
  masterWeightBytes: [row('main-params-dtype', masterType)],
  zeroStage: [row('zero-stage', count(0, 3))],
  recomputeGranularity: [
    row('recompute-granularity', keep(granularities)),
    row('activations-checkpoint-granularity', keep(granularities)),
    row('recompute-activations', fixed('selective')),
    row('checkpoint-activations', fixed('full')),
  ],
  recomputeMethod: [
    row('recompute-method', keep(['uniform', 'block', 'chunk'])),
    row('activations-checkpoint-method', keep(['uniform', 'block'])),
  ],
  recomputeLayers: [
    // none where another setting recomputes (MindSpeed), or to measure without (block)
    row('activations-checkpoint-num-layers', count(0)),
    row('checkpoint-num-layers', count(1)),
  ],
  recomputeModules: [row('recompute-modules', names)],
  attention: [
    row('attention-backend', choice(backends)),
    row('use-flash-attn', fixed('flash')),
    row('use-flash-attn-v2', fixed('flash')),
    row('use-flash-attn-triton', fixed('flash')),
  ],
  attentionKernel: [row('attention-backend', choice(backendKernels)), row('use-flash-attn-v2', fixed('flash2'))],
  cpuOffloading: [row('cpu-offloading', on(true)), row('cpu-offloading-num-layers', any)],
  activationOffloadLayers: [row('cpu-offloading-num-layers', count(0))],
  activationCheckpointing: [row('deepspeed-activation-checkpointing', on(true))],
  offloadOptimizer: [row('optimizer-cpu-offload', fixed('cpu')), row('cpu-optimizer', fixed('cpu'))],
  gradAccumulationFusion: [row('no-gradient-accumulation-fusion', on(false))],
  maxPendingBackward: [row('zero-bubble-max-pending-backward', unlessAuto(count(1)))],
  gradAccumulationFp32: [
    row('grad-reduce-in-bf16', on(false)),
    row('main-grads-dtype', gradientType),
    row('accumulate-allreduce-grads-in-fp32', fixed(true)),
  ],
  asyncTensorParallel: [row('tp-comm-overlap', on(true))],
  cudaGraphs: [
    row('cuda-graph-impl', choice(graphScopes)),
    row('enable-cuda-graph', fixed('layers')),
    row('external-cuda-graph', fixed('layers')),
  ],
  expertDispatcher: [
    row('moe-flex-dispatcher-backend', choice(flexDispatchers)),
    row('moe-enable-deepep', fixed('deepep')),
    row('moe-token-dispatcher-type', choice(tokenDispatchers)),
  ],
  overlapP2p: [row('no-overlap-p2p-communication', on(false)), row('overlap-p2p-communication', on(true))],
  slices: sliceFlags.splits.map((flag) => row(flag, count(1))),
  sliceRule: [...sliceFlags.rules].map(([flag, words]) => row(flag, choice(words))),
  sliceLengths: sliceFlags.lengths.map((flag) => row(flag, numbers)),
  // the first of each is slime's, of the actor that trains (slime/utils/arguments.py)
  nodes: [row('actor-num-nodes', count(1)), row('nnodes', nodeCount), row('nodes', nodeCount), row('num-nodes', count(1))],
  gpusPerNode: [
    row('actor-num-gpus-per-node', count(1)),
    row('nproc-per-node', processCount),
    row('num-gpus', processCount),
    row('gpus-per-node', deviceCount),
    row('gres', deviceCount),
    row('ntasks-per-node', taskCount),
  ],
  world: [row('ntasks', taskCount)],
};

/** Every flag that gives a fact. */
export const flagTable: FlagTable = joined(
  renamed(joined(sharedSettings, sharedDetails), (name) => name.replaceAll('_', '-')),
  joined(ownFlags, detailFlags),
);

/** Read together with others: what they add is in `derived`. */
const otherFlags: Readonly<Record<string, FlagRead<unknown>>> = {
  ...detailFlagReads,
  'group-query-attention': on(true),
  'moe-expert-model-parallelism': on(true),
  'is-hybrid-model': on(true),
  'deepspeed-config': text,
  'rope-scaling-factor': positiveNumber,
  'rotary-seq-len-interpolation-factor': count(1),
  'n-shared-experts': count(0),
  'schedules-method': text,
  'enable-zero-bubble': on(true),
  'zero-bubble-v-schedule': on(true),
  'zero-bubble-v-schedule-mem-setup': text,
  'enable-zbh1-pipeline': on(true),
  ...Object.fromEntries(sliceFlags.others.map(({ flag, word }): [string, FlagRead<unknown>] => [flag, word === null ? on(true) : text])),
};

/** slime's flag of the model on Hugging Face's hub, whose sizes its scripts have in a file of their own (`source models/qwen3-4B.sh`). */
const checkpointOfHub = 'hf-checkpoint';

const readsByFlag: ReadonlyMap<string, FlagRead<unknown>> = new Map<string, FlagRead<unknown>>([
  ...tableReads(flagTable),
  ...Object.entries(otherFlags),
  [checkpointOfHub, pathWord],
]);

/** Key of a flag in the maps here: `--nproc_per_node` and `nproc-per-node` are the same. */
export function flagKey(name: string): string {
  return name.replace(/^-+/, '').replaceAll('_', '-');
}

/** How many words belong to a known flag: `none` for a switch; undefined for one that planning does not use. */
export function flagWords(key: string): FlagRead<unknown>['words'] | undefined {
  return readsByFlag.get(key)?.words;
}

/**
 * What flags set, by `flagKey`, as argparse leaves them (of a repeated flag the last). A value that is unknown or not allowed gives no
 * fact; see `megatronRemarks`.
 */
export function megatronFacts(flags: ReadonlyMap<string, LocatedFlag>): Facts {
  const facts = withDerived(factsOfTable(flagTable, flags), flags);
  const flavor = facts.layers === undefined && facts.hidden === undefined ? flagFact(flags.get(checkpointOfHub), pathWord) : undefined;
  return { ...facts, ...(flavor && { flavor }) };
}

/** Flags whose value the program that a script starts will refuse. */
export function megatronRemarks(flags: ReadonlyMap<string, LocatedFlag>, fork: MegatronFork): readonly Finding[] {
  return [...flags].flatMap(([key, flag]) => {
    const expects = expectedValue(key, flag, fork);
    if (expects === null) return [];
    const given =
      flag.words.length === 0 ? sentence`has no value` : sentence`is ${quoted(flag.words.map((entry) => entry.text).join(' '))}`;
    return [
      {
        code: 'flag-invalid-value',
        severity: 'error',
        place: placeOfValue(flag),
        message: sentence`${flag.name} ${given}`,
        remedy: sentence`give it ${expects}`,
        fixes: [],
      },
    ];
  });
}

/** What a flag should have been given instead of its value; null: the value is taken, or not known, or a place to fill in. */
function expectedValue(key: string, flag: LocatedFlag, { choices }: MegatronFork): Value | null {
  if (flag.words.some((entry) => entry.text !== null && placeholder.test(entry.text))) return null;
  if (flagsThatDiffer.has(key)) {
    const allowed = own(choices, key);
    const [word] = flag.words;
    return allowed === undefined || word?.text === null || allowed.includes(word?.text ?? '') ? null : anyOf(allowed);
  }
  const read = readsByFlag.get(key);
  const outcome = read === undefined ? null : flagOutcome(flag, read);
  return outcome !== null && 'expects' in outcome ? outcome.expects : null;
}

/** What stands for a value that the reader of a script fills in: `your_own_num_nodes`, `<TP>`. */
const placeholder = /^your?[_-]|^<.*>$|^\[.*\]$|^x{3,}$/i;

/** Megatron's own rules between flags (`validate_args`). */
function withDerived(facts: Facts, flags: ReadonlyMap<string, LocatedFlag>): Facts {
  const grouped = flags.get('group-query-attention');
  const isGrouped = flagFact(grouped, on(true));
  const { kvHeads, world, ...rest } = facts;
  const half = flagFact(flags.get('bf16'), fixed('bf16')) && flagFact(flags.get('fp16'), fixed('fp16'));
  const isPerNode = flags.has('nproc-per-node');
  const usedKvHeads =
    kvHeads?.name === undefined || flagKey(kvHeads.name) !== 'num-query-groups' || isGrouped?.value === true ? kvHeads : undefined;
  // argparse's default of --num-query-groups is 1.
  const oneGroup = isGrouped?.value === true && !flags.has('num-query-groups') ? { ...isGrouped, value: 1 } : undefined;
  const groups = usedKvHeads ?? oneGroup;
  const shared = facts.sharedExpertFfn ?? sharedWidth(facts, flags);
  const sharedExperts = shared === undefined ? undefined : wholeRatio(shared, facts.expertFfn ?? facts.ffn);
  const isT5 = facts.encoderSequenceLength !== undefined && facts.decoderSequenceLength !== undefined;
  // Of one number of layers both stacks have as many (`pretrain_t5.py`).
  const decoderLayers = facts.decoderLayers ?? (isT5 ? (facts.layers ?? facts.encoderLayers) : undefined);
  const encoderLayers = facts.encoderLayers ?? (decoderLayers === undefined ? undefined : facts.layers);
  // in examples/multimodal `--seq-length` is that of the images (model.py 234 at d98e8a64)
  const ofText = flags.has('language-model-type') ? facts.decoderSequenceLength : undefined;
  const hybrid = flagFact(flags.get('is-hybrid-model'), on(true));
  const isBareHybrid = hybrid?.value === true && !isHybrid(facts);
  return {
    ...rest,
    // Without a pattern or shares all layers of a hybrid are Mamba's.
    ...(isBareHybrid && { hybridAttentionRatio: { ...hybrid, value: 0 } }),
    ...(groups && { kvHeads: groups }),
    ...(ofText && { sequenceLength: ofText }),
    ...(shared && { sharedExpertFfn: shared }),
    ...(sharedExperts && { sharedExperts }),
    ...wholeRecompute(facts),
    ...emptied(facts),
    ...partitioned(facts),
    ...paddedWidth(facts),
    ...expertsOfReplicas(facts, flags),
    ...readScheduleFlags(flags),
    ...readRopeScaling(facts, flags),
    ...readDetails(facts, flags),
    ...slicedFacts(flags),
    ...readCheckpointFlags(flags),
    ...(encoderLayers && { encoderLayers }),
    ...(encoderLayers && decoderLayers && { decoderLayers }),
    // Under a launcher of its own on every node, tasks are nodes.
    ...(world && !isPerNode && { world }),
    ...(half && { secondPrecision: half }),
  };
}

/** MindSpeed-LLM's `--n-shared-experts`, each as wide as a routed one. */
function sharedWidth(facts: Facts, flags: ReadonlyMap<string, LocatedFlag>): Fact<number> | undefined {
  const shared = flagFact(flags.get('n-shared-experts'), count(0));
  const width = (facts.expertFfn ?? facts.ffn)?.value;
  return shared === undefined || shared.value === 0 || width === undefined
    ? undefined
    : { value: shared.value * width, source: { kind: 'default', reason: sentence`${shared.value} shared experts of ${width}` } };
}

/** Shared experts counted in widths of one routed expert; undefined where that is not a whole number. */
function wholeRatio(total: Fact<number>, one: Fact<number> | undefined): Fact<number> | undefined {
  const value = one === undefined ? NaN : total.value / one.value;
  return Number.isInteger(value) ? { ...total, value } : undefined;
}

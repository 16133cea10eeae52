import { vocabOfName, vocabOfType } from '../tables/tokenizers';
import type { Finding } from '../../findings';
import { quoted } from '../../text';
import type { Fact, Facts } from '../../formats/facts';
import { isHybrid } from '../../formats/hybrid';
import { backendKernels, backends, flexDispatchers, fp8RecipeWords, graphScopes, tokenDispatchers } from './core-keys';
import { llama3Scaling } from './megatron-defaults';
import { scalingOf } from './rope-scaling';
import { emptied, paddedWidth, partitioned, wholeRecompute } from './fork-facts';
import { flagsThatDiffer, type MegatronFork } from './fork';
import { factOf, outcomeOf, placeOfValue, type LocatedFlag } from '../tables/located-flag';
import { gradientType, masterType, typeBytes } from '../tables/optimizer-facts';
import { scheduleOf, slicedFacts } from './schedule-flags';
import { factsOfTable, readsOf, rule, type FlagTable } from '../tables/flag-table';
import { sliceFlags } from '../../slice-runtimes/flags';
import { lenient } from '../tables/key-table';
import {
  any,
  choice,
  count,
  countOrNone,
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

const granularities = ['full', 'selective', 'none'] as const;
/** An activation with a gate, by its name: `geglu`, `swiglu`. */
const gatedByName: FlagRead<boolean> = {
  words: 'one',
  of: ([name = '']) => (/glu$/i.test(name) ? { value: true } : { silent: true }),
};

const positionKinds = {
  learned_absolute: 'learned',
  rope: 'rotary',
  mrope: 'rotary',
  yarn: 'rotary',
  none: 'none',
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
const flagTable: FlagTable = {
  layers: [rule('num-layers', count(1))],
  hidden: [rule('hidden-size', count(1))],
  heads: [rule('num-attention-heads', count(1))],
  kvHeads: [rule('num-query-groups', count(1)), rule('num-key-value-heads', count(1))],
  headDim: [rule('kv-channels', count(1))],
  // the second of each: YaLM's (megatron_lm/megatron/arguments.py of yandex/YaLM-100B)
  ffn: [rule('ffn-hidden-size', count(1)), rule('intermediate-size', count(1))],
  gatedMlp: [
    rule('swiglu', on(true)),
    rule('geglu', on(true)),
    rule('quick-geglu', on(true)),
    rule('activation-type', gatedByName),
    // of BigScience's fork (megatron/model/glu_activations.py)
    rule('glu-activation', gatedByName),
  ],
  vocab: [
    rule('vocab-size', count(1)),
    rule('padded-vocab-size', count(1)),
    // of BigScience's fork (megatron/tokenizer/tokenizer.py 72 to 82)
    rule('pad-vocab-size-to', count(1)),
    rule('tokenizer-type', vocabOfType),
    rule('tokenizer-name-or-path', vocabOfName),
    rule('tokenizer-model', vocabOfName),
    rule('vocab-file', vocabOfName),
  ],
  vocabDivisor: [rule('make-vocab-size-divisible-by', count(1))],
  tiedEmbeddings: [rule('untie-embeddings-and-output-weights', on(false))],
  maxPositions: [rule('max-position-embeddings', count(1))],
  positions: [
    rule('position-embedding-type', choice(positionKinds)),
    rule('use-rotary-position-embeddings', fixed('rotary')),
    rule('no-position-embedding', fixed('none')),
    rule('pos-encoding-type', choice({ rotary: 'rotary' })),
  ],
  rotaryBase: [rule('rotary-base', positiveNumber)],
  rotaryShare: [rule('rotary-percent', share)],
  ropeScaling: [rule('use-rope-scaling', fixed(llama3Scaling))],
  normEpsilon: [rule('norm-epsilon', positiveNumber), rule('layernorm-epsilon', positiveNumber)],
  norm: [rule('normalization', choice({ layernorm: 'layernorm', rmsnorm: 'rmsnorm' }))],
  bias: [rule('disable-bias-linear', on(false)), rule('add-bias-linear', on(true))],
  qkvBias: [rule('add-qkv-bias', on(true))],
  qkNorm: [rule('qk-layernorm', on(true)), rule('qk-l2-norm', on(true))],
  experts: [rule('num-experts', sameCount)],
  // Megatron-DeepSpeed: pyramids (a number for each layer with experts) and residual experts (megatron/model/transformer.py 1650)
  unlikeExperts: [rule('num-experts', differentCounts), rule('mlp-type', choice({ standard: null, residual: 'residual' }))],
  activeExperts: [rule('moe-router-topk', count(1)), rule('topk', count(1))],
  expertFfn: [rule('moe-ffn-hidden-size', count(1)), rule('moe-intermediate-size', count(1))],
  sharedExpertFfn: [rule('moe-shared-expert-intermediate-size', count(1))],
  firstDenseLayers: [rule('first-k-dense-replace', countOrNone)],
  moeLayerFrequency: [rule('moe-layer-freq', text), rule('expert-interval', text)],
  latentAttention: [rule('multi-latent-attention', on(true))],
  qLoraRank: [rule('q-lora-rank', count(1))],
  kvLoraRank: [rule('kv-lora-rank', count(1))],
  qkNopeHeadDim: [rule('qk-head-dim', count(1))],
  qkRopeHeadDim: [rule('qk-pos-emb-head-dim', count(1))],
  vHeadDim: [rule('v-head-dim', count(1))],
  mtpLayers: [rule('mtp-num-layers', count(0))],
  slidingWindow: [rule('window-size', window)],
  windowFrequency: [rule('window-attn-skip-freq', text)],
  encoderLayers: [rule('encoder-num-layers', count(1))],
  decoderLayers: [rule('decoder-num-layers', count(1))],
  encoderSequenceLength: [rule('encoder-seq-length', count(1))],
  decoderSequenceLength: [rule('decoder-seq-length', count(1))],
  hybridPattern: [rule('hybrid-layer-pattern', text), rule('hybrid-override-pattern', text)],
  hybridAttentionRatio: [rule('hybrid-attention-ratio', share)],
  hybridMlpRatio: [rule('hybrid-mlp-ratio', share)],
  linearAttentionFrequency: [rule('linear-attention-freq', text)],
  outputGate: [rule('attention-output-gate', on(true))],
  expertLatent: [rule('moe-latent-size', count(1))],
  stateHeads: [rule('mamba-num-heads', count(1)), rule('linear-num-value-heads', count(1))],
  stateHeadDim: [rule('mamba-head-dim', count(1)), rule('linear-value-head-dim', count(1))],
  stateDim: [rule('mamba-state-dim', count(1)), rule('linear-key-head-dim', count(1))],
  stateGroups: [rule('mamba-num-groups', count(1)), rule('linear-num-key-heads', count(1))],
  stateConvolution: [rule('linear-conv-kernel-dim', count(1))],
  // MindSpeed gives the first ranks one head more (core/tensor_parallel/unaligned_layers)
  unevenTensor: [rule('unaligned-linear', on(true))],
  tensor: [rule('tensor-model-parallel-size', count(1)), rule('model-parallel-size', count(1))],
  pipeline: [rule('pipeline-model-parallel-size', count(1))],
  context: [rule('context-parallel-size', count(1)), rule('ds-sequence-parallel-size', count(1))],
  expert: [rule('expert-model-parallel-size', count(1)), rule('moe-expert-parallel-size', count(1))],
  expertTensor: [rule('expert-tensor-parallel-size', count(1))],
  virtualStages: [rule('num-virtual-stages-per-pipeline-rank', count(1))],
  layersPerVirtualStage: [rule('num-layers-per-virtual-pipeline-stage', count(1))],
  pipelineLayout: [rule('pipeline-model-parallel-layout', text)],
  stageLayers: [rule('num-layer-list', numbers)],
  emptyLayers: [rule('noop-layers', numbers)],
  partitionMethod: [rule('pp-partition-method', text)],
  splitRank: [rule('pipeline-model-parallel-split-rank', count(1))],
  firstStageLayers: [rule('decoder-first-pipeline-num-layers', count(1))],
  lastStageLayers: [rule('decoder-last-pipeline-num-layers', count(1))],
  embeddingAsLayer: [rule('account-for-embedding-in-pipeline-split', on(true))],
  lossAsLayer: [rule('account-for-loss-in-pipeline-split', on(true))],
  contextCommunication: [rule('cp-comm-type', texts)],
  contextLevels: [rule('hierarchical-context-parallel-sizes', wholes)],
  microBatchGroup: [
    rule('microbatch-group-size-per-virtual-pipeline-stage', count(1)),
    rule('microbatch-group-size-per-vp-stage', count(1)),
  ],
  pipelineModule: [rule('no-pipeline-parallel', on(false))],
  sequenceLength: [rule('seq-length', count(1)), rule('encoder-seq-length', count(1))],
  microBatch: [rule('micro-batch-size', count(1)), rule('batch-size', count(1))],
  globalBatch: [rule('global-batch-size', count(1))],
  batchSchedule: [rule('step-batch-size-schedule', texts), rule('rampup-batch-size', texts)],
  precision: [
    rule('fp8-format', choice({ e4m3: 'fp8', hybrid: 'fp8' })),
    rule('fp8', choice({ e4m3: 'fp8', hybrid: 'fp8' })),
    rule('fp4-format', lenient(choice({ e2m1: 'nvfp4' }))),
    rule('fp4', lenient(choice({ e2m1: 'nvfp4' }))),
    rule('bf16', fixed('bf16')),
    rule('fp16', fixed('fp16')),
  ],
  optimizer: [rule('optimizer', text)],
  precisionAware: [rule('use-precision-aware-optimizer', on(true))],
  firstMomentBytes: [rule('exp-avg-dtype', typeBytes)],
  secondMomentBytes: [rule('exp-avg-sq-dtype', typeBytes)],
  masterWeightBytes: [rule('main-params-dtype', masterType)],
  distributedOptimizer: [rule('use-distributed-optimizer', on(true))],
  zeroStage: [rule('zero-stage', count(0, 3))],
  recomputeGranularity: [
    rule('recompute-granularity', keep(granularities)),
    rule('activations-checkpoint-granularity', keep(granularities)),
    rule('recompute-activations', fixed('selective')),
    rule('checkpoint-activations', fixed('full')),
  ],
  recomputeMethod: [
    rule('recompute-method', keep(['uniform', 'block', 'chunk'])),
    rule('activations-checkpoint-method', keep(['uniform', 'block'])),
  ],
  recomputeLayers: [
    // none where another setting recomputes (MindSpeed), or to measure without (block)
    rule('recompute-num-layers', count(0)),
    rule('activations-checkpoint-num-layers', count(0)),
    rule('checkpoint-num-layers', count(1)),
  ],
  recomputeModules: [rule('recompute-modules', names)],
  sequenceParallel: [rule('sequence-parallel', on(true))],
  attention: [
    rule('attention-backend', choice(backends)),
    rule('use-flash-attn', fixed('flash')),
    rule('use-flash-attn-v2', fixed('flash')),
    rule('use-flash-attn-triton', fixed('flash')),
  ],
  attentionKernel: [rule('attention-backend', choice(backendKernels)), rule('use-flash-attn-v2', fixed('flash2'))],
  cpuOffloading: [rule('cpu-offloading', on(true)), rule('cpu-offloading-num-layers', any)],
  activationOffloadLayers: [rule('cpu-offloading-num-layers', count(0))],
  activationCheckpointing: [rule('deepspeed-activation-checkpointing', on(true))],
  offloadOptimizer: [rule('optimizer-cpu-offload', fixed('cpu')), rule('cpu-optimizer', fixed('cpu'))],
  variableSequenceLengths: [rule('variable-seq-lengths', on(true))],
  gradAccumulationFusion: [rule('no-gradient-accumulation-fusion', on(false))],
  maxPendingBackward: [rule('zero-bubble-max-pending-backward', count(1))],
  stagesBeforeReplicas: [rule('use-tp-pp-dp-mapping', on(true))],
  overlapGradReduce: [rule('overlap-grad-reduce', on(true))],
  overlapParamGather: [rule('overlap-param-gather', on(true))],
  fusedCrossEntropy: [rule('cross-entropy-loss-fusion', on(true))],
  gradAccumulationFp32: [
    rule('grad-reduce-in-bf16', on(false)),
    rule('main-grads-dtype', gradientType),
    rule('accumulate-allreduce-grads-in-fp32', fixed(true)),
  ],
  hiddenDropout: [rule('hidden-dropout', share)],
  attentionDropout: [rule('attention-dropout', share)],
  asyncTensorParallel: [rule('tp-comm-overlap', on(true))],
  fp8Recipe: [rule('fp8-recipe', lenient(choice(fp8RecipeWords)))],
  fp8ParamGather: [rule('fp8-param-gather', on(true))],
  cudaGraphs: [
    rule('cuda-graph-impl', choice(graphScopes)),
    rule('enable-cuda-graph', fixed('layers')),
    rule('external-cuda-graph', fixed('layers')),
  ],
  expertDispatcher: [
    rule('moe-flex-dispatcher-backend', choice(flexDispatchers)),
    rule('moe-enable-deepep', fixed('deepep')),
    rule('moe-token-dispatcher-type', choice(tokenDispatchers)),
  ],
  routerGroups: [rule('moe-router-num-groups', count(1))],
  routerGroupTopk: [rule('moe-router-group-topk', count(1))],
  overlapExpertComm: [rule('overlap-moe-expert-parallel-comm', on(true))],
  overlapP2p: [rule('no-overlap-p2p-communication', on(false)), rule('overlap-p2p-communication', on(true))],
  slices: sliceFlags.splits.map((flag) => rule(flag, count(1))),
  sliceRule: [...sliceFlags.rules].map(([flag, words]) => rule(flag, choice(words))),
  sliceLengths: sliceFlags.lengths.map((flag) => rule(flag, numbers)),
  // the first of each is slime's, of the actor that trains (slime/utils/arguments.py)
  nodes: [rule('actor-num-nodes', count(1)), rule('nnodes', nodeCount), rule('nodes', nodeCount), rule('num-nodes', count(1))],
  gpusPerNode: [
    rule('actor-num-gpus-per-node', count(1)),
    rule('nproc-per-node', processCount),
    rule('num-gpus', processCount),
    rule('gpus-per-node', deviceCount),
    rule('gres', deviceCount),
    rule('ntasks-per-node', taskCount),
  ],
  world: [rule('ntasks', taskCount)],
};

/** Read together with others: what they add is in `derived`. */
const otherFlags: Readonly<Record<string, FlagRead<unknown>>> = {
  'group-query-attention': on(true),
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

const readsByFlag: ReadonlyMap<string, FlagRead<unknown>> = new Map<string, FlagRead<unknown>>([
  ...readsOf(flagTable),
  ...Object.entries(otherFlags),
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
  return withDerived(factsOfTable(flagTable, flags), flags);
}

/** Flags whose value the program that a script starts will refuse. */
export function megatronRemarks(flags: ReadonlyMap<string, LocatedFlag>, fork: MegatronFork): readonly Finding[] {
  return [...flags].flatMap(([key, flag]) => {
    const expects = expectsOf(key, flag, fork);
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
function expectsOf(key: string, flag: LocatedFlag, { choices }: MegatronFork): Value | null {
  if (flag.words.some((entry) => entry.text !== null && placeholder.test(entry.text))) return null;
  if (flagsThatDiffer.has(key)) {
    const allowed = Object.hasOwn(choices, key) ? choices[key] : undefined;
    const [word] = flag.words;
    return allowed === undefined || word?.text === null || allowed.includes(word?.text ?? '') ? null : anyOf(allowed);
  }
  const read = readsByFlag.get(key);
  const outcome = read === undefined ? null : outcomeOf(flag, read);
  return outcome !== null && 'expects' in outcome ? outcome.expects : null;
}

/** What stands for a value that the reader of a script fills in: `your_own_num_nodes`, `<TP>`. */
const placeholder = /^your?[_-]|^<.*>$|^\[.*\]$|^x{3,}$/i;

/** Megatron's own rules between flags (`validate_args`). */
function withDerived(facts: Facts, flags: ReadonlyMap<string, LocatedFlag>): Facts {
  const grouped = flags.get('group-query-attention');
  const isGrouped = factOf(grouped, on(true));
  const { kvHeads, world, ...rest } = facts;
  const half = factOf(flags.get('bf16'), fixed('bf16')) && factOf(flags.get('fp16'), fixed('fp16'));
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
  const hybrid = factOf(flags.get('is-hybrid-model'), on(true));
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
    ...scheduleOf(flags),
    ...scalingOf(facts, flags),
    ...slicedFacts(flags),
    ...(encoderLayers && { encoderLayers }),
    ...(encoderLayers && decoderLayers && { decoderLayers }),
    // Under a launcher of its own on every node, tasks are nodes.
    ...(world && !isPerNode && { world }),
    ...(half && { secondPrecision: half }),
  };
}

/** MindSpeed-LLM's `--n-shared-experts`, each as wide as a routed one. */
function sharedWidth(facts: Facts, flags: ReadonlyMap<string, LocatedFlag>): Fact<number> | undefined {
  const shared = factOf(flags.get('n-shared-experts'), count(0));
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

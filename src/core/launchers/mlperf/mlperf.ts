import { byDefault } from '../../domain/located';
import type { Finding } from '../../findings';
import { fileStart } from '../../languages/json/document';
import { ownLayer, type Layer } from '../../languages/layers';
import { choice, count, fixed, keep, on, type FlagRead } from '../../languages/reads';
import type { GivenAdapters } from '../../run/adapters';
import type { Fact, Facts, LauncherFile } from '../../run/facts';
import { sentence } from '../../sentence';
import type { ShellProgram } from '../shell/program';
import { fp8RecipeWords } from '../megatron/core-keys';
import { worldSize } from '../counts';
import { flagFact, placeOfValue, type LocatedFlag } from '../tables/located-flag';
import { anyOf } from '../tables/reads';
import { factsOfTable, lenient, row, rows, tableReads, type FlagTable } from '../tables/table';
import { benchmarkAdapters, isLoraBenchmark } from './lora';
import { isMlperfConfig } from './recognise';

/** `null` and 0 leave a size to the program. */
const size = anyOf((written) => (/^[1-9]\d{0,8}$/.test(written) ? Number(written) : undefined));
const flag = lenient(on(true));
const word = (words: readonly string[]): FlagRead<string> => lenient(keep(words));

/**
 * Variables by the fact that they give: of Llama 3.1 (`conf/llama31_config_custom.yaml`), of LoRA on Llama 2
 * (`conf/megatron_gpt_peft_tuning_config.yaml`), and of AMD's `src/train.py`.
 */
const table: FlagTable = {
  layers: [row('OVERWRITTEN_NUM_LAYERS', size)],
  tensor: rows(size, 'TENSOR_MODEL_PARALLEL', 'TP'),
  pipeline: rows(size, 'PIPELINE_MODEL_PARALLEL', 'PP'),
  virtualStages: rows(size, 'INTERLEAVED_PIPELINE', 'VP'),
  context: rows(size, 'CONTEXT_PARALLEL', 'CP'),
  expert: [row('EXPERT_PARALLEL', size)],
  sequenceParallel: rows(flag, 'SEQ_PARALLEL', 'SP'),
  microBatch: rows(size, 'MICRO_BATCH_SIZE', 'MBS'),
  globalBatch: [row('GBS', size)],
  sequenceLength: rows(size, 'MAX_SEQLEN'),
  precision: [row('FP4', lenient(fixed('nvfp4'))), row('FP8', lenient(fixed('fp8'))), row('FP8_PARAMS', lenient(fixed('fp8')))],
  fp8Recipe: [row('FP8_RECIPE', lenient(choice(fp8RecipeWords)))],
  fp8ParamGather: [row('FP8_PARAM_GATHER', flag)],
  recomputeGranularity: rows(word(['full', 'selective']), 'ACT_CKPT_GRANULARITY', 'ACG'),
  recomputeMethod: rows(word(['uniform', 'block']), 'ACT_CKPT_METHOD', 'ACM'),
  recomputeLayers: rows(size, 'ACT_CKPT_NUM_LAYERS', 'ACL'),
  embeddingAsLayer: [row('ASYM_PP_EMBED', flag)],
  lossAsLayer: [row('ASYM_PP_LOSS', flag)],
  stagesBeforeReplicas: [row('TP_PP_DP_MAPPING', flag)],
  distributedOptimizer: [row('USE_DIST_OPTIMIZER', flag)],
  overlapGradReduce: [row('OVERLAP_GRAD_REDUCE', flag)],
  overlapParamGather: [row('OVERLAP_PARAM_GATHER', flag)],
  overlapP2p: [row('OVERLAP_P2P_COMM', flag)],
  fusedCrossEntropy: [row('CROSS_ENTROPY_LOSS_FUSION', flag)],
  asyncTensorParallel: [row('TP_COMM_OVERLAP', flag)],
  cudaGraphs: [
    row('FULL_CUDA_GRAPH', lenient(fixed('iteration'))),
    ...rows(lenient(fixed('layers')), 'MCORE_CUDA_GRAPH', 'LAYER_CUDA_GRAPH'),
  ],
  nodes: rows(size, 'DGXNNODES', 'NNODES'),
  gpusPerNode: rows(size, 'DGXNGPU', 'GPUS_PER_NODE'),
};

/** Sequences of each replica in a step. */
const batchOfReplica = 'MINIBS';
const loraRank = 'LORA_DIM';
/** Set by every LoRA run. */
const loraSign = 'LORA_A2A';
const modelSizes = ['MODEL_SIZE', 'SIZE'];

const known = new Map<string, FlagRead<unknown>['words']>([
  ...tableReads(table).map(([name, { words }]): [string, FlagRead<unknown>['words']] => [name, words]),
  ...[batchOfReplica, loraRank, loraSign, ...modelSizes].map((name): [string, 'one'] => [name, 'one']),
]);

/** `config_*.sh` of a submission to MLPerf Training, which `run.sub` starts with NeMo. */
export const mlperfProgram: ShellProgram = {
  format: 'mlperf',
  isIts: isMlperfConfig,
  settings: { words: (name) => known.get(name) },
  areVariables: true,
  read: (flags, layers) => {
    const own = ownLayer(layers);
    const { file } = own;
    const written = { ...factsOfTable(table, flags), ...benchmarkModel(own, flags) };
    const isLora = written.flavor?.value === loraModel;
    const other = otherModel(file);
    const facts = { ...silentFacts(written, isLora), ...written };
    return {
      facts: { ...facts, ...wholeBatch(facts, flags) },
      modelFiles: [],
      notes: other,
      ...namedGpu(file),
      ...(isLora && { adapters: { ...lora(written.flavor, flags), ...frozenFormat(facts, vendorNamed(own, flags)) } }),
    };
  },
};

const loraModel = 'meta-llama/Llama-2-70b-hf';

/** The model of the benchmark: the size that a script sets, the settings of a size that it sources, or the folder of the submission. */
function benchmarkModel({ file, text }: Layer, flags: ReadonlyMap<string, LocatedFlag>): Pick<Facts, 'flavor'> {
  const flag = modelSizes.map((name) => flags.get(name)).find((found) => found !== undefined);
  const given = flag?.words[0]?.text ?? '';
  const folder = file.replaceAll('\\', '/');
  const sourced = /^[^#\n]*\bconfig_common_(8b|405b)\.sh/m.exec(text)?.[1] ?? /llama31?_(8b|405b)\//.exec(folder)?.[1];
  const size = /^(?:8b|70b|405b)$/i.test(given) ? given.toUpperCase() : sourced?.toUpperCase();
  const isLora = flags.has(loraSign) || isLoraBenchmark(folder);
  const value = isLora ? loraModel : size === undefined ? undefined : `meta-llama/Llama-3.1-${size}`;
  if (value === undefined) return {};
  const place = flag === undefined ? fileStart(file) : placeOfValue(flag);
  return { flavor: { value, source: { kind: 'file', place, key: flag?.name ?? 'config' }, name: flag?.name ?? 'config' } };
}

/** What the files of settings next to `run.sub` take for variables that are not set. */
function silentFacts({ sequenceLength, recomputeGranularity }: Facts, isLora: boolean): Facts {
  const reason = sentence`the benchmark takes it where nothing is set`;
  return {
    ...(sequenceLength === undefined && { sequenceLength: byDefault(8192, sentence`sequences of the benchmark`) }),
    tensor: byDefault(1, reason),
    pipeline: byDefault(1, reason),
    context: byDefault(1, reason),
    microBatch: byDefault(1, reason),
    precision: byDefault('bf16', reason),
    sequenceParallel: byDefault(!isLora, reason),
    distributedOptimizer: byDefault(true, reason),
    overlapGradReduce: byDefault(true, reason),
    overlapParamGather: byDefault(true, reason),
    fusedCrossEntropy: byDefault(true, reason),
    gradAccumulationFp32: byDefault(false, reason),
    ...(recomputeGranularity === undefined && { recomputeGranularity: byDefault('none', reason) }),
  };
}

/** The step of all replicas: each takes `MINIBS` sequences. */
function wholeBatch(facts: Facts, flags: ReadonlyMap<string, LocatedFlag>): Pick<Facts, 'globalBatch'> {
  const each = flagFact(flags.get(batchOfReplica), count(1));
  const ranks = (facts.tensor?.value ?? 1) * (facts.pipeline?.value ?? 1) * (facts.context?.value ?? 1);
  const replicas = (worldSize(facts) ?? 0) / ranks;
  if (facts.globalBatch !== undefined || each === undefined || replicas < 1 || !Number.isInteger(replicas)) return {};
  return { globalBatch: { value: each.value * replicas, source: each.source, name: batchOfReplica } };
}

/** Adapters of the attention of every layer (`lora_tuning`). */
function lora(model: Fact<string> | undefined, flags: ReadonlyMap<string, LocatedFlag>): GivenAdapters {
  const rank = flagFact(flags.get(loraRank), count(1));
  const place = model?.source.kind === 'file' ? model.source.place : fileStart('');
  return { place, name: 'lora', ...(rank && { rank }), defaults: benchmarkAdapters };
}

/**
 * `FP8` keeps the frozen weights in FP8 too (`fp8_params` of `conf/megatron_gpt_peft_tuning_config.yaml`). AMD keeps them once
 * (`disable_parameter_transpose_cache`), NVIDIA's v5.0 transposed too (`train.py`, line 222): two bytes a weight, as many as in bf16, in
 * which from v5.1 they stay, whose files set `FP8_PARAM_GATHER`. Those in FP4 (`_pre_quantize_model`) are not planned.
 */
function frozenFormat({ precision, fp8ParamGather }: Facts, vendor: Vendor | null): Pick<GivenAdapters, 'unlike' | 'baseBits'> {
  if (precision?.value === 'nvfp4') return { unlike: 'LoRA on weights in FP4' };
  if (precision?.value !== 'fp8' || fp8ParamGather !== undefined || vendor === 'NVIDIA') return {};
  return vendor === null ? { unlike: 'LoRA on weights in FP8' } : { baseBits: { value: 8, source: precision.source } };
}

type Vendor = 'AMD' | 'NVIDIA';

/** Whose GPUs a file is for: by the name of its system, or by variables that only submissions on AMD's have. */
function vendorNamed({ file, text }: Layer, flags: ReadonlyMap<string, LocatedFlag>): Vendor | null {
  const name = fileName(file);
  if (/MI3\d\dX/i.test(name) || flags.has('NNODES') || flags.has('GPUS_PER_NODE') || /NVTE_\w*(?:HIPBLASLT|_CK\b)/.test(text)) return 'AMD';
  return /[BH][123]00/i.test(name) ? 'NVIDIA' : null;
}

/** A benchmark of images, recommendations or graphs, by the folder of the submission: its settings are read. */
function otherModel(file: string): readonly Finding[] {
  if (!/[/\\](?:flux1|stable_diffusion|bert|retinanet|ssd|dlrm\w*|rgat|gnn|unet3d|resnet)[/\\]/.test(file)) return [];
  return [
    {
      code: 'sizes-unknown',
      severity: 'information',
      place: fileStart(file),
      message: sentence`This benchmark trains another model than a decoder of text`,
      remedy: sentence`name the config of a language model`,
      fixes: [],
    },
  ];
}

/** GPUs by what names of systems say. */
const gpus: readonly (readonly [string, RegExp])[] = [
  ['GB300', /GB300/i],
  ['GB200', /GB200/i],
  ['B300', /B300/i],
  ['B200', /B200/i],
  ['H200', /H200/i],
  ['H100-80GB', /H100/i],
  ['MI355X', /MI355X/i],
  ['MI325X', /MI325X/i],
  ['MI300X', /MI300X/i],
];

const fileName = (file: string): string => /config_[^/\\]*$/.exec(file)?.[0] ?? '';

/** The GPU of the system that a file is named after: `config_GB300_32x4x288xtp2pp8cp2_cg.sh`. */
function namedGpu(file: string): Pick<LauncherFile, 'gpu'> {
  const name = fileName(file);
  const found = gpus.find(([, pattern]) => pattern.test(name));
  return found === undefined ? {} : { gpu: byDefault(found[0], sentence`the system that the file is named after`) };
}

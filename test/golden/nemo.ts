import { readHuggingFace } from '../../src/core/huggingface/reader';
import { toModelSpec } from '../../src/core/run/written-model';
import type { NarrowFormat } from '../../src/core/domain/number-formats';
import type { GpuPresetName } from '../../src/core/cluster/presets';
import { defaultsRecorder } from '../../src/core/plan-request/defaults-recorder';
import { recipeCut } from '../../src/core/plan-request/recipe-cut';
import { releaseRecipe } from '../../src/core/plan-request/release-recipe';
import { sentence } from '../../src/core/sentence';
import type { Located } from '../../src/core/domain/located';
import type { ModelSpec } from '../../src/core/domain/model';
import { recomputeModules } from '../../src/core/domain/recompute';
import type { PlanRequest, TrainingSpec } from '../../src/core/domain/request';
import { deepseek, llama3, request } from './requests';
import { predictOneF1B, type Row } from './rows';
import { goldenRows, once } from './data';

interface NemoCase {
  readonly id: string;
  readonly release: string;
  readonly model: string;
  readonly system: string;
  readonly gpus: number;
  readonly precision: string;
  readonly global_batch: number;
  readonly micro_batch: number;
  readonly seq: number;
  readonly tp: number;
  readonly pp: number;
  readonly cp: number;
  readonly vp: number | null;
  readonly ep: number | null;
  readonly tokens_per_second_per_gpu: number;
  /** CUDA graphs, dispatcher and `overlap`; null for dense models; absent: as most recipes of its release and system. */
  readonly recipe?: string | null;
  readonly recompute?: string | null;
  /** GPUs that share weights, gradients and states; null or absent: only the states are shared. */
  readonly fsdp?: number | null;
}

/** Tokens per second and GPU, published and predicted. */
export interface NemoRow extends Row {
  readonly system: string;
  readonly precision: string;
  readonly mixture: boolean;
  readonly request: PlanRequest;
}

/** The presets of what NVIDIA calls its systems. */
const systems: Readonly<Record<string, GpuPresetName>> = {
  'DGX-H100': 'H100-80GB',
  'DGX-B200': 'B200',
  'DGX-B300': 'B300',
  'DGX-GB200': 'GB200',
  'DGX-GB300': 'GB300',
};

/** What the layers' products are computed in. */
const formats: Readonly<Record<string, NarrowFormat | null>> = { BF16: null, FP8: 'fp8', MXFP8: 'fp8', NVFP4: 'nvfp4' };

const qwen3 = (sizes: { layers: number; hidden: number; heads: number; ffn: number }): ModelSpec => ({
  ...llama3('70b', sizes.layers),
  ...sizes,
  kvHeads: 4,
  headDim: 128,
  vocab: 151936,
  qkNorm: true,
  experts: { count: 128, active: 8 },
});

const threeDense = (model: ModelSpec, dense: number): ModelSpec => ({
  ...model,
  layerKinds: Array.from({ length: model.layers }, (_, layer) => ({ feedForward: layer < dense ? 'dense' : 'experts', window: null })),
});

const models: Readonly<Record<string, ModelSpec>> = {
  LLAMA3_70B: llama3('70b', 80),
  'LLAMA3.1_405B': llama3('405b', 126),
  DeepSeekV3: { ...threeDense(deepseek(3, 61), 3), mtpLayers: 1 },
  Kimi_K2: { ...threeDense(deepseek(3, 61), 1), heads: 64, vocab: 163840, experts: { count: 384, active: 8, sharedFfn: 2048 } },
  Qwen3_30B_a3B: qwen3({ layers: 48, hidden: 2048, heads: 32, ffn: 768 }),
  Qwen3_235B_a22B: qwen3({ layers: 94, hidden: 4096, heads: 64, ffn: 1536 }),
  'GPT OSS 120B': {
    ...llama3('70b', 36),
    hidden: 2880,
    heads: 64,
    kvHeads: 8,
    headDim: 64,
    ffn: 2880,
    qkvBias: true,
    attentionOutputBias: true,
    mlpBias: true,
    vocab: 201088,
    experts: { count: 128, active: 4 },
    layerKinds: Array.from({ length: 36 }, (_, layer) => ({ feedForward: 'experts', window: layer % 2 === 0 ? 128 : null })),
  },
  Nemotron_3_Nano: nemotronNano(),
};

/** Nemotron 3 Nano 30B-A3B: Mamba-2, experts and a little attention in turn. Source: its config.json in transformers' names. */
function nemotronNano(): ModelSpec {
  const pattern = 'MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME';
  const config = {
    model_type: 'nemotron_h',
    hybrid_override_pattern: pattern,
    hidden_size: 2688,
    num_key_value_heads: 2,
    mamba_num_heads: 64,
    n_routed_experts: 128,
    num_experts_per_tok: 6,
    moe_intermediate_size: 1856,
    moe_shared_expert_intermediate_size: 3712,
  };
  const { model, traits } = readHuggingFace('config.json', JSON.stringify(config));
  return toModelSpec(model, traits);
}

/** What a file that names release, format and layout gives. */
function givenBy(row: NemoCase, { training, layout }: PlanRequest) {
  const located = <T>(value: T): Located<T> => ({ value, source: { kind: 'default', reason: sentence`the table gives it` } });
  return {
    format: 'terapipe' as const,
    training: {
      runtimeVersion: located(training.runtimeVersion ?? ''),
      ...(training.gemmPrecision === undefined ? {} : { gemmPrecision: located(training.gemmPrecision) }),
      ...(row.precision === 'MXFP8' ? { fp8Recipe: located('mxfp8' as const) } : {}),
    },
    layout: {
      tensor: located(layout.tensor),
      pipeline: located(layout.pipeline),
      virtualStages: located(layout.virtualStages),
      expert: located(layout.expert),
    },
  };
}

/** What such a file is planned with where it sets no more. */
function usualRecipe(row: NemoCase, model: ModelSpec, table: PlanRequest): Partial<TrainingSpec> {
  return releaseRecipe(givenBy(row, table), model, table.cluster, defaultsRecorder().valueOrDefault);
}

/** What the recipe of a row with experts sets, where its release shows it; null where not. */
function recipeOf({ recipe, recompute, ep }: NemoCase): Partial<TrainingSpec> | null {
  if (recipe === undefined) return null;
  if (recipe === null || ep === null) return {};
  const [graphs, dispatcher, overlap] = recipe.split(' ');
  const cudaGraphs = (['layers', 'iteration'] as const).find((one) => one === graphs);
  const expertDispatcher = (['alltoall', 'deepep', 'hybridep'] as const).find((one) => one === dispatcher);
  const modules = recomputeModules.filter((module) => (recompute ?? '').split(' ').includes(module));
  return {
    ...(cudaGraphs === undefined ? {} : { cudaGraphs }),
    ...(expertDispatcher === undefined ? {} : { expertDispatcher }),
    overlapExpertComm: overlap === 'overlap',
    ...(modules.length === 0 ? {} : { recompute: 'selective', recomputeModules: modules }),
    gradAccumulationFp32: false,
  };
}

/**
 * Pre-training throughput that NVIDIA publishes for Megatron-Bridge, against the analytic model with data sheet peaks and the GEMM fraction
 * of the same generation (H100's, B200's). Rows of dense models say no recompute, those with experts have what their recipes set; exchanges
 * overlap with compute, as the recipes of Megatron-Bridge set `DistributedDataParallelConfig`; the only hybrid is Nemotron 3 Nano,
 * whose experts work on whole tokens.
 */
export const nemoRows = once(() => throughput(({ recipe }) => recipe));

/** The same with what only release and system imply about the recipe, as a terapipe.json that has no more than the table is planned. */
export const nemoRowsByRelease = once(() => throughput(({ usual }) => usual()));

interface Recipes {
  /** Of the row, where it is known. */
  readonly recipe: Partial<TrainingSpec>;
  readonly usual: () => Partial<TrainingSpec>;
}

function throughput(chosen: (recipes: Recipes) => Partial<TrainingSpec>): readonly NemoRow[] {
  return (goldenRows('megatron-bridge-throughput') as readonly NemoCase[]).flatMap((row) => {
    const model = models[row.model];
    const system = systems[row.system];
    const format = formats[row.precision];
    if (model === undefined || system === undefined || format === undefined) return [];
    const { gpus, tp: tensor, pp: pipeline, cp: context, ep: expert } = row;
    const data = gpus / tensor / pipeline / context;
    const table = request(system, model, {
      training: {
        sequenceLength: row.seq,
        microBatch: row.micro_batch,
        globalBatch: row.global_batch,
        precision: 'bf16',
        ...(format === null ? {} : { gemmPrecision: format }),
        ...(format === 'fp8' ? { fp8Recipe: row.precision === 'MXFP8' ? 'mxfp8' : 'tensorwise' } : {}),
        zeroStage: (row.fsdp ?? null) === null ? 1 : 3,
        overlapGradReduce: true,
        overlapParamGather: true,
        attention: 'flash',
        sequenceParallel: tensor > 1,
        asyncTensorParallel: tensor > 1,
        runtimeVersion: row.release.split(' ')[0] ?? '',
        fusedCrossEntropy: true,
        dropout: false,
      },
      layout: { tensor, pipeline, data, context, expert: expert ?? 1, expertTensor: 1, virtualStages: row.vp ?? 1 },
    });
    const usual = (): Partial<TrainingSpec> => usualRecipe(row, model, table);
    const stageLayers = recipeCut(givenBy(row, table), model);
    const layout = stageLayers === null ? table.layout : { ...table.layout, stageLayers };
    const wanted = { ...table, layout, training: { ...table.training, ...chosen({ recipe: recipeOf(row) ?? usual(), usual }) } };
    const { tokensPerSecond } = predictOneF1B(wanted);
    const name = `${row.id} ${row.model}`;
    return [
      {
        name,
        system: row.system,
        precision: row.precision,
        mixture: model.experts !== null,
        measured: row.tokens_per_second_per_gpu,
        request: wanted,
        predicted: tokensPerSecond / gpus,
      },
    ];
  });
}

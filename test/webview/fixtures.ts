import { gpuPresets, type GpuPresetName } from '../../src/core/cluster/presets';
import { defaultConstants } from '../../src/core/domain/slice-cost';
import { makePlan } from '../../src/core/planner/make-plan';
import { chosenCandidate, type Plan } from '../../src/core/planner/plan';
import type { PlanRequest, TrainingSpec } from '../../src/core/domain/request';
import type { PageKind, PageState } from '../../src/protocol/page';
import { sentence } from '../../src/core/sentence';

/** What a test wants different from GPT-3 175B on 48 nodes of V100, TeraPipe's setting (9). */
export interface Variant {
  readonly title?: string;
  readonly gpu?: GpuPresetName;
  readonly layers?: number;
  readonly stages?: number;
  readonly tensor?: number;
  readonly data?: number;
  readonly nodes?: number;
  readonly hidden?: number;
  readonly virtualStages?: number;
  readonly schedule?: PlanRequest['schedule'];
  readonly unit?: number | null;
  readonly training?: Partial<TrainingSpec>;
}

const known = new Map<string, Plan>();

/** A real plan of the planner for a variant of GPT-3 175B; the same object for the same variant, which many cases show. */
export function planOf(variant: Variant = {}): Plan {
  const key = JSON.stringify(variant);
  const plan = known.get(key) ?? makeVariant(variant);
  known.set(key, plan);
  return plan;
}

function makeVariant({
  title = 'gpt3-175b',
  gpu = 'V100-16GB',
  layers = 96,
  stages = 96,
  tensor = 4,
  data = 1,
  nodes = 48,
  hidden = 12288,
  virtualStages = 1,
  schedule = null,
  unit = null,
  training = {},
}: Variant): Plan {
  const preset = gpuPresets[gpu];
  const heads = hidden / 128;
  return makePlan({
    title,
    model: {
      modelType: 'gpt2',
      layers,
      hidden,
      heads,
      kvHeads: heads,
      headDim: 128,
      ffn: 4 * hidden,
      gatedMlp: false,
      vocab: 0,
      tiedEmbeddings: true,
      maxPositions: null,
      positions: 'none',
      norm: 'layernorm',
      qkvBias: true,
      attentionOutputBias: true,
      mlpBias: true,
      qkNorm: false,
      experts: null,
    },
    cluster: { gpu: preset.gpu, links: preset.links, nodes, gpusPerNode: preset.gpusPerNode },
    training: {
      sequenceLength: 2048,
      microBatch: 1,
      globalBatch: 2,
      precision: 'fp16',
      optimizer: 'adam',
      zeroStage: 0,
      recompute: 'none',
      attention: 'unfused',
      sequenceParallel: false,
      fusedCrossEntropy: false,
      dropout: false,
      gradAccumulationFp32: true,
      ...training,
    },
    layout: { tensor, pipeline: stages, data, context: 1, expert: 1, virtualStages },
    schedule,
    slicing: { unit, scheme: null },
    constants: defaultConstants,
    costTable: null,
    profile: null,
    assumptions: [
      { key: 'training.microBatch', value: '1', reason: sentence`the smallest that every schedule can run` },
      { key: 'training.precision', value: 'fp16', reason: sentence`V100 has no bf16` },
      { key: 'cluster.links', value: 'p3.16xlarge', reason: sentence`the nodes that AWS sells with this GPU` },
    ],
  });
}

/** A page that shows a plan and nothing unusual. */
export function stateOf(page: PageKind, plan: Plan | null, change: Partial<PageState> = {}): PageState {
  return {
    page,
    document: 'file:///home/ada/gpt3-175b/terapipe.json',
    trusted: true,
    file: plan === null ? null : 'gpt3-175b/terapipe.json',
    plan,
    schedule: null,
    elastic: null,
    progress: null,
    incumbent: null,
    staleEdits: 0,
    error: null,
    findings: [],
    places: plan === null ? {} : { '': place, 'training.precision': place },
    ...change,
  };
}

/** The tab while only the chosen schedule is simulated. */
export function answeredFirst(plan: Plan, whole = stateOf('tab', plan)): PageState {
  return { ...whole, progress: 0.5, plan: { ...plan, candidates: [chosenCandidate(plan)] } };
}

const place = { file: 'file:///home/ada/gpt3-175b/terapipe.json', range: { start: 4, end: 12 } };

/** Two findings as the planner words them. */
export const findings: PageState['findings'] = [
  {
    code: 'memory-over-capacity',
    severity: 'error',
    place,
    placeText: 'gpt3-175b/terapipe.json:7:3',
    message: sentence`Stage 0 needs 19.4 GiB of 16 GiB`,
    remedy: sentence`Use tensor parallel size 8, which needs 10.2 GiB`,
    fixes: [],
  },
  {
    code: 'sequence-over-positions',
    severity: 'warning',
    place,
    placeText: 'gpt3-175b/terapipe.json:9:3',
    message: sentence`Sequence length 2,048 is longer than the 1,024 positions of the model`,
    remedy: sentence`Use at most 1,024`,
    fixes: [],
  },
];

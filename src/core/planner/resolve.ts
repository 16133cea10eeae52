import type { Given, Run } from '../config/run';
import { gpuPresets, type GpuPresetName } from '../cluster/presets';
import type { ClusterSpec } from '../cluster/spec';
import { defaultConstants } from '../cost/constants';
import { ExpectedError } from '../errors';
import { valuesOf, type Located } from '../located';
import { countMemory, fitsMemory } from '../memory/count';
import { parameterCount } from '../model/parameters';
import type { ModelSpec } from '../model/spec';
import { generateSchedule } from '../schedule/generate';
import { formatCount } from '../format';
import type { Assumption, Layout, PlanRequest, TrainingSpec } from './request';
import { stageShapes } from './stages';

/** What the face knows when the files do not say. */
export interface ResolveDefaults {
  readonly gpu: GpuPresetName;
  readonly nodes: number | null;
  readonly gpusPerNode: number | null;
}

interface Fallback<T> {
  readonly value: T;
  readonly because: string;
}

/** Collects what had to be assumed while taking what is given. */
function chooser() {
  const assumptions: Assumption[] = [];
  return {
    assumptions,
    take: <T>(key: string, given: Located<T> | undefined, fallback: () => Fallback<T>): T => {
      if (given !== undefined) return given.value;
      const { value, because } = fallback();
      assumptions.push({ key, value: typeof value === 'object' ? JSON.stringify(value) : String(value), because });
      return value;
    },
  };
}

type Take = ReturnType<typeof chooser>['take'];

/**
 * Fills in what the files leave open and says what was filled: cluster from the face's defaults, training from usual practice, layout by the first that fits memory.
 * @throws ExpectedError `layout-world-size` when no layout uses the GPUs there are.
 */
export function resolveRun(run: Run, defaults: ResolveDefaults): PlanRequest {
  const { assumptions, take } = chooser();
  for (const [key, { value, source }] of Object.entries(run.model)) {
    if (source.kind === 'default') assumptions.push({ key: `model.${key}`, value: String(value), because: source.because });
  }
  const model = valuesOf<ModelSpec>(run.model);
  const oneNode = resolveNode(run, defaults, take);
  const draft = resolveTraining(run.training, model, oneNode, take);
  const cluster = { ...oneNode, nodes: resolveNodes(run, defaults, draft, model, oneNode, take) };
  const layout = resolveLayout(run.layout, draft, model, cluster, take);
  const training: TrainingSpec = {
    ...draft,
    sequenceParallel: take('training.sequenceParallel', run.training.sequenceParallel, () => ({
      value: layout.tensor > 1,
      because: layout.tensor > 1 ? 'usual with tensor parallelism' : 'needs tensor parallelism',
    })),
    globalBatch: take('training.globalBatch', run.training.globalBatch, () => ({
      value: defaultGlobalBatch(layout, draft.microBatch),
      because: 'four micro-batches a stage on every replica',
    })),
  };
  return {
    title: run.title,
    model,
    cluster,
    training,
    layout,
    schedule: run.schedule?.value ?? null,
    slicing: { unit: run.unit?.value ?? null, scheme: run.scheme?.value ?? null },
    constants: { ...defaultConstants, ...givenValues(run.constants) },
    costTable: run.costTable?.value ?? null,
    assumptions,
  };
}

function givenValues<T extends object>(given: Given<T>): Partial<T> {
  return Object.fromEntries(Object.entries(given).map(([key, located]) => [key, (located as Located<unknown>).value])) as Partial<T>;
}

/** The cluster but for its number of nodes, which is 1 here. */
function resolveNode(run: Run, defaults: ResolveDefaults, take: Take): ClusterSpec {
  const preset = gpuPresets[defaults.gpu];
  if (run.gpu === undefined) take('cluster.gpu', undefined, () => ({ value: defaults.gpu, because: 'the default of the settings' }));
  const named = run.gpu === undefined ? preset : Object.values(gpuPresets).find(({ gpu }) => gpu.name === run.gpu?.value.name);
  const gpusPerNode = take('cluster.gpusPerNode', run.gpusPerNode, () => ({
    value: defaults.gpusPerNode ?? named?.gpusPerNode ?? 8,
    because: defaults.gpusPerNode === null ? 'as this GPU is usually built in' : 'the default of the settings',
  }));
  return { gpu: run.gpu?.value ?? preset.gpu, links: run.links?.value ?? named?.links ?? preset.links, nodes: 1, gpusPerNode };
}

/** Most nodes that are assumed when no file and no setting says how many there are. */
const mostAssumedNodes = 64;

function resolveNodes(
  run: Run,
  defaults: ResolveDefaults,
  draft: TrainingDraft,
  model: ModelSpec,
  oneNode: ClusterSpec,
  take: Take,
): number {
  return take('cluster.nodes', run.nodes, () => {
    if (defaults.nodes !== null) return { value: defaults.nodes, because: 'the default of the settings' };
    const sizes = ['tensor', 'pipeline', 'data', 'context'] as const;
    const asked = sizes.reduce((gpus, size) => gpus * (run.layout[size]?.value ?? 1), 1);
    if (asked > 1) return { value: Math.ceil(asked / oneNode.gpusPerNode), because: 'enough for the layout' };
    for (let nodes = 1; nodes <= mostAssumedNodes; nodes *= 2)
      if (searchLayout(run.layout, draft, model, { ...oneNode, nodes })?.fits === true)
        return { value: nodes, because: 'the fewest on which the model fits' };
    return { value: mostAssumedNodes, because: 'the model fits on no fewer' };
  });
}

type TrainingDraft = Omit<TrainingSpec, 'globalBatch' | 'sequenceParallel'>;

function resolveTraining(given: Given<TrainingSpec>, model: ModelSpec, cluster: ClusterSpec, take: Take): TrainingDraft {
  const { fp16, bf16 } = cluster.gpu.peakTflops;
  const noFastBf16 = bf16 < fp16;
  return {
    sequenceLength: take('training.sequenceLength', given.sequenceLength, () => ({
      value: Math.min(model.maxPositions ?? 4096, 4096),
      because: "the model's positions, at most 4,096",
    })),
    microBatch: take('training.microBatch', given.microBatch, () => ({ value: 1, because: 'the least memory' })),
    precision: take('training.precision', given.precision, () => ({
      value: noFastBf16 ? 'fp16' : 'bf16',
      because: noFastBf16 ? 'this GPU has no fast bf16' : 'usual practice',
    })),
    optimizer: take('training.optimizer', given.optimizer, () => ({ value: 'adam', because: 'usual practice' })),
    zeroStage: take('training.zeroStage', given.zeroStage, () => ({ value: 1, because: "Megatron-LM's distributed optimizer" })),
    recompute: take('training.recompute', given.recompute, () => ({
      value: 'none',
      because: 'the fastest; a wrong guess costs 26 to 35 %, so set it',
    })),
    attention: take('training.attention', given.attention, () => ({
      value: noFastBf16 ? 'unfused' : 'flash',
      because: noFastBf16 ? 'FlashAttention needs Ampere or later' : 'usual practice',
    })),
    fusedCrossEntropy: take('training.fusedCrossEntropy', given.fusedCrossEntropy, () => ({ value: true, because: 'usual practice' })),
    dropout: take('training.dropout', given.dropout, () => ({ value: false, because: 'usual practice in pre-training' })),
    fp32Gradients: take('training.fp32Gradients', given.fp32Gradients, () => ({ value: true, because: 'Megatron-LM accumulates in fp32' })),
  };
}

function defaultGlobalBatch(layout: Layout, microBatch: number): number {
  return layout.data * microBatch * 4 * layout.pipeline;
}

function resolveLayout(given: Given<Layout>, training: TrainingDraft, model: ModelSpec, cluster: ClusterSpec, take: Take): Layout {
  const world = cluster.nodes * cluster.gpusPerNode;
  const found = searchLayout(given, training, model, cluster);
  if (found === null) {
    throw new ExpectedError(
      'layout-world-size',
      `No tensor, pipeline and data sizes use all ${formatCount(world)} GPUs with what is fixed`,
      `leave one of layout.tensor, layout.pipeline and layout.data open, or set all of them`,
    );
  }
  const { tensor, pipeline, data, context, expert, virtualStages } = found.layout;
  const parameters = formatCount(parameterCount(model));
  const because = `the least model parallelism that ${found.fits ? 'fits' : 'comes near to fitting'} ${parameters} parameters on ${formatCount(world)} ${cluster.gpu.name}`;
  return {
    tensor: take('layout.tensor', given.tensor, () => ({ value: tensor, because })),
    pipeline: take('layout.pipeline', given.pipeline, () => ({ value: pipeline, because })),
    data: take('layout.data', given.data, () => ({ value: data, because: `what is left of ${formatCount(world)} GPUs` })),
    context: take('layout.context', given.context, () => ({ value: context, because: 'no context parallelism asked for' })),
    expert,
    virtualStages,
  };
}

interface FoundLayout {
  readonly layout: Layout;
  /** By 1F1B's memory; true without a look when the file fixes the layout. */
  readonly fits: boolean;
}

/** The first possible layout whose 1F1B fits, or the one that comes closest; null when none uses all GPUs. */
function searchLayout(given: Given<Layout>, draft: TrainingDraft, model: ModelSpec, cluster: ClusterSpec): FoundLayout | null {
  const context = given.context?.value ?? 1;
  const open = { context, expert: given.expert?.value ?? 1, virtualStages: given.virtualStages?.value ?? 1 };
  const sizes = possibleSizes(given, model, cluster, (cluster.nodes * cluster.gpusPerNode) / context);
  const [only] = sizes;
  if (only !== undefined && sizes.length === 1) return { layout: { ...only, ...open }, fits: true };
  let closest: { layout: Layout; bytes: number } | null = null;
  for (const size of sizes) {
    const layout = { ...size, ...open };
    const training = { ...draft, sequenceParallel: layout.tensor > 1, globalBatch: defaultGlobalBatch(layout, draft.microBatch) };
    const scheme = Array.from({ length: 2 * layout.pipeline }, () => ({ batch: training.microBatch, tokens: [training.sequenceLength] }));
    const schedule = generateSchedule('1F1B', scheme, layout.pipeline);
    const memory = countMemory({ model, training, layout }, schedule, stageShapes(model.layers, layout.pipeline), cluster.gpu.memoryBytes);
    if (fitsMemory(memory)) return { layout, fits: true };
    const bytes = Math.max(...memory.stages.map((stage) => stage.peakBytes));
    if (closest === null || bytes < closest.bytes) closest = { layout, bytes };
  }
  return closest === null ? null : { layout: closest.layout, fits: false };
}

/** Longest pipeline that is assumed; longer ones can be asked for. */
const mostAssumedStages = 128;

type Sizes = Pick<Layout, 'tensor' | 'pipeline' | 'data'>;

/** Sizes that respect what is given, divide heads and layers, stay in a node with tensor parallelism, and use `gpus`; least model parallelism first. */
function possibleSizes(given: Given<Layout>, model: ModelSpec, cluster: ClusterSpec, gpus: number): Sizes[] {
  if (given.tensor !== undefined && given.pipeline !== undefined) {
    const modelParallel = given.tensor.value * given.pipeline.value;
    return [
      {
        tensor: given.tensor.value,
        pipeline: given.pipeline.value,
        data: given.data?.value ?? Math.max(1, Math.floor(gpus / modelParallel)),
      },
    ];
  }
  const tensors =
    given.tensor !== undefined
      ? [given.tensor.value]
      : divisors(cluster.gpusPerNode).filter(
          (tensor) => model.heads % tensor === 0 && (model.kvHeads % tensor === 0 || tensor % model.kvHeads === 0),
        );
  const pipelines =
    given.pipeline !== undefined ? [given.pipeline.value] : divisors(model.layers).filter((stages) => stages <= mostAssumedStages);
  return tensors
    .flatMap((tensor) =>
      pipelines.map((pipeline) => ({ tensor, pipeline, data: given.data?.value ?? Math.floor(gpus / tensor / pipeline) })),
    )
    .filter(({ tensor, pipeline, data }) => data >= 1 && tensor * pipeline * data === gpus)
    .sort((a, b) => a.tensor * a.pipeline - b.tensor * b.pipeline || b.pipeline - a.pipeline);
}

function divisors(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1).filter((divisor) => count % divisor === 0);
}

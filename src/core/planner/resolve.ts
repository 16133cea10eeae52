import type { Given, Run } from '../config/run';
import { gpuPresets, type GpuPresetName } from '../cluster/presets';
import type { ClusterSpec, GpuSpec } from '../cluster/spec';
import { defaultConstants } from '../cost/constants';
import { gpuOfProfile } from '../profile/device';
import { ExpectedError } from '../errors';
import type { Located } from '../located';
import { fitsMemory } from '../memory/count';
import { parameterCount } from '../model/parameters';
import { modelSpecOf } from '../config/written-model';
import { runtimeOf } from '../model/runtimes';
import type { ModelSpec } from '../model/spec';
import { chooseProfile, gpuPresetOf, profileMismatch } from '../profile/match';
import type { NamedProfile } from '../profile/profile';
import type { ScheduleName } from '../schedule/schedule';
import { formatCount } from '../format';
import { baseName } from '../text';
import { calibrated } from './calibrate';
import { becauseOfFace, type ResolveDefaults } from './defaults';
import type { Assumption, Layout, PlanRequest, TrainingSpec } from './request';
import { memoryOf } from './scheduling';
import { sequenceLengths } from './lengths';
import { requireStacks, requireStacksOf } from './stack-rules';
import { requireCut } from './stages';

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
 *
 * @param found profiles that lie near the config; one that matches is used unless the files name another or none.
 * @throws ExpectedError `model-not-planned` for models of kinds that planning has no word for; `layout-world-size` when no layout uses the GPUs there are; `profile-mismatch` when the profile that the files name is of something else.
 */
export function resolveRun(run: Run, defaults: ResolveDefaults, found: readonly NamedProfile[] = []): PlanRequest {
  requirePlanned(run);
  const { assumptions, take } = chooser();
  for (const [key, { value, source }] of Object.entries(run.model)) {
    if (source.kind === 'default' && value !== null)
      assumptions.push({ key: `model.${key}`, value: String(value), because: source.because });
  }
  const model = modelSpecOf(run.model, run.traits);
  requireStacksOf(run, model);
  const oneNode = resolveNode(run, defaults, take);
  const draft = resolveTraining(run, model, oneNode, take);
  const fixing = { ...run, layout: layoutGiven(run, take) };
  const cluster = { ...oneNode, nodes: resolveNodes(fixing, defaults, draft, model, oneNode, take) };
  const layout = resolveLayout(fixing, draft, model, cluster, take);
  const training: TrainingSpec = {
    ...draft,
    sequenceParallel: take('training.sequenceParallel', run.training.sequenceParallel, () => ({
      value: layout.tensor > 1,
      because: layout.tensor > 1 ? 'usual with tensor parallelism' : 'needs tensor parallelism',
    })),
    globalBatch: take('training.globalBatch', run.training.globalBatch, () => globalBatchOf(run, layout, draft.microBatch)),
  };
  const request: PlanRequest = {
    title: run.title,
    model,
    cluster,
    training,
    layout,
    schedule: run.schedule?.value ?? null,
    slicing: { unit: run.unit?.value ?? null, scheme: run.scheme?.value ?? null },
    constants: { ...defaultConstants, ...givenValues(run.constants) },
    costTable: run.costTable?.value ?? null,
    profile: null,
    assumptions,
  };
  requireStacks(request);
  const profile = resolveProfile(run, request, found, take);
  return calibratedTo(run, { ...request, profile }, take);
}

/** With the GPU's efficiency rescaled to a measured step that the files give; measured layer times need none. */
function calibratedTo({ calibration }: Run, request: PlanRequest, take: Take): PlanRequest {
  const measured = calibration?.iterationMs;
  if (measured === undefined) return request;
  if (request.costTable !== null || request.profile !== null) {
    take('calibration.iterationMs', undefined, () => ({ value: 'not used', because: 'layer times are measured already' }));
    return request;
  }
  try {
    return calibrated(request, measured.value);
  } catch (error) {
    if (!(error instanceof ExpectedError) || error.place !== undefined || measured.source.kind !== 'file') throw error;
    throw new ExpectedError(error.code, error.message, error.remedy, measured.source.place);
  }
}

function requirePlanned({ unplanned }: Run): void {
  if (unplanned !== undefined) throw new ExpectedError('model-not-planned', unplanned.message, unplanned.remedy, unplanned.place);
}

/** The profile that the files name, or the best of those found; what was found and refused is said. */
function resolveProfile(run: Run, request: PlanRequest, found: readonly NamedProfile[], take: Take): NamedProfile | null {
  if (request.costTable !== null || run.profile?.value === null) return null;
  if (run.profile !== undefined) {
    const { value, source } = run.profile;
    const reason = profileMismatch(value.profile, request);
    if (reason === null) return value;
    throw new ExpectedError(
      'profile-mismatch',
      `This profile cannot serve the plan: ${reason}`,
      'profile this layer on this GPU, name another profile, or write "none"',
      source.kind === 'file' ? source.place : undefined,
    );
  }
  const { chosen, refused } = chooseProfile(request, found);
  const [first] = refused;
  if (chosen !== null)
    take('cost.profile', undefined, () => ({
      value: baseName(chosen.file),
      because: 'found near the config; same layer, GPU and precision',
    }));
  else if (first !== undefined)
    take('cost.profile', undefined, () => ({
      value: 'none',
      because: `${baseName(first.file)}: ${first.reason}${refused.length > 1 ? `; nor do ${refused.length - 1} more match` : ''}`,
    }));
  return chosen;
}

function givenValues<T extends object>(given: Given<T>): Partial<T> {
  return Object.fromEntries(Object.entries(given).map(([key, located]) => [key, (located as Located<unknown>).value])) as Partial<T>;
}

/** What the files fix of the layout: a cut fixes the number of stages, a profile they name the tensor size it was measured for. */
function layoutGiven({ layout: written, profile }: Run, take: Take): Given<Layout> {
  const layout = withStagesOfCut(written, take);
  const measured = profile?.value?.profile.tensor;
  if (measured === undefined || layout.tensor !== undefined) return layout;
  const value = take('layout.tensor', undefined, () => ({ value: measured, because: 'the profile was measured for it' }));
  return { ...layout, tensor: { value, source: { kind: 'default', because: 'the profile was measured for it' } } };
}

function withStagesOfCut(layout: Given<Layout>, take: Take): Given<Layout> {
  const { stageLayers, pipeline, virtualStages } = layout;
  const stages = (stageLayers?.value?.length ?? 0) / (virtualStages?.value ?? 1);
  if (stages === 0 || pipeline !== undefined || !Number.isInteger(stages)) return layout;
  const because = 'as many as layout.stageLayers has';
  return {
    ...layout,
    pipeline: { value: take('layout.pipeline', undefined, () => ({ value: stages, because })), source: { kind: 'default', because } },
  };
}

/** The cluster but for its number of nodes, which is 1 here. */
function resolveNode(run: Run, defaults: ResolveDefaults, take: Take): ClusterSpec {
  const assumed = run.gpu === undefined ? assumedGpu(run, defaults) : null;
  if (assumed !== null) take('cluster.gpu', undefined, () => ({ value: assumed.gpu.name, because: assumed.because }));
  const preset = gpuPresets[defaults.gpu];
  const gpu = run.gpu?.value ?? assumed?.gpu ?? preset.gpu;
  const named = Object.values(gpuPresets).find((other) => other.gpu.name === gpu.name);
  const gpusPerNode = take('cluster.gpusPerNode', run.gpusPerNode, () => ({
    value: defaults.gpusPerNode ?? named?.gpusPerNode ?? 8,
    because:
      defaults.gpusPerNode !== null
        ? becauseOfFace(defaults, 'gpusPerNode')
        : named === undefined
          ? 'a usual number'
          : 'as this GPU is usually built in',
  }));
  return { gpu, links: run.links?.value ?? named?.links ?? gpuPresets[unknownGpuLinks].links, nodes: 1, gpusPerNode };
}

/** Whose links a GPU without a preset is assumed to have: PCIe. */
const unknownGpuLinks: GpuPresetName = 'L40S';

/** The GPU when no file names one: that of the profile the files name, else the face's default. */
function assumedGpu(run: Run, defaults: ResolveDefaults): { readonly gpu: GpuSpec; readonly because: string } {
  const profile = run.profile?.value?.profile;
  if (profile === undefined) return { gpu: gpuPresets[defaults.gpu].gpu, because: becauseOfFace(defaults, 'gpu') };
  const known = gpuPresetOf(profile.device.name, profile.device.memoryBytes);
  return { gpu: known === null ? gpuOfProfile(profile) : gpuPresets[known].gpu, because: 'the profile was measured on it' };
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
    if (defaults.nodes !== null) return { value: defaults.nodes, because: becauseOfFace(defaults, 'nodes') };
    const sizes = ['tensor', 'pipeline', 'data', 'context'] as const;
    const asked = sizes.reduce((gpus, size) => gpus * (run.layout[size]?.value ?? 1), 1);
    if (asked > 1) return { value: Math.ceil(asked / oneNode.gpusPerNode), because: 'enough for the layout' };
    for (let nodes = 1; nodes <= mostAssumedNodes; nodes *= 2)
      if (searchLayout(run, draft, model, { ...oneNode, nodes })?.fits === true)
        return { value: nodes, because: 'the fewest on which the model fits' };
    return { value: mostAssumedNodes, because: 'the model fits on no fewer' };
  });
}

function globalBatchOf({ batchPerReplica: each }: Run, layout: Layout, microBatch: number): Fallback<number> {
  return each === undefined
    ? { value: defaultGlobalBatch(layout, microBatch), because: 'four micro-batches a stage on every replica' }
    : { value: each.value * layout.data, because: `${formatCount(each.value)} on each replica, as the files say` };
}

type TrainingDraft = Omit<TrainingSpec, 'globalBatch' | 'sequenceParallel'>;

function resolveTraining({ training: given, profile }: Run, model: ModelSpec, cluster: ClusterSpec, take: Take): TrainingDraft {
  const { fp16, bf16 } = cluster.gpu.peakTflops;
  const noFastBf16 = bf16 < fp16;
  const runtime = runtimeOf({ ...(given.runtime && { runtime: given.runtime.value }) });
  return {
    ...sequenceLengths(given, model, take),
    microBatch: take('training.microBatch', given.microBatch, () => ({ value: 1, because: 'the least memory' })),
    precision: take('training.precision', given.precision, () => {
      const measured = profile?.value?.profile.precision;
      if (measured !== undefined) return { value: measured, because: 'the profile was measured in it' };
      return noFastBf16 ? { value: 'fp16', because: 'this GPU has no fast bf16' } : { value: 'bf16', because: 'usual practice' };
    }),
    optimizer: take('training.optimizer', given.optimizer, () => ({ value: 'adam', because: 'usual practice' })),
    zeroStage: take('training.zeroStage', given.zeroStage, () => runtime.zeroStage),
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
    ...givenValues(optional(given)),
    ...narrowProducts(given, cluster, take),
    fp32Gradients: take('training.fp32Gradients', given.fp32Gradients, () => runtime.fp32Gradients),
  };
}

/** What has no default of its own: absent means the usual. */
function optional(given: Run['training']): Run['training'] {
  const { runtime, recomputeLayers, recomputeGroup, recomputeModules, contextExchange, offloadOptimizer, offloadLayers } = given;
  return {
    ...(runtime && { runtime }),
    ...(recomputeLayers && { recomputeLayers }),
    ...(recomputeGroup && { recomputeGroup }),
    ...(recomputeModules && { recomputeModules }),
    ...(contextExchange && { contextExchange }),
    ...(offloadOptimizer && { offloadOptimizer }),
    ...(offloadLayers && { offloadLayers }),
  };
}

/** The format of the layers' products, where the GPU has a rate for it. */
function narrowProducts({ gemmPrecision }: Run['training'], { gpu }: ClusterSpec, take: Take): Pick<TrainingSpec, 'gemmPrecision'> {
  const value = gemmPrecision?.value;
  if (value === undefined) return {};
  if (gpu.peakTflops[value] !== undefined) return { gemmPrecision: value };
  take('training.gemmPrecision', undefined, () => ({ value: 'none', because: `${gpu.name} has no rate for products in ${value}` }));
  return {};
}

function defaultGlobalBatch(layout: Layout, microBatch: number): number {
  return layout.data * microBatch * 4 * layout.pipeline;
}

function resolveLayout(run: Run, training: TrainingDraft, model: ModelSpec, cluster: ClusterSpec, take: Take): Layout {
  const given = run.layout;
  const world = cluster.nodes * cluster.gpusPerNode;
  requireCutGiven(given, model);
  const found = searchLayout(run, training, model, cluster);
  if (found === null) {
    throw new ExpectedError(
      'layout-world-size',
      `No tensor, pipeline and data sizes use all ${formatCount(world)} GPUs with what is fixed`,
      `leave one of layout.tensor, layout.pipeline and layout.data open, or set all of them`,
    );
  }
  const { tensor, pipeline, data, context, expert, expertTensor, virtualStages, stageLayers } = found.layout;
  const parameters = formatCount(parameterCount(model));
  const because = `the least model parallelism that ${found.fits ? 'fits' : 'comes near to fitting'} ${parameters} parameters on ${formatCount(world)} ${cluster.gpu.name}`;
  return {
    tensor: take('layout.tensor', given.tensor, () => ({ value: tensor, because })),
    pipeline: take('layout.pipeline', given.pipeline, () => ({ value: pipeline, because })),
    data: take('layout.data', given.data, () => ({ value: data, because: `what is left of ${formatCount(world)} GPUs` })),
    context: take('layout.context', given.context, () => ({ value: context, because: 'no context parallelism asked for' })),
    expert,
    ...(expertTensor === undefined ? {} : { expertTensor }),
    virtualStages,
    ...(stageLayers === undefined ? {} : { stageLayers }),
  };
}

/** Refuses a cut that does not fit the stages and the model where it is written. */
function requireCutGiven({ stageLayers, pipeline, virtualStages }: Given<Layout>, model: ModelSpec): void {
  if (stageLayers?.value === undefined) return;
  const { value, source } = stageLayers;
  const virtual = virtualStages?.value ?? 1;
  const layout = { pipeline: pipeline?.value ?? value.length / virtual, virtualStages: virtual, stageLayers: value };
  requireCut(layout, model, source.kind === 'file' ? source.place : undefined);
}

interface FoundLayout {
  readonly layout: Layout;
  /** By the memory of the schedule that layouts are judged by; true without a look when the file fixes the layout. */
  readonly fits: boolean;
}

/** By which schedule's memory a layout is judged: the one asked for, or a simpler one like it where that is chosen or planned within the memory there is. */
const judgedBy: Readonly<Partial<Record<ScheduleName, ScheduleName>>> = {
  ...{ TeraPipe: '1F1B', GPipe: '1F1B', Seq1F1B: '1F1B' },
  ...{ ZeroBubble: '1F1B', ZeroBubbleV: 'ZBVZeroBubble' },
};

/** The first possible layout whose schedule fits, or the one that comes closest; null when none uses all GPUs. */
function searchLayout(
  { layout: given, schedule: asked }: Pick<Run, 'layout' | 'schedule'>,
  draft: TrainingDraft,
  model: ModelSpec,
  cluster: ClusterSpec,
): FoundLayout | null {
  const wanted = asked?.value ?? '1F1B';
  const schedule = judgedBy[wanted] ?? wanted;
  const context = given.context?.value ?? 1;
  const expertTensor = given.expertTensor?.value;
  const shared: Pick<Layout, 'expertTensor' | 'stageLayers'> = {
    ...(expertTensor === undefined ? {} : { expertTensor }),
    ...(given.stageLayers?.value === undefined ? {} : { stageLayers: given.stageLayers.value }),
  };
  const open = { context, expert: given.expert?.value ?? 1, ...shared, virtualStages: given.virtualStages?.value ?? 1 };
  const sizes = possibleSizes(given, model, cluster, (cluster.nodes * cluster.gpusPerNode) / context);
  const [only] = sizes;
  if (only !== undefined && sizes.length === 1) return { layout: { ...only, ...open }, fits: true };
  let closest: { layout: Layout; bytes: number } | null = null;
  for (const size of sizes) {
    const layout = { ...size, ...open };
    const training = { ...draft, sequenceParallel: layout.tensor > 1, globalBatch: defaultGlobalBatch(layout, draft.microBatch) };
    const scheme = Array.from({ length: 2 * layout.pipeline }, () => ({ batch: training.microBatch, tokens: [training.sequenceLength] }));
    const memory = memoryOf({ model, training, layout }, schedule, scheme, cluster.gpu.memoryBytes);
    if (memory !== null && fitsMemory(memory)) return { layout, fits: true };
    const bytes = memory === null ? Infinity : Math.max(...memory.stages.map((stage) => stage.peakBytes));
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

import type { Run } from '../formats/run';
import type { Given, MeasuredStepGiven } from '../formats/given';
import { applyOverrides } from '../terapipe/overrides';
import type { Located } from '../domain/located';
import type { ModelSpec } from '../domain/model';
import { clusterOf, clusterText } from '../cluster/groups';
import type { ClusterSpec } from '../domain/cluster';
import { defaultConstants, type CostConstants } from '../domain/cost-constants';
import { ExpectedError, type CancelSignal } from '../errors';
import { parameterCount } from '../model/parameters';
import { trainedModelOf } from '../formats/written-model';
import { chooseProfile, profileMismatch } from '../measured-profile/match';
import type { NamedProfile } from '../domain/profile';
import { formatCount } from '../format';
import { baseName } from '../text';
import { isLauncher } from '../launchers/registry';
import { runtimeOf, usualSequenceParallel } from '../domain/runtime';
import { abilitiesOf } from '../layout-search/abilities';
import { calibrated, type MeasuredStep } from './calibrate';
import { withCutOfRecipe } from './recipe-cut';
import { withChunksOfCut, withStagesOfCut } from './cut-given';
import { requireCutGiven, orderOf, resolveLayout } from './resolve-layout';
import { defaultsRecorder, type ValueOrDefault } from './defaults-recorder';
import { batchFallback } from './assumed-batch';
import type { ResolveDefaults } from './defaults';
import type { Layout, PlanRequest, TrainingSpec } from '../domain/request';
import { requestedGpus, type PlannedModel, type TrainingDraft } from './first-layout';
import { resolveNode, resolveNodes } from './resolve-cluster';
import { givenValues, resolveTraining, ringOf } from './resolve-training';
import { scenarioOf, type Scenario } from './scenario';
import { mixedLayout } from '../partition/mixed-layout';
import { scheduleOn } from '../schedules/on-layout';
import { nothingToPlan, requireCountable, requireStacks, requireStacksOf } from '../planner/refusals';
import { schemeAlike, sliceMultiple, splitLengths } from '../planner/candidates/splits';
import { splitName } from '../domain/sequence-split';
import { counted, sentence } from '../sentence';

/**
 * Fills in what the files leave open and reports what was filled: cluster from the face's defaults, training from usual practice, layout by
 * the first that fits memory.
 *
 * @param found profiles that lie near the config; one that matches is used unless the files name another or none.
 * @throws ExpectedError `model-not-planned` for kinds of models that planning does not support; `layout-world-size` when no layout uses the
 * GPUs there are; `profile-mismatch` when the profile that the files name is of something else;
 * CancelledError.
 */
export function resolveRun(run: Run, defaults: ResolveDefaults, found: readonly NamedProfile[] = [], signal?: CancelSignal): PlanRequest {
  requirePlanned(run);
  const { assumptions, valueOrDefault } = defaultsRecorder();
  for (const [key, { value, source }] of Object.entries(run.model)) {
    if (source.kind === 'default' && value !== null) assumptions.push({ key: `model.${key}`, value: String(value), reason: source.reason });
  }
  const model = trainedModelOf(run);
  requireStacksOf(run, model);
  const mixed = mixedCluster(run);
  const oneNode = mixed ?? resolveNode(run, defaults, valueOrDefault);
  const { kept } = defaults;
  const draft = resolveTraining(run, model, oneNode, valueOrDefault, defaults);
  const abilities = abilitiesOf(run, runtimeOf(draft).id);
  const planned = { model, draft, signal, kept, capabilities: abilities.capabilities };
  const sized = { ...run, layout: layoutGiven(run, valueOrDefault) };
  const given = { ...sized, layout: withCutOfRecipe(sized, model, valueOrDefault) };
  const assumed = mixed === null ? resolveNodes(given, defaults, planned, oneNode, valueOrDefault) : null;
  const cluster = mixed ?? { ...oneNode, nodes: assumed?.nodes ?? 1 };
  const constants = { ...defaultConstants, ...givenValues(run.constants) };
  const layout =
    mixed === null
      ? resolveLayout(given, planned, cluster, assumed?.found ?? null, valueOrDefault)
      : resolveMixedLayout(given, planned, mixed, constants, valueOrDefault);
  const training = { ...trainingOn(run, draft, layout, valueOrDefault, kept), ...ringOf(model, draft, layout, valueOrDefault) };
  const runs = run.schedules?.value ?? defaults.schedules ?? abilities.schedules;
  const request: PlanRequest = {
    title: run.title,
    model,
    cluster,
    training,
    layout: { ...layout, ...orderOf(run.layout, layout, { training, cluster }, valueOrDefault) },
    schedule: scheduleOf(run, layout),
    ...(runs === 'all' ? {} : { runs }),
    ...(leavesStagesOpen(run, layout, model) ? { freeVirtualStages: true as const } : {}),
    ...(isLauncher(run.format) && run.schedule !== undefined ? { launches: run.schedule.value } : {}),
    capabilities: abilities.capabilities,
    slicing: slicingOf(run, { model, training, layout }),
    constants,
    costTable: run.costTable?.value ?? null,
    ...(run.leftOut !== undefined && { leftOut: run.leftOut }),
    profile: null,
    assumptions,
  };
  requireStacks(request);
  const profile = resolveProfile(run, request, found, valueOrDefault);
  return calibratedTo(run, defaults, { ...request, profile }, valueOrDefault, signal);
}

/** Whether a plan may choose virtual stages: a launcher's file that gives none has none, and neither have two stacks. */
function leavesStagesOpen(
  { format, layout: given }: Run,
  { pipeline, stageLayers, stageNodeGroups }: Layout,
  { stacks }: ModelSpec,
): boolean {
  const isFree = given.virtualStages === undefined && stageLayers === undefined && stageNodeGroups === undefined;
  return !isLauncher(format) && pipeline > 1 && isFree && stacks === undefined;
}

/** The schedule that the files name; on one stage launchers run none, whatever their files name for later. */
function scheduleOf({ schedule, format }: Run, { pipeline }: Layout): PlanRequest['schedule'] {
  const isOwn = format === 'terapipe' || format === 'huggingface' || format === 'onnx';
  return schedule === undefined || (pipeline === 1 && !isOwn) ? null : schedule.value;
}

/**
 * The slices that the files give, or that the runtime they name makes of its flags.
 * @throws ExpectedError `slices-not-cut` where it would stop at them.
 */
function slicingOf(run: Run, request: Pick<PlanRequest, 'model' | 'training' | 'layout'>): PlanRequest['slicing'] {
  const unit = run.unit?.value ?? null;
  const schedule = scheduleOf(run, request.layout);
  const isSliced = schedule !== null && scheduleOn(schedule, request.layout).sliced;
  if (run.scheme !== undefined || run.split === undefined || !isSliced) return { unit, scheme: run.scheme?.value ?? null };
  const { value: split, source } = run.split;
  const lengths = splitLengths(request, split);
  if (lengths === null) {
    const tokens = request.training.sequenceLength;
    const multiple = sliceMultiple(request);
    const { place } = source.kind === 'file' ? source : run;
    throw new ExpectedError(
      'slices-not-cut',
      sentence`Sequences of ${counted(tokens, 'token')} cannot be cut into ${splitName(split)}${multiple > 1 ? sentence` of multiples of ${multiple} tokens` : ''}`,
      sentence`use a number of slices that divides the sequence, or slices of equal work`,
      place,
    );
  }
  const scheme = schemeAlike(request, lengths);
  if (scheme === null) throw nothingToPlan(request);
  return { unit, scheme, split: { ...split, lengths } };
}

/** The training on a layout: what depends on its sizes. */
function trainingOn(
  run: Run,
  draft: TrainingDraft,
  layout: Layout,
  valueOrDefault: ValueOrDefault,
  kept: Scenario | undefined,
): TrainingSpec {
  const given = run.training;
  return {
    ...draft,
    sequenceParallel: valueOrDefault('training.sequenceParallel', given.sequenceParallel, () =>
      usualSequenceParallel(draft, layout.tensor),
    ),
    globalBatch: valueOrDefault('training.globalBatch', given.globalBatch, () => batchFallback(run, draft, layout, kept)),
  };
}

/** With the constants of the machine corrected by measured steps that the files give; measured layer times need none. */
function calibratedTo(
  run: Run,
  defaults: ResolveDefaults,
  request: PlanRequest,
  valueOrDefault: ValueOrDefault,
  signal: CancelSignal | undefined,
): PlanRequest {
  const { iterationMs, steps } = run.calibration ?? {};
  if (iterationMs === undefined && steps === undefined) return request;
  if (request.costTable !== null || request.profile !== null) {
    valueOrDefault('calibration.iterationMs', undefined, () => ({ value: 'not used', reason: sentence`layer times are measured already` }));
    return request;
  }
  requireCountable(request);
  const others =
    steps === undefined ? [] : placedAt(steps, () => steps.value.map((one) => measuredStep(run, defaults, request, one, signal)));
  return placedAt(iterationMs ?? steps, () => calibrated(request, iterationMs?.value ?? null, others, signal));
}

/** A step of another run on the machine, with that run's request: this one's except for what its settings change. */
function measuredStep(
  run: Run,
  defaults: ResolveDefaults,
  request: PlanRequest,
  { iterationMs, set }: MeasuredStepGiven,
  signal: CancelSignal | undefined,
): MeasuredStep {
  const { layout, cluster } = request;
  const keys = Object.keys(set);
  const isCutAnew = keys.some((key) => key === 'layout.pipeline' || key === 'layout.virtualStages');
  const asHere = Object.entries<unknown>({ ...layout }).filter(([key]) => !(isCutAnew && key === 'stageLayers'));
  const source = { kind: 'default', reason: sentence`as in this file` } as const;
  const sizes = Object.fromEntries(asHere.map(([key, value]) => [key, { value, source }])) as Given<Layout>;
  const settings = Object.entries(set).map(([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  const changed = applyOverrides({ ...run, layout: sizes, calibration: {} }, settings);
  const nodes = { value: Math.ceil(requestedGpus(changed.layout) / cluster.gpusPerNode), source };
  const placed = keys.includes('cluster.nodes') ? changed : { ...changed, nodes };
  return { iterationMs, request: resolveRun(placed, { ...defaults, kept: scenarioOf(request) }, [], signal) };
}

/** What `work` gives; its errors without a place are put where the value is. */
function placedAt<T>(value: Located<unknown> | undefined, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof ExpectedError) || error.place !== undefined || value?.source.kind !== 'file') throw error;
    throw new ExpectedError(error.code, error.what, error.remedy, value.source.place);
  }
}

function requirePlanned({ unplanned }: Run): void {
  if (unplanned !== undefined) throw new ExpectedError('model-not-planned', unplanned.message, unplanned.remedy, unplanned.place);
}

/** The profile that the files name, or the best of those found; what was found and refused is reported. */
function resolveProfile(
  run: Run,
  request: PlanRequest,
  found: readonly NamedProfile[],
  valueOrDefault: ValueOrDefault,
): NamedProfile | null {
  if (request.costTable !== null || run.profile?.value === null) return null;
  if (run.profile !== undefined) {
    const { value, source } = run.profile;
    const reason = profileMismatch(value.profile, request);
    if (reason === null) return value;
    throw new ExpectedError(
      'profile-mismatch',
      sentence`This profile cannot serve the plan: ${reason}`,
      sentence`profile this layer on this GPU, name another profile, or write "none"`,
      source.kind === 'file' ? source.place : undefined,
    );
  }
  if (request.cluster.groups !== undefined) {
    if (found.length > 0)
      valueOrDefault('cost.profile', undefined, () => ({ value: 'none', reason: sentence`a profile is of one kind of GPU` }));
    return null;
  }
  const { chosen, refused } = chooseProfile(request, found);
  const [first] = refused;
  if (chosen !== null)
    valueOrDefault('cost.profile', undefined, () => ({
      value: baseName(chosen.file),
      reason: sentence`found near the config; same layer, GPU and precision`,
    }));
  else if (first !== undefined)
    valueOrDefault('cost.profile', undefined, () => ({
      value: 'none',
      reason:
        refused.length > 1
          ? sentence`${baseName(first.file)}: ${first.reason}; ${counted(refused.length - 1, 'other profile')} not used either`
          : sentence`${baseName(first.file)}: ${first.reason}`,
    }));
  return chosen;
}

/** What the files fix of the layout: a cut fixes the number of stages, a profile they name the tensor size it was measured for. */
function layoutGiven({ layout: written, profile, schedule, format }: Run, valueOrDefault: ValueOrDefault): Given<Layout> {
  const layout = withStagesOfCut(withChunksOfCut(written, schedule?.value, valueOrDefault), valueOrDefault);
  const measured = profile?.value?.profile.tensor;
  if (measured === undefined || layout.tensor !== undefined) return withWholeExperts(layout, format, valueOrDefault);
  const value = valueOrDefault('layout.tensor', undefined, () => ({ value: measured, reason: sentence`the profile was measured for it` }));
  return { ...layout, tensor: { value, source: { kind: 'default', reason: sentence`the profile was measured for it` } } };
}

/**
 * Experts that ranks share out are whole, where a file of no launcher leaves that open: so are those of every recipe of Megatron-Bridge
 * with tensor and expert parallelism.
 */
function withWholeExperts(layout: Given<Layout>, format: Run['format'], valueOrDefault: ValueOrDefault): Given<Layout> {
  const isShared = (layout.expert?.value ?? 1) > 1 && (layout.tensor?.value ?? 1) > 1;
  if (layout.expertTensor !== undefined || !isShared || isLauncher(format)) return layout;
  const reason = sentence`experts whole on a GPU, as launchers run them with expert parallelism`;
  const value = valueOrDefault('layout.expertTensor', undefined, () => ({ value: 1, reason }));
  return { ...layout, expertTensor: { value, source: { kind: 'default', reason } } };
}

/**
 * The cluster of a run with several kinds of nodes; null for others.
 * @throws ExpectedError `cluster-groups-measured`, placed, when times are given that are of one kind of GPU: which, no file says.
 */
function mixedCluster(run: Run): ClusterSpec | null {
  if (run.groups === undefined) return null;
  const { costTable, profile, calibration } = run;
  const measured = [
    ['cost.table', costTable],
    ['cost.profile', profile?.value === null ? undefined : profile],
    ['calibration.iterationMs', calibration?.iterationMs],
    ['calibration.steps', calibration?.steps],
  ] as const;
  for (const [key, setting] of measured)
    if (setting !== undefined)
      throw new ExpectedError(
        'cluster-groups-measured',
        sentence`${key} is of one kind of GPU, and cluster.groups has several`,
        sentence`remove ${key}; what is known of a GPU goes to its group, as cluster.groups[0].gpu.gemmEfficiency`,
        setting.source.kind === 'file' ? setting.source.place : undefined,
      );
  return clusterOf(run.groups.value);
}

/** Sizes, place and cut of the stages on nodes of several kinds. */
function resolveMixedLayout(
  run: Run,
  { model, draft, signal, kept }: PlannedModel,
  cluster: ClusterSpec,
  constants: CostConstants,
  valueOrDefault: ValueOrDefault,
): Layout {
  const given = run.layout;
  requireCutGiven(given, model);
  const { layout, fits } = mixedLayout({
    given,
    model,
    cluster,
    constants,
    schedule: run.schedule?.value ?? null,
    trainingOn: (sizes) => trainingOn(run, draft, sizes, defaultsRecorder().valueOrDefault, kept),
    signal,
  });
  const parameters = formatCount(parameterCount(model));
  const reason = fits
    ? sentence`the shortest step of the sizes that fit`
    : sentence`the nearest to fitting ${parameters} parameters on ${clusterText(cluster)}`;
  valueOrDefault('layout.tensor', given.tensor, () => ({ value: layout.tensor, reason }));
  valueOrDefault('layout.pipeline', given.pipeline, () => ({
    value: layout.pipeline,
    reason: sentence`every group takes as many stages as its GPUs make`,
  }));
  valueOrDefault('layout.data', given.data, () => ({ value: layout.data, reason }));
  valueOrDefault('layout.context', given.context, () => ({ value: layout.context, reason: sentence`no context parallelism set` }));
  valueOrDefault('layout.stageNodeGroups', given.stageNodeGroups, () => ({
    value: layout.stageNodeGroups,
    reason: sentence`the order of the groups with the shortest step`,
  }));
  valueOrDefault('layout.stageLayers', given.stageLayers, () => ({
    value: layout.stageLayers,
    reason: sentence`the slowest stage is fastest so`,
  }));
  return layout;
}

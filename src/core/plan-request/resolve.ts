import type { ClusterSpec } from '../domain/cluster';
import { defaultConstants, type CostConstants } from '../domain/slice-cost';
import type { Located } from '../domain/located';
import type { ModelSpec } from '../domain/model';
import type { NamedProfile } from '../domain/profile';
import type { Assumption, Layout, PlanRequest, TrainingSpec } from '../domain/request';
import { runtimeProfile, usualSequenceParallel } from '../domain/runtime';
import type { ScheduleChoices } from '../domain/schedule-names';
import { ExpectedError, type CancelSignal } from '../errors';
import type { LocatedPartial, MeasuredStepSettings } from '../run/given';
import type { Run } from '../run/run';
import { toTrainedModel } from '../run/written-model';
import { isLauncher, launcherTraits } from '../launchers/registry';
import { runAbilities } from '../layout-search/abilities';
import { chooseProfile, mismatchRemedy, profileMismatch } from '../measured-profile/match';
import { listProblem, schemeAlike, sliceMultiple, splitLengths } from '../planner/candidates/splits';
import { splitName } from '../domain/scheme';
import { nothingToPlan, requireCountable, requireHeadSize, requireStacks, requireStacksGiven } from '../planner/refusals';
import { scheduleOn } from '../schedules/on-layout';
import { counted, sentence } from '../sentence';
import { applyOverrides, settingTexts } from '../terapipe/overrides';
import { baseName } from '../text';
import { withTrainerTimes } from './trainer-times';
import { batchFallback } from './assumed-batch';
import { calibrated, type MeasuredStep } from './calibrate';
import { defaultsRecorder, type ValueOrDefault } from './defaults-recorder';
import { formatCount } from '../format';
import { requestedGpus, type PlannedModel, type TrainingDraft } from './first-layout';
import { withLayoutGiven } from './layout-given';
import { mixedCluster, resolveMixedLayout } from './mixed-cluster';
import { resolveNode, resolveNodes } from './resolve-cluster';
import { resolveLayout, resolveOrder } from './resolve-layout';
import { givenValues, resolveTraining, resolveContextParallelComm, resolveHybridGroups } from './resolve-training';
import { planScenario, type Scenario, type ResolveDefaults } from './scenario';

/**
 * Fills in what the files leave open and reports what was filled: cluster from the face's defaults, training from usual practice, layout by
 * the first that fits memory.
 *
 * @param written what the files give.
 * @param found profiles that lie near the config; one that matches is used unless the files name another or none.
 * @throws ExpectedError `model-not-planned` for kinds of models that planning does not support; `layout-world-size` when no layout uses the
 * GPUs there are; `profile-mismatch` when the profile that the files name is of something else; CancelledError.
 */
export function resolveRun(
  written: Run,
  defaults: ResolveDefaults,
  found: readonly NamedProfile[] = [],
  signal?: CancelSignal,
): PlanRequest {
  requirePlanned(written);
  requireGpu(written);
  requireHeadSize(written);
  const { assumptions, valueOrDefault } = defaultsRecorder([...modelDefaults(written), ...trainingGuesses(written)]);
  const model = toTrainedModel(written);
  requireStacksGiven(written, model);
  const mixed = mixedCluster(written);
  const node = mixed ?? resolveNode(written, defaults, valueOrDefault);
  const draft = resolveTraining(written, model, node, valueOrDefault, defaults);
  const run = withLayoutGiven(written, model, valueOrDefault);
  const abilities = runAbilities(run, runtimeProfile(draft).id);
  const planned = { model, draft, signal, kept: defaults.kept, capabilities: abilities.capabilities };
  const constants = { ...defaultConstants, ...givenValues(run.constants) };
  const { cluster, layout } =
    mixed === null
      ? placeOnNodes(run, defaults, planned, node, valueOrDefault)
      : { cluster: mixed, layout: placeOnGroups(run, planned, mixed, constants, valueOrDefault) };
  const training = {
    ...trainingOn(run, draft, layout, valueOrDefault, defaults.kept),
    ...resolveContextParallelComm(model, draft, layout, valueOrDefault),
    ...resolveHybridGroups(draft, layout, cluster, valueOrDefault),
  };
  const request: PlanRequest = {
    title: run.title,
    model,
    cluster,
    training,
    layout: { ...layout, ...resolveOrder(run.layout, layout, { training, cluster }, valueOrDefault) },
    ...resolveSchedule(run, layout, model, run.schedules?.value ?? defaults.schedules ?? abilities.schedules),
    capabilities: abilities.capabilities,
    slicing: requestedSlicing(run, { model, training, layout }),
    constants,
    costTable: run.costTable?.value ?? null,
    ...(run.leftOut !== undefined && { leftOut: run.leftOut }),
    profile: null,
    assumptions,
  };
  requireStacks(request);
  const profile = resolveProfile(run, request, found, valueOrDefault);
  return calibratedTo(run, defaults, withTrainerTimes({ ...request, profile }, run), valueOrDefault, signal);
}

/** What the model's files leave to defaults of its family. */
function modelDefaults({ model }: Run): readonly Assumption[] {
  return Object.entries(model).flatMap(([key, { value, source }]) =>
    source.kind === 'default' && value !== null ? [{ key: `model.${key}`, value: String(value), reason: source.reason }] : [],
  );
}

/** What a reader guesses of the training, such as from the name of a file that is missing. */
function trainingGuesses({ training }: Run): readonly Assumption[] {
  return Object.entries(training).flatMap(([key, { value, source }]) =>
    source.kind === 'default' && source.isGuess === true ? [{ key: `training.${key}`, value: String(value), reason: source.reason }] : [],
  );
}

/** The nodes of a run with one kind of them, and its layout there. */
function placeOnNodes(
  run: Run,
  defaults: ResolveDefaults,
  planned: PlannedModel,
  oneNode: ClusterSpec,
  valueOrDefault: ValueOrDefault,
): Pick<PlanRequest, 'cluster' | 'layout'> {
  const { nodes, found } = resolveNodes(run, defaults, planned, oneNode, valueOrDefault);
  const cluster = { ...oneNode, nodes };
  return { cluster, layout: resolveLayout(run, planned, cluster, found, valueOrDefault) };
}

/** The layout of a run on nodes of several kinds. */
function placeOnGroups(
  run: Run,
  planned: PlannedModel,
  cluster: ClusterSpec,
  constants: CostConstants,
  valueOrDefault: ValueOrDefault,
): Layout {
  const trainingTried = (layout: Layout): TrainingSpec =>
    trainingOn(run, planned.draft, layout, defaultsRecorder().valueOrDefault, planned.kept);
  return resolveMixedLayout(run, planned, { cluster, constants }, trainingTried, valueOrDefault);
}

/** The schedule that the files name, and what there is to choose from. */
function resolveSchedule(
  run: Run,
  layout: Layout,
  model: ModelSpec,
  runs: ScheduleChoices,
): Pick<PlanRequest, 'schedule' | 'runs' | 'freeVirtualStages' | 'launches'> {
  return {
    schedule: requestedSchedule(run, layout),
    ...(runs === 'all' ? {} : { runs }),
    ...(leavesStagesOpen(run, layout, model) ? { freeVirtualStages: true as const } : {}),
    ...(isLauncher(run.format) && run.schedule !== undefined ? { launches: run.schedule.value } : {}),
  };
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
function requestedSchedule({ schedule, format }: Run, { pipeline }: Layout): PlanRequest['schedule'] {
  const isOwn = format === 'terapipe' || format === 'huggingface' || format === 'onnx';
  return schedule === undefined || (pipeline === 1 && !isOwn) ? null : schedule.value;
}

/**
 * The slices that the files give, or that the runtime they name makes of its flags.
 * @throws ExpectedError `slices-not-cut` where it would stop at them.
 */
function requestedSlicing(run: Run, request: Pick<PlanRequest, 'model' | 'training' | 'layout'>): PlanRequest['slicing'] {
  const unit = run.unit?.value ?? null;
  const schedule = requestedSchedule(run, request.layout);
  const isSliced = schedule !== null && scheduleOn(schedule, request.layout).sliced;
  if (run.scheme !== undefined || run.split === undefined || !isSliced) return { unit, scheme: run.scheme?.value ?? null };
  const { value: split, source } = run.split;
  const lengths = splitLengths(request, split);
  if (lengths === null) {
    const tokens = request.training.sequenceLength;
    const multiple = sliceMultiple(request);
    const { place } = source.kind === 'file' ? source : run;
    const problem = split.rule === 'list' ? listProblem(request, split) : null;
    const ofMultiples = multiple > 1 ? sentence` of multiples of ${multiple} tokens` : '';
    throw new ExpectedError(
      'slices-not-cut',
      sentence`Sequences of ${counted(tokens, 'token')} cannot be cut into ${splitName(split)}${problem === null ? ofMultiples : sentence`: ${problem}`}`,
      problem === null
        ? sentence`use a number of slices that divides the sequence, or slices of equal work`
        : sentence`give as many lengths as slices, which add up to it`,
      place,
    );
  }
  requireCountable({ ...request, slicing: { unit, scheme: null } });
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
  const globalBatch = valueOrDefault('training.globalBatch', given.globalBatch, () => batchFallback(run, draft, layout, kept));
  return {
    ...draft,
    ...cappedMicroBatch(run, draft, globalBatch / layout.data, valueOrDefault),
    sequenceParallel: valueOrDefault('training.sequenceParallel', given.sequenceParallel, () =>
      usualSequenceParallel(draft, layout.tensor),
    ),
    globalBatch,
  };
}

/** The micro-batch that a launcher takes which lowers one that is larger than the share of a replica, in whole sequences. */
function cappedMicroBatch(
  { format }: Run,
  { microBatch }: TrainingDraft,
  share: number,
  valueOrDefault: ValueOrDefault,
): Partial<Pick<TrainingSpec, 'microBatch'>> {
  if (launcherTraits(format).capsMicroBatch !== true || microBatch <= share || !Number.isInteger(share) || share < 1) return {};
  const reason = sentence`micro-batches of ${formatCount(microBatch)} are lowered to the share of a rank`;
  return { microBatch: valueOrDefault('training.microBatch', undefined, () => ({ value: share, reason })) };
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
  { iterationMs, set }: MeasuredStepSettings,
  signal: CancelSignal | undefined,
): MeasuredStep {
  const { layout, cluster } = request;
  const keys = Object.keys(set);
  const isRepartitioned = keys.some((key) => key === 'layout.pipeline' || key === 'layout.virtualStages');
  const asHere = Object.entries<unknown>({ ...layout }).filter(([key]) => !(isRepartitioned && key === 'stageLayers'));
  const source = { kind: 'default', reason: sentence`as in this file` } as const;
  const sizes = Object.fromEntries(asHere.map(([key, value]) => [key, { value, source }])) as LocatedPartial<Layout>;
  const changed = applyOverrides({ ...run, layout: sizes, calibration: {} }, settingTexts(Object.entries(set)));
  const nodes = { value: Math.ceil(requestedGpus(changed.layout) / cluster.gpusPerNode), source };
  const placed = keys.includes('cluster.nodes') ? changed : { ...changed, nodes };
  return { iterationMs, request: resolveRun(placed, { ...defaults, kept: planScenario(request) }, [], signal) };
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

/** Times and memory are those of GPUs: what trains on something else is planned only where a GPU is named. */
function requireGpu({ format, gpu, groups, profile, place }: Run): void {
  const { accelerator } = launcherTraits(format);
  if (accelerator === undefined || [gpu, groups, profile].some((given) => given !== undefined)) return;
  const message = sentence`This trains on ${accelerator}, whose times and memory are not modelled`;
  throw new ExpectedError('model-not-planned', message, sentence`name a GPU, as with --gpu, to plan the same run on that`, place);
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
      mismatchRemedy(value.profile, request),
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
      reason:
        chosen.profile.precision === request.training.precision
          ? sentence`found near the config; same layer, GPU and precision`
          : sentence`found near the config; same layer and GPU, measured in ${chosen.profile.precision}`,
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

import type { Facts, LauncherFile } from '../../run/facts';
import { completeInline } from '../../terapipe/inline-model';
import { runOfLauncher } from '../../launchers/launcher-run';
import type { Run } from '../../run/run';
import { launcherTraits } from '../../launchers/registry';
import { findNamedModel } from '../../launchers/named-models';
import { asLaunched } from '../../launchers/as-launched';
import { toTrainedModel } from '../../run/written-model';
import { ExpectedError } from '../../errors';
import type { Finding } from '../../findings';
import { formatDuration } from '../../format';
import { dataParallelSize } from '../../launchers/layout-sizes';
import { launchFindings } from '../../rules/launch-findings';
import { withStageLayers } from '../../launchers/stage-layers';
import { ordersDiffer } from '../../cluster/boundaries';
import { settingSection, settingNamed, settingTitle } from '../../domain/settings/table';
import { resolveRankOrder } from '../../domain/runtime';
import type { Located } from '../../domain/located';
import { buildPipeline } from '../../planner/predict/pipeline';
import { measure } from '../../planner/predict/predict';
import type { Layout, PlanRequest, TrainingSpec } from '../../domain/request';
import { mostTriedOperations, scheduleOn, operationCount, plainName } from '../../schedules/on-layout';
import { usualCut } from '../../partition/stages';
import { schemeAlike, splitLengths } from '../../planner/candidates/splits';
import { scheduleKind } from '../../schedules/registry';
import type { PlannedStep } from './launch-settings';
import type { Remark } from '../../launchers/writing/remarks';
import { planSettings, type PlanSetting, type DesiredSetting } from '../../launchers/writing/desired-setting';
import { say, sentence, type Value } from '../../sentence';

/** The file that was written for a step, and what is known of it. */
interface Written {
  readonly launcher: LauncherFile;
  /** What the file should set. */
  readonly settings: readonly DesiredSetting[];
  /** What it cannot set, as reported. */
  readonly gaps: readonly Remark[];
  /** The file before the edit; null: a new file, which describes the model as far as its format can. */
  readonly before: LauncherFile | null;
  /** The file sets the whole model; otherwise that is in a config next to it. */
  readonly isWholeModel: boolean;
}

/**
 * Reads a file that was written for a planned step as if it had been opened: it has no error that it did not have, it gives the layout of
 * the step except what is reported as a gap, and planned again on the same cluster, with the same assumptions, it takes the same time.
 * @throws ExpectedError `export-unsound`, which names the first difference.
 */
export function requireAsPlanned(step: PlannedStep, written: Written): void {
  const { launcher, settings, gaps } = written;
  requireSound(written.before, launcher);
  if (gaps.some(({ what }) => what === otherModelWhat)) return;
  const unmet = settings.filter(({ isMet }) => !isMet(launcher.facts, launcher.text));
  const unreported = unmet.find(({ what }) => !gaps.some((gap) => say(gap.what) === say(what)));
  if (unreported !== undefined) throw unsound(launcher, sentence`the plan has ${unreported.what}, and the file does not`);
  const open = new Set(unmet.flatMap(carriedPlanSettings));
  const carried = new Set<PlanSetting>((['schedule', ...settings.flatMap(carriedPlanSettings)] as const).filter((name) => !open.has(name)));
  requireSameStep(step, written, carried);
}

/** How the remark begins that a file is of another model than the plan: nothing of the two can be compared then. */
export const otherModelWhat = sentence`the plan's model`;

/** Refuses a file that our own check finds wrong where it found nothing before. @throws ExpectedError `export-unsound`. */
function requireSound(before: LauncherFile | null, after: LauncherFile): void {
  const known = new Set(before === null ? [] : launcherErrors(before).map(({ code }) => code));
  const fresh = launcherErrors(after).find(({ code }) => !known.has(code));
  if (fresh !== undefined) throw unsound(after, sentence`${fresh.message} [${fresh.code}]`, fresh.remedy);
}

function launcherErrors(launcher: LauncherFile): readonly Finding[] {
  return [...launchFindings(launcher), ...launcher.remarks].filter(({ severity }) => severity === 'error');
}

function unsound(
  { place }: LauncherFile,
  difference: Value,
  remedy = sentence`plan another layout, or report this as a bug`,
): ExpectedError {
  return new ExpectedError(
    'export-unsound',
    sentence`The file would not run as planned: ${difference}`,
    sentence`${remedy}; nothing was written`,
    place,
  );
}

function requireSameStep(step: PlannedStep, written: Written, carried: ReadonlySet<PlanSetting>): void {
  const run = rereadRun(step.request, written);
  const read = stepOfFile(step, run, written.launcher);
  for (const name of planSettings.filter((setting) => carried.has(setting))) {
    const { of } = comparedSetting(name);
    const words = name === 'slicing' ? 'slices' : settingTitle(name);
    const [wanted, given] = [of(step), of(read)];
    if (JSON.stringify(given) !== JSON.stringify(wanted))
      throw unsound(written.launcher, sentence`${words} ${valueAsText(wanted)} in the plan and ${valueAsText(given)} in the file`);
  }
  const iterationMs = replannedStepMs(
    step,
    planSettings.map((name) => comparedSetting(name).selectPart(carried.has(name) ? read : step)),
    written.isWholeModel ? toTrainedModel(run) : null,
  );
  if (iterationMs === null || Math.abs(iterationMs - step.iterationMs) <= 1e-9 * step.iterationMs) return;
  const [planned, again] = [formatDuration(step.iterationMs), formatDuration(iterationMs)];
  throw unsound(written.launcher, sentence`a step takes ${planned} as planned and ${again} as the file is written`);
}

/** A step as a file or a plan sets it. */
type Step = Pick<PlannedStep, 'request' | 'schedule'>;

/** What a value of one setting is in a request. */
interface Part {
  readonly layout?: Partial<Layout>;
  readonly training?: Partial<TrainingSpec>;
}

/** One setting of a plan: the value that is compared (null: none), and the part of a request that has it. */
interface ComparedSetting {
  readonly of: (step: Step) => unknown;
  readonly selectPart: (step: Step) => Part;
}

function compared<T>(of: (step: Step) => T, part: (value: T) => Part = () => ({})): ComparedSetting {
  return { of, selectPart: (step) => part(of(step)) };
}

/** A setting that is compared as a request has it. */
function asRequested(name: Exclude<PlanSetting, 'slicing'>): ComparedSetting {
  const section = settingSection(name) === 'layout' ? 'layout' : 'training';
  const silent = settingNamed(name).compared?.silent;
  const sectionFields = ({ request }: Step): Readonly<Partial<Record<string, unknown>>> => ({ ...request[section] });
  return compared((step) => sectionFields(step)[name] ?? silent, (value) => ({ [section]: { [name]: value } })); // prettier-ignore
}

/** Settings that matter only in some requests, or that a request has in several fields. */
const byRequest: Readonly<Partial<Record<PlanSetting, ComparedSetting>>> = {
  expertTensor: compared(
    ({ request: { model, layout } }) => (model.experts === null ? null : (layout.expertTensor ?? layout.tensor)),
    (expertTensor) => (expertTensor === null ? {} : { layout: { expertTensor } }),
  ),
  virtualStages: compared(
    ({ request: { layout } }) => (layout.pipeline > 1 ? layout.virtualStages : 1),
    (virtualStages) => ({ layout: { virtualStages } }),
  ),
  // the plan's own cut stays, or that it has none: planning then chooses it
  stageLayers: compared(({ request: { model, training, layout } }) =>
    layout.pipeline === 1 ? [model.layers] : (layout.stageLayers ?? usualCut(model, training, layout.pipeline * layout.virtualStages)),
  ),
  schedule: compared(({ request: { layout }, schedule }) => (layout.pipeline === 1 ? null : plainName(schedule, layout))),
  slicing: compared(({ request: { slicing }, schedule }) =>
    scheduleKind(schedule).sliced && slicing.split !== undefined
      ? (slicing.scheme ?? []).map(({ batch, tokens }) => [batch, ...tokens])
      : null,
  ),
  gemmPrecision: compared(({ request }) => request.training.gemmPrecision ?? null),
  zeroStage: compared(
    ({ request: { layout, training } }) => (layout.data > 1 ? training.zeroStage : null),
    (zeroStage) => (zeroStage === null ? {} : { training: { zeroStage } }),
  ),
  dataReplicate: compared(
    ({ request: { layout, training } }) => {
      const groups = training.dataReplicate ?? 1;
      return layout.data > 1 && training.zeroStage > 0 && groups > 1 ? groups : null;
    },
    (dataReplicate) => (dataReplicate === null ? {} : { training: { dataReplicate } }),
  ),
  overlapParamGather: compared(
    ({ request: { layout, training } }) => (training.zeroStage > 0 && layout.data > 1 ? (training.overlapParamGather ?? false) : null),
    (overlapParamGather) => (overlapParamGather === null ? {} : { training: { overlapParamGather } }),
  ),
  sequenceParallel: compared(
    ({ request: { layout, training } }) => layout.tensor > 1 && training.sequenceParallel,
    (sequenceParallel) => ({ training: { sequenceParallel } }),
  ),
  order: compared(
    ({ request: { layout, cluster, training } }) => (ordersDiffer(layout, cluster) ? resolveRankOrder({ layout, training }) : null),
    (order) => (order === null ? {} : { layout: { order } }),
  ),
  recompute: compared(comparableRecompute, ({ granularity, every }) => ({
    training: { recompute: granularity, ...(every === null ? {} : { recomputeEvery: every }) },
  })),
  contextParallelComm: compared(({ request: { layout, training } }) =>
    layout.context > 1 ? (training.contextParallelComm ?? null) : null,
  ),
};

function comparedSetting(name: PlanSetting): ComparedSetting {
  return byRequest[name] ?? asRequested(name as Exclude<PlanSetting, 'slicing'>);
}

function comparableRecompute({ request }: Step) {
  const { recompute, recomputeLayers, recomputeGroup = 1, recomputeModules, recomputeEvery = 2 } = request.training;
  const full = recompute === 'full';
  return {
    granularity: recompute,
    layers: (full ? recomputeLayers : undefined) ?? null,
    group: full ? recomputeGroup : 1,
    every: recompute === 'every' ? recomputeEvery : null,
    modules: (recompute === 'selective' ? recomputeModules?.toSorted() : undefined) ?? null,
  };
}

function valueAsText(value: unknown): string {
  return value === null ? 'none' : typeof value === 'string' ? value : JSON.stringify(value);
}

/** The plan settings that a launcher setting carries: as it is written, else those its facts are read for. */
export function carriedPlanSettings({ carries, facts }: DesiredSetting): readonly PlanSetting[] {
  return carries ?? facts.flatMap((fact) => [fact, ...(settingNamed(fact).sets ?? [])].filter(isPlanSetting));
}

function isPlanSetting(name: string): name is PlanSetting {
  return (planSettings as readonly string[]).includes(name);
}

/** The run of a file, read as if it had been opened next to the model's config. */
function rereadRun({ model }: PlanRequest, { launcher, isWholeModel }: Written): Run {
  const launched = asLaunched(launcher, false);
  const given = (value: number): Located<number> => ({ value, source: { kind: 'default', reason: sentence`the model of the plan` } });
  const { layers, hidden, heads } = model;
  const config = completeInline({ layers: given(layers), hidden: given(hidden), heads: given(heads) }, launcher.place);
  const named = isWholeModel ? findNamedModel(launcher)?.config : undefined;
  const joined = named === undefined ? { model: config } : { model: named.model, traits: named.traits };
  return withStageLayers(runOfLauncher(launched, '', { ...joined, texts: new Map() }), launched);
}

/** The step that a file describes; the launcher's defaults fill in what the file leaves out. */
function stepOfFile(step: PlannedStep, run: Run, { facts, format }: LauncherFile): Step {
  const { model } = step.request;
  const isTitan = launcherTraits(format).runtime === 'torchtitan';
  const { value: tensor } = run.layout.tensor ?? { value: 1 };
  const { value: pipeline } = run.layout.pipeline ?? { value: 1 };
  const { training } = run;
  const data = dataParallelSize(facts, format) ?? step.request.layout.data;
  const microBatch = training.microBatch?.value ?? 1;
  const given = Object.fromEntries(
    Object.entries(training).flatMap(([key, located]: [string, Located<unknown>]) => [[key, located.value]]),
  ) as Partial<PlanRequest['training']>;
  const request: PlanRequest = {
    ...step.request,
    layout: {
      tensor,
      pipeline,
      data,
      virtualStages: run.layout.virtualStages?.value ?? 1,
      context: run.layout.context?.value ?? 1,
      expert: run.layout.expert?.value ?? 1,
      expertTensor: run.layout.expertTensor?.value ?? (isTitan ? 1 : tensor),
      ...(run.layout.order === undefined ? {} : { order: run.layout.order.value }),
      ...(run.layout.stageLayers === undefined ? {} : { stageLayers: run.layout.stageLayers.value }),
    },
    training: {
      ...silent(step.request.training, isTitan),
      ...given,
      ...(isTitan ? { zeroStage: shardedAs(facts, step.request.training, run.layout.context?.value ?? 1) } : {}),
      microBatch,
      globalBatch: training.globalBatch?.value ?? (run.batchPerReplica?.value ?? microBatch) * data,
    },
    model,
  };
  return { request: { ...request, slicing: rereadSlicing(run, request) }, schedule: run.schedule?.value ?? '1F1B' };
}

/** The slices that a runtime makes of the file's flags. */
function rereadSlicing({ split }: Run, request: PlanRequest): PlanRequest['slicing'] {
  const lengths = split === undefined ? null : splitLengths(request, split.value);
  if (split === undefined || lengths === null) return { unit: request.slicing.unit, scheme: null };
  return { unit: request.slicing.unit, scheme: schemeAlike(request, lengths), split: { ...split.value, lengths } };
}

/** Whether a TorchTitan file shards at all, over ranks of context parallelism too; ZeRO 1 and 2 are set to be 3 there. */
function shardedAs({ dataShard }: Facts, { zeroStage }: TrainingSpec, context: number): TrainingSpec['zeroStage'] {
  return dataShard?.value === 1 && context === 1 ? 0 : zeroStage === 0 ? 3 : zeroStage;
}

/** What launchers do where a file leaves it open. */
function silent(training: TrainingSpec, isTitan: boolean): TrainingSpec {
  const never: readonly string[] = ['gemmPrecision', 'recomputeLayers', 'recomputeGroup', 'recomputeModules', 'recomputeEvery'];
  const others = Object.fromEntries(Object.entries(training).filter(([key]) => !never.includes(key))) as unknown as TrainingSpec;
  return {
    ...others,
    sequenceLength: 2048,
    precision: isTitan ? 'bf16' : 'fp32',
    zeroStage: 0,
    sequenceParallel: isTitan,
    overlapGradReduce: false,
    overlapParamGather: false,
    activationOffloadLayers: 0,
    offloadOptimizer: false,
    recompute: isTitan ? 'every' : 'none',
    contextParallelComm: 'ring',
  };
}

/** The step that these parts make, planned again; null where that takes long. */
function replannedStepMs(
  { request, schedule, scheme }: PlannedStep,
  parts: readonly Part[],
  model: PlanRequest['model'] | null,
): number | null {
  const asked: PlanRequest = {
    ...request,
    model: model ?? request.model,
    layout: Object.assign({}, request.layout, ...parts.map(({ layout }) => layout)) as Layout,
    training: Object.assign({}, request.training, ...parts.map(({ training }) => training)) as TrainingSpec,
  };
  const kind = scheduleOn(schedule, asked.layout);
  if (operationCount(kind, asked.layout, scheme) > mostTriedOperations) return null;
  return measure(buildPipeline(asked), { id: '1f1b', name: schedule, kind, scheme, certificate: null }).iterationMs;
}

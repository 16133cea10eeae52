import type { Run } from '../run/run';
import { ExpectedError, type CancelSignal } from '../errors';
import { errorOfFinding, startErrors, type Finding } from '../findings';
import { formatPercent } from '../format';
import type { JudgedChange } from '../checkpoints/judge';
import { plannedCheckpoint } from '../rules/plan/checkpoint-findings';
import type { LoadedConfig } from '../config-files/load-config';
import { notSuppressed } from '../rules/switched-off';
import { requestedSchedule } from '../planner/choose';
import { makePlan } from '../planner/make-plan';
import { chosenCandidate, type Plan } from '../planner/plan';
import { findRemedies, planRemedy } from '../rules/plan/remedies';
import type { Remedy } from '../rules/plan/remedy';
import type { ResolveDefaults } from '../plan-request/scenario';
import { resolveRun } from '../plan-request/resolve';
import type { NamedProfile } from '../domain/profile';
import { say, sentence } from '../sentence';
import { configFindings } from './config-findings';

/** A run with its plan and findings on both. */
export interface Planned {
  readonly run: Run;
  readonly plan: Plan;
  readonly findings: readonly Finding[];
  /** Changes with which a plan fits that does not, cheapest first; left out: none were looked for. */
  readonly remedies?: readonly Remedy[];
  /** Whether the checkpoint that the files load survives the planned layout; absent or null: it is theirs, or they load none. */
  readonly checkpoint?: JudgedChange | null;
}

/** How a run is planned. */
interface PlanningOptions {
  /** Profiles near the config, one of which is used if it matches. */
  readonly found?: readonly NamedProfile[];
  /** Hears how far the plan is. */
  readonly progress?: (line: string) => void;
  /** False: without the schedules that are not chosen, where no finding, remedy or row is about them. */
  readonly isCompared?: boolean;
  /** False: no changes are looked for with which a plan fits that does not. */
  readonly withRemedies?: boolean;
  readonly signal?: CancelSignal;
}

/** The run of a config. @throws ExpectedError when the sizes of its model are nowhere. */
export function requireRun({ run, noRun }: Pick<LoadedConfig, 'run' | 'noRun'>): Run {
  if (run !== null) return run;
  throw noRun ?? new ExpectedError('config-model-incomplete', sentence`There is no model to plan`, sentence`name a model config`);
}

/**
 * Plans a run.
 * @throws ExpectedError of the planner, placed at the first error the files hold, or at the run.
 */
export function planRun(
  config: LoadedConfig,
  defaults: ResolveDefaults,
  { found = [], progress = () => undefined, isCompared = true, withRemedies = true, signal }: PlanningOptions = {},
): Planned {
  const run = requireRun(config);
  try {
    const request = resolveRun(run, defaults, found, signal);
    const isWhole = isCompared || request.slicing.split !== undefined || request.training.lengths !== undefined;
    const onProgress = (fraction: number): void => progress(`planning, ${formatPercent(fraction)}`);
    const first = makePlan(request, { isCompared: isWhole, onProgress, signal });
    const isEnough = isWhole || !withRemedies || chosenCandidate(first).fits || requestedSchedule(request) === null;
    const plan = isEnough ? first : makePlan(request, { isCompared: false, withRun: true, onProgress, signal });
    const planChanged = (changed: Run): Plan => planRemedy(changed, plan, { defaults, found, signal });
    const remedies = withRemedies ? findRemedies(run, plan, planChanged, signal) : [];
    const checkpoint = plannedCheckpoint(config, run, plan.request);
    return { run, plan, remedies, checkpoint, findings: judgedFindings(config, run, plan, remedies) };
  } catch (error) {
    throw placed(error, run, () => judgedFindings(config, run, null));
  }
}

/** Findings on a run and its plan. @param remedies changes with which a plan fits that does not. */
export function judgedFindings(config: LoadedConfig, run: Run, plan: Plan | null, remedies: readonly Remedy[] = []): readonly Finding[] {
  return notSuppressed(configFindings(config, run, plan, remedies), run.file, run.texts ?? new Map());
}

/** Findings of sizes that do not divide the model. */
const ofSizes = ['heads-tp', 'kv-heads-tp', 'width-tensor', 'state-tp', 'pp-layers-not-divisible'] as const;

/**
 * Findings that explain why a batch cannot be split, or why no layout is left; sizes that do not make up the GPUs leave part of a replica.
 */
const causes: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['plan-batch-not-divisible', new Set([...ofSizes, 'world-size-factor', 'gbs-not-divisible', 'ds-batch-triangle'])],
  ['layout-world-size', new Set(ofSizes)],
  ['plan-more-stages-than-layers', new Set(['pp-layers-not-divisible'])],
]);

/**
 * What was thrown; an error of the planner placed at the first error that the files hold, or at the run, with the others for which they do
 * not start.
 */
export function placed(error: unknown, run: Run, findings: () => readonly Finding[]): unknown {
  if (!(error instanceof ExpectedError)) return error;
  const errors = findings().filter(({ severity }) => severity === 'error');
  const [cause] = errors;
  const named = errors.find(({ code }) => causes.get(error.code)?.has(code) === true);
  const { code, what, remedy, place } = named === undefined ? error : errorOfFinding(named);
  const others = startErrors(errors).filter(({ message }) => say(message) !== say(what));
  return new ExpectedError(code, what, remedy, place ?? cause?.place ?? run.place, others.map(errorOfFinding));
}

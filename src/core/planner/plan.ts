import type { StageLimits } from '../time-model/limits';
import type { CostProvenance } from '../domain/slice-cost';
import { tightestStage, type MemoryProfile } from '../memory-model/profile';
import type { HostMemory } from '../partition/host-parts';
import type { IdleTimes } from '../schedules/simulate/gaps';
import type { Timeline } from '../schedules/schedule';
import { askedSchedules, otherSchedules, type ScheduleName } from '../domain/schedule-names';
import type { Scheme } from '../domain/scheme';
import type { PlanRequest } from '../domain/request';
import type { Sentence, Value } from '../sentence';
import type { OverLengths } from './lengths/lengths-result';
import type { RunSettings } from '../run/run-settings';
import type { StepTimes } from './explain/step-part-names';

/**
 * terapipe: solved slices. rounds: the same in rounds of as many sequences as fit memory, where not all do. uniform: best equal slices.
 * whole: same pipeline, whole sequences. 1f1b: interleaved where the layout has virtual stages. equal-work: Seq1F1B with slices of equal
 * compute. best-split, solved: in addition to slices that a launcher's flags give, the best that its flags can give, and the best that are
 * known. The others by their schedule.
 */
export const candidateIds = [
  'terapipe',
  'rounds',
  'uniform',
  'whole',
  '1f1b',
  'gpipe',
  'given',
  ...otherSchedules,
  ...askedSchedules,
  'equal-work',
  'best-split',
  'solved',
] as const;
export type CandidateId = (typeof candidateIds)[number];

type OwnId = (typeof otherSchedules | typeof askedSchedules)[number];

/** The candidate of each schedule in equal slices, or whole sequences. */
export const idBySchedule: Readonly<Record<ScheduleName, CandidateId>> = {
  ...(Object.fromEntries([...otherSchedules, ...askedSchedules].map((name) => [name, name])) as Record<OwnId, OwnId>),
  TeraPipe: 'uniform',
  GPipe: 'gpipe',
  '1F1B': '1f1b',
};

/**
 * One way to run the step, predicted. Times in ms; the timeline covers the pipeline part, the gradient all-reduce and the optimizer follow
 * it.
 */
export interface Candidate {
  readonly id: CandidateId;
  /** `TeraPipe`, `best uniform, 16 slices`, ... */
  readonly name: Value;
  /** As a config names it: `1F1B` on a layout with virtual stages is interleaved, and its timeline is called so. */
  readonly schedule: ScheduleName;
  /** Chunks of layers (virtual stages) on each stage. */
  readonly chunksPerStage: number;
  readonly scheme: Scheme;
  readonly iterationMs: number;
  readonly pipelineMs: number;
  /** As far as the step waits for it. */
  readonly gradientExchangeMs: number;
  /** The part that overlaps with the passes; left out: none. */
  readonly hiddenExchangeMs?: number;
  readonly optimizerMs: number;
  /** Idle share of the step: the time that the stages idle in the pipeline part, their mean, over `iterationMs`. */
  readonly bubbleRate: number;
  /** Busy ms of each stage. */
  readonly busyMs: Float64Array;
  /** Idle ms of each stage by cause. */
  readonly idle: IdleTimes;
  readonly tokensPerSecond: number;
  /** Model FLOPs per second over peak, no recompute counted. */
  readonly mfu: number;
  /** Null when it has more operations than `maximumTimelineOperations`. */
  readonly timeline: Timeline | null;
  readonly memory: MemoryProfile;
  /** Of the node that takes most. */
  readonly host: HostMemory;
  readonly fits: boolean;
  /** It may fit or not: see `MemoryVerdict`. */
  readonly tight: boolean;
  /** What the solver proved, for solved schemes. */
  readonly certificate: Certificate | null;
}

export interface Certificate {
  /** Objective of eq. 5: sum of slice times + (K-1) slowest; the pipeline part of the step where the makespan judges. */
  readonly optimumMs: number;
  readonly lowerBoundMs: number;
  /** Thresholds solved, or parts of the space bounded where the makespan judges. */
  readonly evaluations: number;
  /**
   * What decides how long the scheme takes. `formula`: eq. 5. `simulation`: stages differ, so the bound covers only the slowest stage, or
   * proportional stages (the note names which). `makespan`: the simulated makespan, which the bound covers.
   */
  readonly judgedBy: 'formula' | 'simulation' | 'makespan';
  /** Baselines by the same objective. */
  readonly cuts: readonly BaselineSlicing[];
  readonly note: Sentence;
}

/**
 * A baseline that slices every sequence alike: whole sequences, the best number of equal slices, slices of equal compute (Seq1F1B) or
 * of equal time.
 */
export interface BaselineSlicing {
  readonly rule: 'whole' | 'uniform' | 'equal-work' | 'equal-time';
  readonly tokens: readonly number[];
  /** Objective of eq. 5; `Infinity` where a slice is forbidden. */
  readonly latencyMs: number;
}

/** The choice of another cost model, as far as it is shown with the plan. */
export type AnalyticPlan = Pick<Candidate, 'id' | 'name' | 'scheme' | 'iterationMs'>;

/** The answer: candidates side by side, the chosen one and why. Plain data with typed arrays: crosses threads and into the page. */
export interface Plan {
  readonly request: PlanRequest;
  readonly chosen: CandidateId;
  readonly candidates: readonly Candidate[];
  /** Schedules that may run but were not evaluated, because that takes long. */
  readonly notCompared: readonly ScheduleName[];
  readonly cost: CostProvenance;
  /** With a plan from a profile: what the analytic model would have chosen. Null when that is the plan, or times were given as a table. */
  readonly analytic: AnalyticPlan | null;
  readonly parameters: number;
  /**
   * The parts of the chosen candidate's step on each stage, ms; they add up to the step. Null for measured times, which cannot be broken
   * down.
   */
  readonly partsByStage: readonly StepTimes[] | null;
  /** What limits each stage in the chosen candidate, in ms of one micro-batch; null for measured times. */
  readonly limits: readonly StageLimits[] | null;
  /** Where the lengths of documents are given: what steps of them take. */
  readonly overLengths?: OverLengths;
  /** One line each: why this plan. */
  readonly reasons: readonly Sentence[];
  /** What the file of the planned run sets, for a file that is written from the plan; absent: none is written, or the run has no file. */
  readonly source?: RunSettings;
}

/** The candidate a plan chose. */
export function chosenCandidate(plan: Plan): Candidate {
  const found = plan.candidates.find((candidate) => candidate.id === plan.chosen);
  if (found === undefined) throw new Error(`plan chose ${plan.chosen}, which is not among its candidates`);
  return found;
}

/**
 * Peak of the stage with the least memory left on its GPU, bytes: where all GPUs are alike, the highest. It goes with
 * `memory.capacityBytes`.
 */
export function candidatePeakBytes({ memory }: Pick<Candidate, 'memory'>): number {
  return tightestStage(memory.stages)?.peakBytes ?? 0;
}

import type { CostProvenance } from '../cost/slice-cost';
import type { MemoryProfile } from '../memory/profile';
import type { PlannedSchedule, Timeline } from '../schedule/schedule';
import type { Scheme } from '../solver/slicing';
import type { PlanRequest } from './request';

/** terapipe: solved slices. uniform: best equal slices. whole: same pipeline, whole sequences. */
export const candidateIds = ['terapipe', 'uniform', 'whole', '1f1b', 'gpipe', 'given'] as const;
export type CandidateId = (typeof candidateIds)[number];

/** One way to run the step, predicted. Times in ms; the timeline covers the pipeline part, gradient exchange and optimizer follow it. */
export interface Candidate {
  readonly id: CandidateId;
  /** `TeraPipe`, `best uniform, 16 slices`, ... */
  readonly name: string;
  readonly schedule: PlannedSchedule;
  readonly scheme: Scheme;
  readonly iterationMs: number;
  readonly pipelineMs: number;
  readonly gradientExchangeMs: number;
  readonly optimizerMs: number;
  /** Idle share of the pipeline part: 1 - mean busy time of a stage / longest span. */
  readonly bubbleRate: number;
  /** Busy ms of each stage. */
  readonly busyMs: Float64Array;
  readonly tokensPerSecond: number;
  /** Model FLOPs per second over peak, no recompute counted. */
  readonly mfu: number;
  /** Null when it has more operations than `maximumTimelineOperations`. */
  readonly timeline: Timeline | null;
  readonly memory: MemoryProfile;
  readonly fits: boolean;
  /** What the solver proved, for solved schemes. */
  readonly certificate: Certificate | null;
}

export interface Certificate {
  /** Objective of eq. 5: sum of slice times + (K-1) slowest. */
  readonly optimumMs: number;
  readonly lowerBoundMs: number;
  /** Thresholds solved. */
  readonly evaluations: number;
  readonly note: string;
}

/** The choice of another cost model, as far as it is shown beside the plan. */
export type AnalyticPlan = Pick<Candidate, 'id' | 'name' | 'scheme' | 'iterationMs'>;

/** The answer: candidates side by side, the chosen one and why. Plain data with typed arrays: crosses threads and into the page. */
export interface Plan {
  readonly request: PlanRequest;
  readonly chosen: CandidateId;
  readonly candidates: readonly Candidate[];
  readonly cost: CostProvenance;
  /** Beside a plan from a profile: what the analytic model alone would have chosen. Null when that is the plan, or times were given as a table. */
  readonly analytic: AnalyticPlan | null;
  readonly parameters: number;
  /** One line each: why this plan. */
  readonly reasons: readonly string[];
}

/** The candidate a plan chose. */
export function chosenOf(plan: Plan): Candidate {
  const found = plan.candidates.find((candidate) => candidate.id === plan.chosen);
  if (found === undefined) throw new Error(`plan chose ${plan.chosen}, which is not among its candidates`);
  return found;
}

/** Peak of the worst stage, bytes. */
export function peakBytesOf({ memory }: Candidate): number {
  return Math.max(...memory.stages.map(({ peakBytes }) => peakBytes));
}

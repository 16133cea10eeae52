import type { ScheduleName } from '../domain/schedule-names';
import type { KeptFree } from '../memory-model/search-margin';
import type { SearchKey } from '../domain/layout-choices';
import type { PlanRequest } from '../domain/request';

/** A search. The request has the fixed choices and all that is not a choice (model, cluster, global batch, sequence length, precision). */
export interface SearchProblem {
  readonly request: PlanRequest;
  /** Keys whose value in `request` stays. */
  readonly fixed: ReadonlySet<SearchKey>;
  /** Schedules to choose from; absent: any. 1F1B includes interleaved 1F1B, which may also be listed without 1F1B. */
  readonly schedules?: readonly ScheduleName[];
  /** A launcher runs the answer: what it refuses is left out, though a plan of it could be made. */
  readonly strict?: boolean;
  /** The optimizer is tried on the host too where that is not fixed; else it stays where the request has it. */
  readonly triesHost?: boolean;
  /** The ones that are evaluated now; absent: all. */
  readonly among?: readonly ScheduleName[];
  /** The slices of sequences that are evaluated: equal ones (and whole sequences), or those that are solved for; absent: both. */
  readonly slicesAre?: 'equal' | 'solved';
  /** No schedule whose orders are planned for given times, unless it is fixed. */
  readonly withoutPlanned?: boolean;
  /** Share of each GPU's memory that layouts keep free where some can; left out: none. */
  readonly keptFree?: KeptFree;
  /** The layout of `request` is one that a file launches, whole: the answer compares it with the best. */
  readonly launched?: boolean;
}

/** Step times this close are a tie: of such layouts a search takes the one with the least memory. */
export const sameTime = 1.01;

/** The problem on GPUs that lack what is to be kept free: what fits those keeps it. */
export function keepingFree(problem: SearchProblem): SearchProblem {
  const { request, keptFree } = problem;
  if (keptFree === undefined || keptFree.share === 0) return problem;
  const { cluster } = request;
  const gpu = { ...cluster.gpu, memoryBytes: (1 - keptFree.share) * cluster.gpu.memoryBytes };
  return { ...problem, request: { ...request, cluster: { ...cluster, gpu } } };
}

/** What measured times leave of the choices. */
export interface MeasuredChoices {
  readonly by: 'profile' | 'cost table';
  /** Choices whose value in the request is the one that was measured. */
  readonly keys: readonly SearchKey[];
  /** Micro-batches of more sequences were not measured; null: times of one sequence stand for any number. */
  readonly mostMicroBatch: number | null;
}

/** A layer of one tensor and expert size, on whole sequences. */
const ofLayer: readonly SearchKey[] = ['tensor', 'context', 'contextParallelComm', 'expert', 'expertTensor'];
/** A stage of one number of layers, with what it recomputes. */
const ofStage: readonly SearchKey[] = [...ofLayer, 'pipeline', 'sequenceParallel', 'recompute'];

/** The choices that measured times fix: those of a profile are of a layer, those of a table of a whole stage. Null without any. */
export function measuredChoices({ costTable, profile }: Pick<PlanRequest, 'costTable' | 'profile'>): MeasuredChoices | null {
  if (costTable !== null) return { by: 'cost table', keys: ofStage, mostMicroBatch: null };
  return profile === null ? null : { by: 'profile', keys: ofLayer, mostMicroBatch: profile.profile.largestBatch };
}

/** The problem with what its measured times fix as well. */
export function heldToMeasured(problem: SearchProblem): SearchProblem {
  const measured = measuredChoices(problem.request);
  return measured === null ? problem : { ...problem, fixed: new Set([...problem.fixed, ...measured.keys]) };
}

import type { PlanRequest } from '../domain/request';
import type { SearchProblem } from './search-problem';
import type { SearchKey } from '../domain/layout-choices';

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

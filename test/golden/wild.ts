import { scheduleOn } from '../../src/core/schedules/on-layout';
import { memoized } from '../../src/core/records';
import { loadConfig } from '../../src/core/config-files/load-config';
import { makePlan } from '../../src/core/planner/make-plan';
import { buildPipeline } from '../../src/core/planner/predict/pipeline';
import { chosenCandidate, type Candidate } from '../../src/core/planner/plan';
import { predict } from '../../src/core/planner/predict/predict';
import { resolveRun } from '../../src/core/plan-request/resolve';
import { scheduleKind } from '../../src/core/schedules/registry';
import type { PlanRequest } from '../../src/core/domain/request';
import { golden } from './data';

/** A published run that nothing was fitted to when it was added. */
export interface WildCase {
  readonly id: string;
  /** Source and GPU: rows that share constants. */
  readonly family: string;
  /** Runs of one model on one machine. */
  readonly group: string;
  readonly source: string;
  readonly seconds: number | null;
  readonly memoryGiB: number | null;
  readonly memoryKind?: string;
  readonly outOfMemory?: true;
  readonly uncertain?: string;
  /** As terapipe.json. */
  readonly config: object;
}

/** A case and what we predict of it. */
export interface WildRow {
  readonly case: WildCase;
  readonly request: PlanRequest;
  readonly predicted: Candidate;
}

export const wildCases = (): readonly WildCase[] =>
  ['wild', 'fresh'].flatMap((name) => (golden(name) as { readonly cases: WildCase[] }).cases);

/** The request that a terapipe.json makes, as the faces make it. */
export async function requestOf(config: object): Promise<PlanRequest> {
  const refused = (): Promise<never> => Promise.reject(new Error('a reference row names no other file'));
  const { run } = await loadConfig('terapipe.json', JSON.stringify(config), { read: refused, shell: refused });
  if (run === null) throw new Error('there is nothing to plan');
  return resolveRun(run, { gpu: 'H100-80GB', nodes: null, gpusPerNode: null });
}

/** What a request that fixes its layout and schedule takes. Slices, where the schedule has them, are those of the plan. */
export function predictAsFixed(request: PlanRequest): Candidate {
  const { training, layout } = request;
  const schedule = request.schedule ?? '1F1B';
  if (scheduleKind(schedule).sliced) return chosenCandidate(makePlan(request));
  const microBatches = training.globalBatch / layout.data / training.microBatch;
  const scheme = Array.from({ length: microBatches }, () => ({ batch: training.microBatch, tokens: [training.sequenceLength] }));
  return predict(buildPipeline(request), { id: '1f1b', name: schedule, kind: scheduleOn(schedule, layout), scheme, certificate: null });
}

/** Whether every replica gets a micro-batch: one published row states a batch smaller than its replicas. */
function isRunnable({ training, layout }: PlanRequest): boolean {
  return training.globalBatch >= layout.data * training.microBatch;
}

const knownRows = new Map<string, Promise<WildRow | null>>();

async function rowOf(one: WildCase): Promise<WildRow | null> {
  const request = await requestOf(one.config);
  return isRunnable(request) ? { case: one, request, predicted: predictAsFixed(request) } : null;
}

/** All cases that `wanted` keeps, predicted. */
export async function wildRows(wanted: (row: WildCase) => boolean = () => true): Promise<readonly WildRow[]> {
  const rows: WildRow[] = [];
  for (const one of wildCases().filter(wanted)) {
    const row = await memoized(knownRows, one.id, () => rowOf(one));
    if (row !== null) rows.push(row);
  }
  return rows;
}

import type { LauncherReader } from '../../../src/core/run/facts';
import { CancelledError, configError } from '../../../src/core/errors';
import { makePlan } from '../../../src/core/planner/make-plan';
import { answerElastic } from '../../../src/features/elastic/core/answer';
import type { ElasticRequest } from '../../../src/features/elastic/core/request';
import type { Plan } from '../../../src/core/planner/plan';
import type { PlanRequest } from '../../../src/core/domain/request';
import { readScheduleFile } from '../../../src/core/schedules/pytorch-csv/schedule-file';
import { findRemedies } from '../../../src/core/rules/plan/remedies';
import { resolveRun } from '../../../src/core/plan-request/resolve';
import type { IncumbentTimes } from '../../../src/core/slicing/solve';
import { createPlanSessions, type PlanSessions } from '../../../src/host/sessions/plan-sessions';
import type { SessionHost } from '../../../src/host/sessions/session-host';
import { sentence } from '../../../src/core/sentence';

/** A model small enough to plan in a few milliseconds. */
export const smallModel = JSON.stringify({
  model_type: 'gpt2',
  n_layer: 4,
  n_embd: 256,
  n_head: 4,
  n_positions: 256,
  vocab_size: 1000,
});

/** A run of it on four GPUs. */
export function smallRun(more: Readonly<Record<string, unknown>> = {}): string {
  return JSON.stringify({
    model: 'config.json',
    cluster: { gpu: 'A100-40GB', nodes: 1, gpusPerNode: 4 },
    training: { sequenceLength: 256, globalBatch: 4 },
    layout: { tensor: 1, pipeline: 4, data: 1 },
    ...more,
  });
}

const defaults = { gpu: 'A100-40GB', nodes: 1, gpusPerNode: 4 } as const;

/** Files in memory under `file:///w/`, a planner whose answers wait until they are let go, and the sessions over both. */
export interface TestHost {
  readonly files: Map<string, string>;
  readonly sessions: PlanSessions;
  readonly requests: PlanRequest[];
  /** What was planned to find the changes with which a plan fits. */
  readonly trials: readonly PlanRequest[];
  readonly elasticRequests: ElasticRequest[];
  readonly bugs: unknown[];
  /** Report the best so far of each of `requests`. */
  readonly incumbents: readonly ((incumbent: IncumbentTimes) => void)[];
  /** Report the plan of the schedule that each of `requests` asks for. */
  readonly firsts: readonly ((plan: Plan) => void)[];
  /** Lets the oldest waiting request finish. */
  readonly finish: (how?: (request: PlanRequest) => Plan) => Promise<void>;
}

export function testHost(
  files: Readonly<Record<string, string>>,
  delayMs: number | null = 1,
  shell = noShell,
  switchedOff: ReadonlySet<string> = new Set(),
): TestHost {
  const stored = new Map(Object.entries(files).map(([name, text]) => [uri(name), text]));
  const requests: PlanRequest[] = [];
  const elasticRequests: ElasticRequest[] = [];
  const incumbents: ((incumbent: IncumbentTimes) => void)[] = [];
  const firsts: ((plan: Plan) => void)[] = [];
  const waiting: { request: PlanRequest; resolve: (plan: Plan) => void; reject: (error: unknown) => void }[] = [];
  const trials: PlanRequest[] = [];
  const bugs: unknown[] = [];
  const host: SessionHost = {
    readText: (file) => {
      const text = stored.get(file);
      if (text !== undefined) return Promise.resolve(text);
      return Promise.reject(
        configError('config-not-found', sentence`There is no such file`, sentence`fix the path`, { file, range: { start: 0, end: 0 } }),
      );
    },
    resolvePath: (from, path) => new URL(path, from).href,
    resolve: (run, found, kept) => Promise.resolve().then(() => resolveRun(run, { ...defaults, kept }, found)),
    remedies: (run, found, plan) =>
      nextTurn().then(() =>
        findRemedies(run, plan, (changed) => {
          const request = resolveRun(changed, defaults, found);
          trials.push(request);
          return makePlan(request);
        }),
      ),
    plan: (request, { signal, onIncumbent, onFirst }) =>
      new Promise((resolve, reject) => {
        requests.push(request);
        incumbents.push(onIncumbent);
        firsts.push(onFirst);
        waiting.push({ request, resolve, reject });
        signal.addEventListener('abort', () => reject(new CancelledError()));
      }),
    planElastic: (request, { signal }) => {
      elasticRequests.push(request);
      return nextTurn().then(() => answerElastic(request, signal));
    },
    readSchedule: (text, file, name) => nextTurn().then(() => readScheduleFile(text, file, name)),
    defaults: () => defaults,
    profiles: () => Promise.resolve([]),
    shell,
    switchedOff: () => switchedOff,
    delayMs: () => delayMs,
    reportBug: (error) => bugs.push(error),
  };
  return {
    files: stored,
    sessions: createPlanSessions(host),
    requests,
    trials,
    elasticRequests,
    incumbents,
    firsts,
    bugs,
    finish: async (how = (request) => makePlan(request)) => {
      while (waiting.length === 0) await nextTurn();
      const next = waiting.shift();
      try {
        if (next !== undefined) next.resolve(how(next.request));
      } catch (error) {
        next?.reject(error);
      }
      await nextTurn();
    },
  };
}

function noShell(): Promise<LauncherReader> {
  return Promise.reject(new Error('no shell here'));
}

export function uri(name: string): string {
  return `file:///w/${name}`;
}

export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 2));
}

import type { CancelSignal } from '../../../core/errors';
import { applyOverrides } from '../../../core/terapipe/overrides';
import type { Run } from '../../../core/run/run';
import { planPrefill, prefillRemedy, servedPrefill, type Prefill } from './prefill';
import type { ServedCut } from './serving';
import type { ResolveDefaults } from '../../../core/plan-request/scenario';
import { resolveRun } from '../../../core/plan-request/resolve';
import type { Sentence } from '../../../core/sentence';
import type { NamedProfile } from '../../../core/domain/profile';
import type { PlanRequest } from '../../../core/domain/request';
import { servingCommand, type ServingCommand } from './serving-command';

/** A prefill that is asked for. */
export interface PrefillQuestion {
  readonly tokens: number;
  /** Null: as many as the layout has. */
  readonly stages: number | null;
}

/** An engine with what launches it, and how much longer than the best its chunks take, as a share. */
export type ServedEngine = ServedCut & ServingCommand & { readonly regret: number };

/** How a prompt is best cut, for pages: plain data. */
export interface PrefillAnswer {
  readonly asked: PrefillQuestion;
  readonly tensor: number;
  readonly gpu: string;
  /** Device that times were measured on; null: they are those of the model. */
  readonly measuredOn: string | null;
  readonly prefill: Prefill;
  readonly engines: readonly ServedEngine[];
  readonly remedy: Sentence | null;
}

/** A run as a server runs a prompt of this many tokens: one sequence on one replica with whole weights, nothing kept for backward. */
export function servedRequest(
  run: Run,
  { tokens, stages }: PrefillQuestion,
  defaults: ResolveDefaults,
  found: readonly NamedProfile[] = [],
  signal?: CancelSignal,
): PlanRequest {
  const sets = [
    'training.microBatch=1',
    'training.globalBatch=1',
    'layout.data=1',
    'layout.context=1',
    'training.zeroStage=0',
    'training.recompute=none',
  ];
  const sizes = [`training.sequenceLength=${tokens}`, ...(stages === null ? [] : [`layout.pipeline=${stages}`])];
  return resolveRun(applyOverrides(run, [...sets, ...sizes]), { ...defaults, kept: undefined }, found, signal);
}

/** What launches an engine with the chunks that its rule then makes. @param model as `servedModel`. */
export function engineLaunch({ layout }: PlanRequest, model: string | null, cut: ServedCut): ServingCommand {
  return servingCommand(cut, { model, tensor: layout.tensor, pipeline: layout.pipeline, stageLayers: layout.stageLayers ?? null });
}

/** What the stages run on: the GPU, or those of every kind of node. */
export function gpuNames({ gpu, groups }: PlanRequest['cluster']): string {
  return [...new Set((groups ?? [{ gpu }]).map((group) => group.gpu.name))].join(' + ');
}

/** How much longer a time is than the best, as a share. */
export function relativeRegret(ms: number, bestMs: number): number {
  return ms / bestMs - 1;
}

/**
 * The best chunks of the prompt of a request, compared with rules and engines.
 * @param model as `servedModel`. @throws as `planPrefill`.
 */
export function answerPrefill(request: PlanRequest, model: string | null, signal?: CancelSignal): PrefillAnswer {
  const { layout, training, cluster, profile } = request;
  const prefill = planPrefill(request, Infinity, signal);
  return {
    asked: { tokens: training.sequenceLength, stages: layout.pipeline },
    tensor: layout.tensor,
    gpu: gpuNames(cluster),
    measuredOn: profile?.profile.device.name ?? null,
    prefill,
    engines: servedPrefill(request, null, Infinity).map((cut) => ({
      ...cut,
      ...engineLaunch(request, model, cut),
      regret: relativeRegret(cut.timeToFirstTokenMs, prefill.timeToFirstTokenMs),
    })),
    remedy: prefillRemedy(prefill.memory),
  };
}

import { memoized } from '../../records';
import type { CancelSignal } from '../../errors';
import { stageLimits, type StageLimits } from '../../time-model/limits';
import { contentsKey, type StageContents } from '../../memory-model/layer-tensors';
import type { CostInputs } from '../../time-model/rates';
import type { CostProvenance } from '../../domain/slice-cost';
import type { ScheduleName } from '../../domain/schedule-names';
import type { PlanRequest } from '../../domain/request';
import type { WorkUnit } from '../../schedules/schedule';
import { groupComparison } from '../../partition/group-comparison';
import { offloadReason, offloadWaits } from '../../partition/offload';
import { buildPipeline, type Pipeline } from '../predict/pipeline';
import type { AnalyticPlan, Candidate, Plan } from '../plan';
import { againstAnalytic, notCompared, reasonsFor, slicesFound } from './reasons';
import { betterElsewhere, ruleOfChoice, runtimeNeeded } from './runtime-reasons';
import { stackReason } from '../refusals';
import { partsByStage } from './step-parts';
import { boundarySendsMs } from '../predict/transfers';
import { sentence, type Sentence } from '../../sentence';
import { ordersDiffer } from '../../cluster/boundaries';
import { formatDuration } from '../../format';
import { mostTriedOperations, operationCount } from '../../schedules/on-layout';
import { resolveRankOrder, type RankOrder } from '../../domain/runtime';
import { stepMs } from '../predict/predict';
import { worthSaying } from './slower';

/** What a plan is explained by. */
interface Explained {
  readonly request: PlanRequest;
  readonly pipeline: Pipeline;
  readonly candidates: readonly Candidate[];
  readonly chosen: Candidate;
  readonly skipped: readonly ScheduleName[];
  readonly analytic: AnalyticPlan | null;
  readonly cost: CostProvenance;
}

/** One line each: why this plan. @throws CancelledError. */
export function planReasons(
  { request, pipeline, candidates, chosen, skipped, analytic, cost }: Explained,
  signal: CancelSignal | undefined,
): readonly Sentence[] {
  return [
    ...ruleOfChoice(chosen, candidates, request),
    ...runtimeNeeded(chosen, candidates, request),
    ...reasonsFor(chosen, candidates, cost.errorPercent),
    ...slicesFound(chosen),
    ...orderReason(request, pipeline, chosen, signal),
    ...groupComparison(request, signal),
    ...offloadReason(pipeline.stages, chosen.scheme[0] ?? { batch: 0, tokens: [] }),
    ...betterElsewhere(chosen, candidates, request),
    ...notCompared(skipped),
    ...(request.model.stacks === undefined || request.layout.pipeline === 1 ? [] : [stackReason]),
    ...(analytic === null ? [] : [againstAnalytic(chosen, candidates, analytic)]),
  ];
}

/** Where each stage's time goes; equal stages are computed once. */
export function chosenLimits({ costTable, profile }: PlanRequest, pipeline: Pipeline, { schedule, scheme }: Candidate): Plan['limits'] {
  const [first] = scheme;
  if (costTable !== null || profile !== null || first === undefined) return null;
  let context = 0;
  const slices = first.tokens.map((tokens) => {
    const slice = { batch: first.batch, tokens, context };
    context += tokens;
    return slice;
  });
  const { stages, nodeKinds } = pipeline;
  const { stageContents, stageOfChunk } = pipeline.chunksOn(pipeline.schedules[schedule]);
  const known = new Map<string, StageLimits>();
  return stages.map(({ inputs: own, contents: usual }, stage) => {
    const contents = stageContents[stage] ?? usual;
    const send = (unit: Pick<WorkUnit, 'batch' | 'tokens'>): number => boundarySendsMs(pipeline, stage, stageOfChunk, unit);
    const key = `${nodeKinds.indexOf(own)},${contentsKey(contents)},${send({ batch: 1, tokens: 1 })}`;
    const limits = (): StageLimits =>
      stageLimits(own, { ...contents, offloadMs: offloadMs(own, contents, slices) }, slices, (batch, tokens) => send({ batch, tokens }));
    return memoized(known, key, limits);
  });
}

/** What the step of a candidate goes to on each stage; null for measured times. */
export function chosenParts({ costTable, profile }: PlanRequest, pipeline: Pipeline, candidate: Candidate): Plan['partsByStage'] {
  return costTable === null && profile === null ? partsByStage(pipeline, candidate) : null;
}

/** What a stage waits for copies to and from the host in the passes of some slices, ms. */
function offloadMs(
  inputs: CostInputs,
  contents: StageContents,
  slices: readonly { batch: number; tokens: number; context: number }[],
): number {
  const waits = offloadWaits(inputs, contents);
  return slices.reduce((sum, { batch, tokens, context }) => {
    const { forwardMs, backwardMs } = waits(batch, tokens, context);
    return sum + forwardMs + backwardMs;
  }, 0);
}

/** One line: which groups lie inside a node, and what the step would take in the other order of ranks; none where that is the same. */
function orderReason(request: PlanRequest, { schedules }: Pipeline, chosen: Candidate, signal: CancelSignal | undefined): Sentence[] {
  const { layout, cluster } = request;
  const kind = schedules[chosen.schedule];
  if (cluster.groups !== undefined || request.costTable !== null || kind.planned || !ordersDiffer(layout, cluster)) return [];
  if (operationCount(kind, layout, chosen.scheme) > mostTriedOperations) return [];
  const order = resolveRankOrder(request);
  const other = otherOrder(order);
  const inOther = { ...request, layout: { ...layout, order: other } };
  const otherMs = stepMs(buildPipeline(inOther), { kind, scheme: chosen.scheme }, signal);
  if (otherMs === null || Math.abs(otherMs - chosen.iterationMs) < worthSaying * chosen.iterationMs) return [];
  const time = formatDuration(otherMs);
  return [
    order === 'tp-cp-ep-dp-pp'
      ? sentence`rank order ${order} keeps replicas inside a node; with pipeline stages there (${other}) a step takes ${time}`
      : sentence`rank order ${order} keeps pipeline stages inside a node; with replicas there (${other}) a step takes ${time}`,
  ];
}

function otherOrder(order: RankOrder): RankOrder {
  return order === 'tp-cp-ep-dp-pp' ? 'tp-cp-ep-pp-dp' : 'tp-cp-ep-dp-pp';
}

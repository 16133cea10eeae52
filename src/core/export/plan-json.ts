import type { MemoryProfile, StageMemory } from '../memory/profile';
import { chosenOf, type Plan } from '../planner/plan';

/** A plan as `terapipe plan --json` and the editor's export print it. Times ms, memory bytes, lengths tokens; fields are added, never renamed. */
export interface PlanJson {
  readonly version: 1;
  readonly plan: object;
}

/** Everything of a plan but its timelines: the chosen candidate's numbers, what it rests on, and the others beside it. */
export function planJson(plan: Plan): PlanJson {
  const chosen = chosenOf(plan);
  const { request } = plan;
  return {
    version: 1,
    plan: {
      title: request.title,
      layout: request.layout,
      schedule: chosen.schedule,
      scheme: chosen.scheme,
      iterationMs: chosen.iterationMs,
      pipelineMs: chosen.pipelineMs,
      gradientExchangeMs: chosen.gradientExchangeMs,
      optimizerMs: chosen.optimizerMs,
      bubbleRate: chosen.bubbleRate,
      tokensPerSecond: chosen.tokensPerSecond,
      mfu: chosen.mfu,
      fits: chosen.fits,
      memory: { stages: stagesJson(chosen.memory), marginBytes: chosen.memory.marginBytes, runtime: chosen.memory.runtime },
      parameters: plan.parameters,
      cost: { provenance: plan.cost.kind, ...plan.cost },
      certificate: chosen.certificate,
      comparisons: plan.candidates.map(({ id, name, schedule, iterationMs, bubbleRate, fits }) => ({
        id,
        name,
        schedule,
        iterationMs,
        bubbleRate,
        fits,
      })),
      reasons: plan.reasons,
      model: request.model,
      training: request.training,
      cluster: request.cluster,
      assumptions: request.assumptions,
    },
  };
}

/** The rows of `terapipe memory --json`: bytes of one GPU of each stage at its peak. */
export function stagesJson({ stages, capacityBytes }: MemoryProfile): object[] {
  return stages.map(({ stage, parts, peakBytes, peakOperation }: StageMemory) => ({
    stage,
    weightsBytes: parts.weights,
    gradientsBytes: parts.gradients,
    optimizerBytes: parts.optimizer,
    activationsBytes: parts.activations + parts.keysValues,
    otherBytes: parts.dummyGradients + parts.logits + parts.backwardOperation,
    peakBytes,
    peakOperation,
    capacityBytes,
  }));
}

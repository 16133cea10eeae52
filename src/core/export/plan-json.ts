import type { CostProvenance } from '../domain/slice-cost';
import { runtimeProfile } from '../domain/runtime';
import type { MemoryPart, MemoryProfile } from '../memory-model/profile';
import { mayFit } from '../memory-model/verdict';
import type { NamedProfile } from '../domain/profile';
import { chosenCandidate, candidatePeakBytes, type Candidate, type Plan } from '../planner/plan';
import { neededFor } from '../schedules/runtimes';
import { mtpParameters } from '../model/multi-token-prediction';
import { bestWay, wayText } from '../planner/lengths/length-reasons';
import type { OverLengths } from '../planner/lengths/lengths-result';
import { weighedAssumptions } from '../planner/explain/assumed';
import { isTie } from '../planner/explain/reasons';
import { trainingCost } from '../planner/training-cost';
import { meanParts } from '../planner/explain/step-part-names';
import { say } from '../sentence';
import { scenarioJson, settingsOfPlan, type PlanSettings } from './settings-of-plan';
import type { Assumption } from '../domain/request';

/**
 * A plan as `terapipe plan --json` and the editor's export print it. Times ms, memory bytes, lengths tokens; fields are added, never
 * renamed.
 */
interface PlanJson {
  readonly version: 1;
  readonly plan: object;
}

/** Peak memory of one GPU of a stage; the five parts add up to `peakBytes`. Stages count from 0. */
export interface StageJson {
  readonly stage: number;
  readonly weightsBytes: number;
  readonly gradientsBytes: number;
  readonly optimizerBytes: number;
  /** Saved for backward, keys and values of earlier slices and what waits for a weight gradient included. */
  readonly activationsBytes: number;
  /** Dummy gradients, workspaces, logits, and what the operation at the peak holds. */
  readonly otherBytes: number;
  readonly peakBytes: number;
  /** What PyTorch's allocator reserves at that peak, and the GPU memory in use (`nvidia-smi`). */
  readonly usableBytes: number;
  readonly reservedBytes: number;
  readonly inUseBytes: number;
  readonly capacityBytes: number;
  /** The GPU that the stage is on; left out where all are alike. */
  readonly gpu?: string;
  /** The operation whose working set makes the peak. */
  readonly peakOperation: string;
}

/** Everything of a plan but its timelines: the chosen candidate's numbers, what it is based on, and the others. */
export function planJson(plan: Plan, own: PlanSettings = {}): PlanJson {
  const { request, candidates, cost, analytic, parameters, reasons } = plan;
  const chosen = chosenCandidate(plan);
  const { runtime, capacityBytes, marginBytes } = chosen.memory;
  const { id, sends } = runtimeProfile(request.training);
  const neededBy = ({ schedule }: Candidate): string | null => {
    const needs = neededFor(schedule, request);
    return needs === null ? null : say(needs);
  };
  return {
    version: 1,
    plan: {
      title: request.title,
      scenario: scenarioJson(request),
      set: settingsOfPlan(plan, own),
      layout: request.layout,
      schedule: chosen.schedule,
      chunksPerStage: chosen.chunksPerStage,
      runtime: id,
      sends,
      scheme: chosen.scheme,
      iterationMs: chosen.iterationMs,
      rangeMs: iterationRange(chosen.iterationMs, cost.range),
      pipelineMs: chosen.pipelineMs,
      gradientExchangeMs: chosen.gradientExchangeMs,
      optimizerMs: chosen.optimizerMs,
      bubbleRate: chosen.bubbleRate,
      tokensPerSecond: chosen.tokensPerSecond,
      mfu: chosen.mfu,
      budget: trainingCost(request, chosen.tokensPerSecond),
      fits: mayFit(chosen),
      tight: chosen.tight,
      memory: {
        runtime,
        peakBytes: candidatePeakBytes(chosen),
        capacityBytes,
        marginBytes,
        usableBytes: capacityBytes - marginBytes,
        fits: mayFit(chosen),
        tight: chosen.tight,
        stages: stagesJson(chosen.memory),
      },
      cost: {
        provenance: cost.kind,
        description: say(cost.description),
        errorPercent: cost.errorPercent,
        errorBecause: say(cost.errorBecause),
        profile: request.profile === null ? null : profileJson(request.profile),
        analytic: analytic === null ? null : { ...analytic, name: say(analytic.name) },
        calibration: request.calibration ?? null,
      },
      comparisons: candidates.map((candidate) => ({
        id: candidate.id,
        name: say(candidate.name),
        schedule: candidate.schedule,
        chunksPerStage: candidate.chunksPerStage,
        iterationMs: candidate.iterationMs,
        bubbleRate: candidate.bubbleRate,
        peakBytes: candidatePeakBytes(candidate),
        needs: neededBy(candidate),
        fits: mayFit(candidate),
        tight: candidate.tight,
        tie: isTie(plan, candidate),
      })),
      ...(plan.overLengths === undefined ? {} : { overLengths: lengthsJson(plan.overLengths) }),
      stepParts: plan.partsByStage === null ? null : meanParts(plan.partsByStage),
      partsByStage: plan.partsByStage,
      limits: plan.limits,
      reasons: reasons.map((reason) => say(reason)),
      assumptions: assumptionsJson(request, chosen),
      certificate: chosen.certificate === null ? null : { ...chosen.certificate, note: say(chosen.certificate.note) },
      parameters,
      mtpParameters: mtpParameters(request.model),
      model: request.model,
      training: request.training,
      cluster: request.cluster,
    },
  };
}

/** Those that people see, with what other values move, the most first; then the model's. */
function assumptionsJson(request: Plan['request'], chosen: Candidate): readonly object[] {
  const weighed = weighedAssumptions(request, chosen);
  const shown = new Set(weighed.map(({ key }) => key));
  return [
    ...weighed.map(({ moves, ...assumption }) => ({
      ...assumptionJson(assumption),
      moves: moves.map(({ to, slower }) => ({ to: say(to), slower })),
    })),
    ...request.assumptions.filter(({ key }) => !shown.has(key)).map(assumptionJson),
  ];
}

/** What steps of documents of many lengths take, with the way that is best. */
function lengthsJson(over: OverLengths): object {
  const best = bestWay(over.ways);
  return { ...over, best: best?.way ?? null, ways: over.ways.map((way) => ({ ...way, fits: mayFit(way), text: say(wayText(way)) })) };
}

/** What a step of `ms` is likely to take, ms: the range that holds 80 % of measured runs of its kind. */
export function iterationRange(ms: number, [low, high]: CostProvenance['range']): readonly [number, number] {
  return [ms * low, ms * high];
}

/** The profile that a plan rests on, without its samples. */
function profileJson({ file, profile }: NamedProfile): object {
  const { device, provider, source, status, measuredAt, precision, tensor, attention, errors, warnings } = profile;
  return { file, device, provider, source, status, measuredAt, precision, tensor, attention, errors, warnings };
}

/** The stages of `terapipe memory --json`. */
export function stagesJson({ stages }: MemoryProfile): StageJson[] {
  return stages.map(({ stage, parts, peakBytes, usableBytes, reservedBytes, inUseBytes, capacityBytes, gpu, peakOperation }) => {
    const sum = (...names: MemoryPart[]) => names.reduce((bytes, name) => bytes + parts[name], 0);
    return {
      stage,
      weightsBytes: parts.weights,
      gradientsBytes: parts.gradients,
      optimizerBytes: parts.optimizer,
      activationsBytes: sum('activations', 'keysValues', 'keptForWeights'),
      otherBytes: sum('dummyGradients', 'workspaces', 'logits', 'backwardOperation'),
      peakBytes,
      usableBytes,
      reservedBytes,
      inUseBytes,
      capacityBytes,
      ...(gpu === undefined ? {} : { gpu }),
      peakOperation,
    };
  });
}

/** What no file set, with its reason. */
export function assumptionJson({ key, value, reason }: Assumption): object {
  return { key, value, reason: say(reason) };
}

import type { Run } from '../../config/run';
import type { Finding, Fix } from '../../findings';
import { formatBytes, formatCount, formatDuration } from '../../format';
import type { StageMemory } from '../../memory/profile';
import { countMemory, fitsMemory } from '../../memory/count';
import { generateSchedule, problemOf } from '../../schedule/registry';
import { chosenOf, type Candidate, type Plan } from '../plan';
import type { PlanRequest } from '../request';
import { stageShapes } from '../stages';
import { divisorsOf } from '../../numbers';
import { findingAt, setFix } from './settings';

/** A schedule of more operations is not counted again for every change that might fit. */
const maximumTrialOperations = 200_000;

/** The finding that the planned step does not fit, with the smallest change that does. */
export function memoryFindings(run: Run, plan: Plan | null): Finding[] {
  if (plan === null) return [];
  const chosen = chosenOf(plan);
  if (chosen.fits) return [];
  const { stages, capacityBytes, marginBytes } = chosen.memory;
  const worst = worstStage(stages);
  if (worst === undefined) return [];
  const overBytes = worst.peakBytes + marginBytes - capacityBytes;
  const card = `${formatBytes(capacityBytes)} ${plan.request.cluster.gpu.name}`;
  const message = `Stage ${formatCount(worst.stage)} of ${formatCount(stages.length)} needs ${formatBytes(worst.peakBytes)}, ${formatBytes(overBytes)} more than a ${card} has with ${formatBytes(marginBytes)} kept free`;
  const { remedy, fixes } = remedyFor(run, plan, chosen);
  return [findingAt(run, keyOf(run), 'memory-over-capacity', 'error', { message, remedy }, fixes)];
}

function remedyFor(run: Run, plan: Plan, chosen: Candidate): { remedy: string; fixes: Fix[] } {
  const other = plan.candidates
    .filter((candidate) => candidate.fits && candidate.schedule !== chosen.schedule)
    .sort((a, b) => a.iterationMs - b.iterationMs)[0];
  if (other !== undefined)
    return {
      remedy: `set schedule to ${other.schedule}, which fits and takes ${formatDuration(other.iterationMs)}`,
      fixes: setFix(run, 'schedule', other.schedule, true),
    };
  const change = smallestChange(plan.request, chosen);
  if (change === null) return { remedy: 'use more pipeline stages, a larger tensor size, or GPUs with more memory', fixes: [] };
  const { key, value, request } = change;
  const fixes = setFix(run, key, value, true);
  const { data } = request.layout;
  const moved = data === plan.request.layout.data || run.layout.data === undefined ? [] : setFix(run, 'layout.data', data, true);
  const both = fixes.map((fix, index) => {
    const other = moved[index];
    return other === undefined
      ? fix
      : { ...fix, title: `${fix.title} and layout.data to ${formatCount(data)}`, edits: [...fix.edits, ...other.edits] };
  });
  const also = moved.length > 0 ? ` and layout.data to ${formatCount(data)}` : '';
  return { remedy: `set ${key} to ${String(value)}${also}, which fits`, fixes: both };
}

interface Change {
  readonly key: string;
  readonly value: string | number | boolean;
  readonly request: PlanRequest;
}

/** The first of the usual measures that makes the chosen schedule fit, cheapest in time first; null when none does alone. */
function smallestChange(request: PlanRequest, chosen: Candidate): Change | null {
  return changesOf(request).find((change) => fitsAfter(change, chosen)) ?? null;
}

function changesOf(request: PlanRequest): Change[] {
  const { training, layout, model } = request;
  const train = (key: keyof typeof training, value: string | number | boolean): Change => ({
    key: `training.${key}`,
    value,
    request: { ...request, training: { ...training, [key]: value } },
  });
  const smallerBatches = divisorsOf(training.microBatch)
    .filter((size) => size < training.microBatch)
    .reverse();
  const gpus = layout.pipeline * layout.data;
  const deeper = divisorsOf(model.layers).filter(
    (pipeline) => pipeline > layout.pipeline && gpus % pipeline === 0 && training.globalBatch % (gpus / pipeline) === 0,
  );
  return [
    ...(layout.tensor > 1 && !training.sequenceParallel && training.sequenceLength % layout.tensor === 0
      ? [train('sequenceParallel', true)]
      : []),
    ...(training.attention === 'unfused' && request.cluster.gpu.peakTflops.bf16 >= request.cluster.gpu.peakTflops.fp16
      ? [train('attention', 'flash')]
      : []),
    ...(training.zeroStage === 0 && layout.data > 1 ? [train('zeroStage', 1)] : []),
    ...smallerBatches.map((size) => train('microBatch', size)),
    ...(training.recompute === 'none' ? [train('recompute', 'selective')] : []),
    ...(training.recompute === 'full' ? [] : [train('recompute', 'full')]),
    ...deeper.map((pipeline) => ({
      key: 'layout.pipeline',
      value: pipeline,
      request: { ...request, layout: { ...layout, pipeline, data: gpus / pipeline } },
    })),
  ];
}

function fitsAfter({ request, key }: Change, chosen: Candidate): boolean {
  const { model, training, layout, cluster } = request;
  if (key === 'training.microBatch' && chosen.schedule === 'TeraPipe') return false;
  const sliced = chosen.schedule === 'TeraPipe';
  const microBatches = Math.ceil(training.globalBatch / layout.data / training.microBatch);
  const units = sliced ? chosen.scheme.reduce((sum, { tokens }) => sum + tokens.length, 0) : microBatches;
  if (2 * units * layout.pipeline > maximumTrialOperations) return false;
  const scheme = sliced
    ? chosen.scheme
    : Array.from({ length: microBatches }, () => ({ batch: training.microBatch, tokens: [training.sequenceLength] }));
  const schedule = generateSchedule(chosen.schedule, problemOf(scheme, layout.pipeline));
  const profile = countMemory({ model, training, layout }, schedule, stageShapes(model.layers, layout.pipeline), cluster.gpu.memoryBytes);
  return fitsMemory(profile);
}

function worstStage(stages: readonly StageMemory[]): StageMemory | undefined {
  return stages.reduce<StageMemory | undefined>(
    (worst, stage) => (worst === undefined || stage.peakBytes > worst.peakBytes ? stage : worst),
    undefined,
  );
}

/** What decides most about memory among what the file gives. */
function keyOf(run: Run): string {
  const keys = ['schedule', 'cluster.gpu', 'layout.pipeline'] as const;
  const given = { schedule: run.schedule, 'cluster.gpu': run.gpu, 'layout.pipeline': run.layout.pipeline };
  return keys.find((key) => given[key]?.source.kind === 'file') ?? 'schedule';
}

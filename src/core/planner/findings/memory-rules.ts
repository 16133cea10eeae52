import type { Run } from '../../config/run';
import type { Finding, Fix } from '../../findings';
import { formatCount, formatDuration } from '../../format';
import { nodeGroups } from '../../cluster/groups';
import { lacksBf16 } from '../../cluster/spec';
import { fitsMemory, verdictOf, verdictSentence } from '../../memory/verdict';
import { chosenOf, type Candidate, type Plan } from '../plan';
import { isUsual } from '../reasons';
import type { PlanRequest } from '../request';
import { memoryOf } from '../scheduling';
import { cardsOf } from '../stage-inputs';
import { divisorsOf } from '../../numbers';
import { findingAt, setFix, settingAt } from './settings';

/** A schedule of more operations is not counted again for every change that might fit. */
const maximumTrialOperations = 200_000;

/** The finding that the planned step does not fit, with the smallest change that does. */
export function memoryFindings(run: Run, plan: Plan | null): Finding[] {
  if (plan === null) return [];
  const chosen = chosenOf(plan);
  if (chosen.fits) return [];
  const message = verdictSentence(verdictOf(chosen.memory));
  const { remedy, fixes } = remedyFor(run, plan, chosen);
  if (isGpuGiven(run)) return [findingAt(run, keyOf(run), 'memory-over-capacity', 'error', { message, remedy }, fixes)];
  const onAssumed = `On ${plan.request.cluster.gpu.name}, which is assumed: ${message}`;
  return [
    findingAt(
      run,
      '',
      'memory-over-capacity',
      'information',
      { message: onAssumed, remedy: `set cluster.gpu to yours, or ${remedy}` },
      fixes,
    ),
  ];
}

function remedyFor(run: Run, plan: Plan, chosen: Candidate): { remedy: string; fixes: Fix[] } {
  const other = plan.candidates
    .filter((candidate) => candidate.fits && candidate.schedule !== chosen.schedule && mayRun(plan.request, candidate))
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

/** Whether what the files name runs a candidate, and where they name nothing, whether usual launchers do: a remedy must not need another runtime. */
function mayRun({ runs }: PlanRequest, candidate: Candidate): boolean {
  return runs?.includes(candidate.schedule) ?? isUsual(candidate);
}

/** A file that names no GPU is not to blame for one that is assumed. */
export function isGpuGiven({ gpu, groups }: Pick<Run, 'gpu' | 'groups'>): boolean {
  return gpu !== undefined || groups !== undefined;
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
  const deeper = (layout.stageGroups === undefined ? divisorsOf(model.layers) : []).filter(
    (pipeline) => pipeline > layout.pipeline && gpus % pipeline === 0 && training.globalBatch % (gpus / pipeline) === 0,
  );
  return [
    ...(layout.tensor > 1 && !training.sequenceParallel && training.sequenceLength % layout.tensor === 0
      ? [train('sequenceParallel', true)]
      : []),
    ...(training.attention === 'unfused' && nodeGroups(request.cluster).every(({ gpu }) => !lacksBf16(gpu))
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
  const sliced = chosen.schedule === 'TeraPipe' || chosen.schedule === 'Seq1F1B';
  if (key === 'training.microBatch' && sliced) return false;
  const microBatches = Math.ceil(training.globalBatch / layout.data / training.microBatch);
  const units = sliced ? chosen.scheme.reduce((sum, { tokens }) => sum + tokens.length, 0) : microBatches;
  if (2 * units * layout.pipeline * chosen.chunksPerStage > maximumTrialOperations) return false;
  const scheme = sliced
    ? chosen.scheme
    : Array.from({ length: microBatches }, () => ({ batch: training.microBatch, tokens: [training.sequenceLength] }));
  const memory = memoryOf({ model, training, layout }, chosen.schedule, scheme, cardsOf(cluster, layout));
  return memory !== null && fitsMemory(memory);
}

/** What decides most about memory among what the file gives. */
function keyOf(run: Run): string {
  const keys = ['schedule', 'cluster.gpu', 'cluster.groups', 'layout.pipeline'] as const;
  return keys.find((key) => settingAt(run, key)?.source.kind === 'file') ?? 'schedule';
}

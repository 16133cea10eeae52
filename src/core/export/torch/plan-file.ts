import * as v from 'valibot';
import { ExpectedError } from '../../errors';
import { formatBytes, formatCount } from '../../format';
import { resolveRankOrder } from '../../domain/runtime';
import { without } from '../../records';
import type { ModelSpec } from '../../domain/model';
import type { PlanRequest } from '../../domain/request';
import type { Remark } from '../../launchers/writing/remarks';
import { chosenCandidate, type Candidate, type Plan } from '../../planner/plan';
import { maximumTimelineOperations } from '../../planner/predict/predict';
import { sum } from '../../numbers';
import { scheduleOn } from '../../schedules/on-layout';
import { actionText } from '../../schedules/pytorch-csv/actions';
import type { Schedule, Timeline } from '../../schedules/schedule';
import { sentence } from '../../sentence';
import { plannedChunks } from './chunks';
import { optimizerSettings } from './optimizer-settings';
import { requireTrainable } from './refusals';
import { torchPlanSchema, type TorchPlan } from './schema';

/** A plan for the PyTorch runtime, and what it runs differently from the plan. */
interface TorchExport {
  readonly plan: TorchPlan;
  readonly gaps: readonly Remark[];
}

/**
 * The chosen candidate of a plan as the PyTorch runtime reads it.
 * @throws ExpectedError `export-torchrun` for what it does not train, `export-no-timeline` for more operations than are written.
 */
export function torchPlan(plan: Plan): TorchExport {
  const { request } = plan;
  const candidate = chosenCandidate(plan);
  requireTrainable(request, candidate);
  const { timeline } = candidate;
  if (timeline === null)
    throw new ExpectedError(
      'export-no-timeline',
      sentence`This schedule has more than ${formatCount(maximumTimelineOperations)} operations, too many to write one by one`,
      sentence`raise training.microBatch or lower training.globalBatch`,
    );
  const units = timeline.units.map(({ microBatch, slice, batch, tokens, context }) => ({ microBatch, slice, batch, tokens, context }));
  const { settings, gaps } = optimizerSettings(plan);
  const written = v.parse(torchPlanSchema, {
    kind: 'terapipe-torch-plan',
    version: 1,
    title: request.title,
    schedule: timeline.name,
    model: trainedModel(request),
    layout: layoutSizes(request),
    stages: stagesOfChunks(request, candidate, timeline),
    units,
    actions: byRank(timeline, (row) => actionText(timeline.kind[row] ?? 0, timeline.chunk[row] ?? 0, timeline.unit[row] ?? 0)),
    training: {
      ...trainingSettings(request),
      globalBatch: request.layout.data * sum(units.map(({ batch, slice }) => (slice === 0 ? batch : 0))),
      optimizer: 'adam',
      ...settings,
    },
    predicted: predictedTimes(candidate, timeline),
  });
  return { plan: written, gaps: [...gaps, ...scheduleGaps(request, candidate)] };
}

/** With a row in its table of learned positions for every token of a sequence. */
function trainedModel({ model: planned, training }: PlanRequest): ModelSpec {
  const { details = {}, positions, maxPositions } = planned;
  const model = { ...planned, ...(planned.details && { details: without(details, 'hiddenDropoutShare', 'attentionDropoutShare') }) };
  return positions === 'learned' ? { ...model, maxPositions: Math.max(training.sequenceLength, maxPositions ?? 0) } : model;
}

function layoutSizes({ layout, training }: PlanRequest): TorchPlan['layout'] {
  const { pipeline, tensor, context, data, expert } = layout;
  const outer =
    resolveRankOrder({ layout, training }) === 'tp-cp-ep-dp-pp' ? (['data', 'pipeline'] as const) : (['pipeline', 'data'] as const);
  return {
    pipeline,
    tensor,
    context,
    data,
    expert,
    sequenceParallel: training.sequenceParallel,
    zeroStage: training.zeroStage,
    rankOrder: ['tensor', 'context', ...outer],
  };
}

/** What PyTorch calls stages: the model chunks in the order of the layers, each on its pipeline rank. */
function stagesOfChunks(request: PlanRequest, candidate: Candidate, { stageOfChunk }: Timeline): TorchPlan['stages'] {
  let firstLayer = 0;
  return plannedChunks(request, candidate).chunkContents.map(({ layers, first, last }, chunk) => {
    const stage = { rank: stageOfChunk[chunk] ?? 0, firstLayer, layers, embedding: first, head: last };
    firstLayer += layers;
    return stage;
  });
}

/** A value for each operation of each pipeline rank, in their order. */
function byRank<T>({ rowStart }: Pick<Schedule, 'rowStart'>, value: (row: number) => T): T[][] {
  return Array.from({ length: rowStart.length - 1 }, (_, rank) => {
    const [from = 0, to = 0] = rowStart.subarray(rank, rank + 2);
    return Array.from({ length: to - from }, (_row, index) => value(from + index));
  });
}

function trainingSettings({ training }: PlanRequest) {
  const { sequenceLength, precision, recompute } = training;
  return { sequenceLength, precision, recompute };
}

function predictedTimes({ iterationMs, memory }: Candidate, timeline: Timeline): TorchPlan['predicted'] {
  const rounded = (ms: number): number => Math.round(1e4 * ms) / 1e4;
  return {
    iterationMs: rounded(iterationMs),
    startMs: byRank(timeline, (row) => rounded(timeline.startMs[row] ?? 0)),
    endMs: byRank(timeline, (row) => rounded(timeline.endMs[row] ?? 0)),
    peakBytes: memory.stages.map(({ peakBytes }) => Math.round(peakBytes)),
  };
}

/** Parts of the step that the runtime runs differently from the prediction. */
function scheduleGaps({ model, training, layout }: PlanRequest, { schedule, memory }: Candidate): readonly Remark[] {
  const { exchangesAttention, copies } = scheduleOn(schedule, layout);
  const { routerAuxLoss = 0, routerZLoss = 0, routerExpertBias = false, attentionDropoutShare = 0 } = model.details ?? {};
  const balances = model.experts !== null && (routerAuxLoss > 0 || routerZLoss > 0 || routerExpertBias);
  const reason = sentence`the PyTorch runtime trains without it`;
  return [
    ...(balances ? [{ what: sentence`what balances the load of experts`, reason }] : []),
    ...(training.dropout || attentionDropoutShare > 0 ? [{ what: sentence`dropout`, reason }] : []),
    ...(training.zeroStage === 3 && layout.data * layout.context > 1
      ? [
          {
            what: sentence`weights gathered ahead of the layer that needs them`,
            reason: sentence`the PyTorch runtime gathers each layer's when it begins: that part of a step is not hidden`,
          },
        ]
      : []),
    ...narrowGradients(training, memory),
    ...(exchangesAttention === true
      ? [
          {
            what: sentence`attention exchanged between stages, and the head spread over them`,
            reason: sentence`the PyTorch runtime has the order of ${schedule} only, so that a step takes longer than predicted`,
          },
        ]
      : []),
    ...(copies === undefined
      ? []
      : [
          {
            what: sentence`copies of activations that leave a stage`,
            reason: sentence`the PyTorch runtime has the order of ${schedule} only: it needs more memory than predicted`,
          },
        ]),
  ];
}

/** The runtime sums gradients in fp32: as many bytes again as those of two that were counted. */
function narrowGradients({ precision, gradAccumulationFp32 }: PlanRequest['training'], { stages }: Candidate['memory']): readonly Remark[] {
  if (gradAccumulationFp32 || precision === 'fp32') return [];
  const needed = stages.map(({ peakBytes, parts, usableBytes }) => ({ bytes: peakBytes + parts.gradients, usableBytes }));
  const [fullest = { bytes: 0, usableBytes: 0 }] = needed.sort((a, b) => b.bytes / b.usableBytes - a.bytes / a.usableBytes);
  const over = fullest.bytes > fullest.usableBytes ? sentence`, more than the ${formatBytes(fullest.usableBytes)} that are usable` : '';
  return [
    {
      what: sentence`gradients in ${precision}`,
      reason: sentence`the PyTorch runtime sums in fp32: a stage needs up to ${formatBytes(fullest.bytes)}${over} (training.gradAccumulationFp32=true)`,
    },
  ];
}

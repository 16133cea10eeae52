import { scheduleOn } from '../../src/core/schedules/on-layout';
import { buildPipeline } from '../../src/core/planner/predict/pipeline';
import { predict } from '../../src/core/planner/predict/predict';
import type { Candidate } from '../../src/core/planner/plan';
import type { PlanRequest } from '../../src/core/domain/request';
import { goldenRows, once } from './data';
import { gpt, onSelene, request } from './requests';

/** One reference number, and ours. */
export interface Row {
  readonly name: string;
  readonly measured: number;
  readonly predicted: number;
}

/** The same of a run, with the request that predicts it. */
export interface PredictedRow extends Row {
  readonly request: PlanRequest;
}

/** Predicts exactly what a request fixes with 1F1B. */
export function predictOneF1B(wanted: PlanRequest): Candidate {
  const { training, layout } = wanted;
  const microBatches = training.globalBatch / layout.data / training.microBatch;
  const scheme = Array.from({ length: microBatches }, () => ({ batch: training.microBatch, tokens: [training.sequenceLength] }));
  return predict(buildPipeline(wanted), { id: '1f1b', name: '1F1B', kind: scheduleOn('1F1B', layout), scheme, certificate: null });
}

interface VtrainCase {
  readonly id: string;
  readonly set: string;
  readonly global_batch: number;
  readonly micro_batch: number;
  readonly hidden: number;
  readonly heads: number;
  readonly layers: number;
  readonly seq: number;
  readonly tp: number;
  readonly dp: number;
  readonly pp: number;
  readonly iter_ms: number;
}

const vtrainCases = once(() => goldenRows('vtrain') as readonly VtrainCase[]);

function vtrainRowsOf(set: 'multi' | 'single'): readonly PredictedRow[] {
  const rows = vtrainCases().filter((row) => row.set === set);
  return rows.map((row) => {
    const wanted = vtrainRequest(row);
    return { name: row.id, measured: row.iter_ms, predicted: predictOneF1B(wanted).iterationMs, request: wanted };
  });
}

/** vTrain's measured A100 runs on several nodes: Megatron-DeepSpeed, vocabulary 51,200, full recompute. Times in ms. */
export const vtrainRows = once(() => vtrainRowsOf('multi'));

/** Those on one node, without recompute; composed by vTrain from traces of layers. Times in ms. */
export const vtrainSingleNodeRows = once(() => vtrainRowsOf('single'));

export function vtrainRequest(row: VtrainCase): PlanRequest {
  return request('A100-80GB', gpt(row.layers, row.hidden, row.heads, 51200), {
    training: {
      sequenceLength: row.seq,
      microBatch: row.micro_batch,
      globalBatch: row.global_batch,
      recompute: row.set === 'multi' ? 'full' : 'none',
      gradAccumulationFusion: false,
    },
    layout: { tensor: row.tp, pipeline: row.pp, data: row.dp },
  });
}

interface PtdpRow {
  readonly params_b: number;
  readonly heads: number;
  readonly hidden: number;
  readonly layers: number;
  readonly tp: number;
  readonly pp: number;
  readonly layers_per_virtual_stage: number | null;
  readonly micro_batch: number;
  readonly global_batch: number;
  readonly gpus: number;
  readonly iteration_s: number;
}

/** Table 1 of Narayanan et al. 2021 (arXiv 2104.04473). Times in ms. */
export const ptdpRows = once((): readonly PredictedRow[] =>
  (goldenRows('ptd-p') as readonly PtdpRow[]).map((row) => {
    const virtualStages = row.layers_per_virtual_stage === null ? 1 : row.layers / row.pp / row.layers_per_virtual_stage;
    const onNode = request('A100-80GB', gpt(row.layers, row.hidden, row.heads, 51200), {
      training: { microBatch: row.micro_batch, globalBatch: row.global_batch, recompute: 'full', gradAccumulationFusion: false },
      layout: { tensor: row.tp, pipeline: row.pp, data: row.gpus / row.tp / row.pp, virtualStages },
    });
    const wanted = onSelene(onNode);
    return { name: `${row.params_b}B`, measured: 1e3 * row.iteration_s, predicted: predictOneF1B(wanted).iterationMs, request: wanted };
  }),
);

/** Mean and worst absolute relative error. */
export function errors(rows: readonly { readonly measured: number; readonly predicted: number }[]): {
  readonly mean: number;
  readonly worst: number;
} {
  const relative = rows.map(({ measured, predicted }) => Math.abs(predicted / measured - 1));
  return { mean: relative.reduce((sum, error) => sum + error, 0) / relative.length, worst: Math.max(...relative) };
}

import { predict, pipelineOf } from '../../src/core/planner/predict';
import type { Candidate } from '../../src/core/planner/plan';
import type { PlanRequest } from '../../src/core/planner/request';
import type { Scheme } from '../../src/core/solver/slicing';
import { golden } from './shared';
import { gpt, request } from './requests';

/** One reference number beside ours. */
export interface Row {
  readonly name: string;
  readonly measured: number;
  readonly predicted: number;
}

/** Predicts exactly what a request fixes with 1F1B. */
export function predictOneF1B(wanted: PlanRequest): Candidate {
  const { training, layout } = wanted;
  const microBatches = training.globalBatch / layout.data / training.microBatch;
  const scheme = Array.from({ length: microBatches }, () => ({ batch: training.microBatch, tokens: [training.sequenceLength] }));
  return predict(pipelineOf(wanted), { id: '1f1b', name: '1F1B', schedule: '1F1B', scheme, certificate: null });
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

/** vTrain's measured A100 runs: Megatron-DeepSpeed, vocabulary 51,200; multi-node rows recompute fully, single-node rows do not. Times in ms. */
export function vtrainRows(set: 'multi' | 'single'): Row[] | null {
  const file = golden('vtrain_measured') as { cases: VtrainCase[] } | null;
  if (file === null) return null;
  return file.cases
    .filter((row) => row.set === set)
    .map((row) => ({ name: row.id, measured: row.iter_ms, predicted: predictOneF1B(vtrainRequest(row)).iterationMs }));
}

export function vtrainRequest(row: VtrainCase): PlanRequest {
  return request('A100-80GB', gpt(row.layers, row.hidden, row.heads, 51200), {
    training: {
      sequenceLength: row.seq,
      microBatch: row.micro_batch,
      globalBatch: row.global_batch,
      recompute: row.set === 'multi' ? 'full' : 'none',
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
  readonly derived_iteration_s: number;
}

/** Table 1 of Narayanan et al. 2021 (arXiv 2104.04473). Times in ms. */
export function ptdpRows(): Row[] | null {
  const file = golden('published') as { ptdp_2104_04473_table1: { rows: PtdpRow[] } } | null;
  if (file === null) return null;
  return file.ptdp_2104_04473_table1.rows.map((row) => {
    const virtualStages = row.layers_per_virtual_stage === null ? 1 : row.layers / row.pp / row.layers_per_virtual_stage;
    const wanted = request('A100-80GB', gpt(row.layers, row.hidden, row.heads, 51200), {
      training: { microBatch: row.micro_batch, globalBatch: row.global_batch, recompute: 'full' },
      layout: { tensor: row.tp, pipeline: row.pp, data: row.gpus / row.tp / row.pp, virtualStages },
    });
    return { name: `${row.params_b}B`, measured: 1e3 * row.derived_iteration_s, predicted: predictOneF1B(wanted).iterationMs };
  });
}

/** One of TeraPipe's ten settings with the measured latencies of the paper's appendix (ms) and the scheme it found. `recalled`: not re-read in a primary text. */
export interface TeraPipeSetting {
  readonly setting: number;
  readonly model: string;
  readonly layers: number;
  readonly hidden: number;
  readonly batch: number;
  readonly data: number;
  readonly pipeline: number;
  readonly tensor: number;
  readonly wholeMs: number;
  readonly slicedMs: number | null;
  readonly lengths: readonly number[] | null;
}

const repeat = (length: number, times: number): number[] => Array.from({ length: times }, () => length);

/** Table 1 and the appendix table of TeraPipe (arXiv 2102.07988). Settings 2 and 3 slice the batch only. */
export const terapipeSettings: readonly TeraPipeSetting[] = [
  {
    setting: 1,
    model: 'GPT3-1B',
    layers: 24,
    hidden: 2048,
    batch: 128,
    data: 8,
    pipeline: 24,
    tensor: 1,
    wholeMs: 1517,
    slicedMs: 1254,
    lengths: [776, 640, 632],
  },
  {
    setting: 2,
    model: 'GPT3-1B',
    layers: 24,
    hidden: 2048,
    batch: 72,
    data: 2,
    pipeline: 12,
    tensor: 8,
    wholeMs: 1018,
    slicedMs: null,
    lengths: null,
  },
  {
    setting: 3,
    model: 'GPT3-1B',
    layers: 24,
    hidden: 2048,
    batch: 72,
    data: 1,
    pipeline: 24,
    tensor: 8,
    wholeMs: 913,
    slicedMs: null,
    lengths: null,
  },
  {
    setting: 4,
    model: 'GPT3-13B',
    layers: 40,
    hidden: 5120,
    batch: 32,
    data: 2,
    pipeline: 20,
    tensor: 8,
    wholeMs: 2637,
    slicedMs: 1891,
    lengths: repeat(1024, 2),
  },
  {
    setting: 5,
    model: 'GPT3-13B',
    layers: 40,
    hidden: 5120,
    batch: 32,
    data: 1,
    pipeline: 40,
    tensor: 8,
    wholeMs: 1863,
    slicedMs: 1328,
    lengths: [704, 688, 656],
  },
  {
    setting: 6,
    model: 'GPT3-44B',
    layers: 96,
    hidden: 6144,
    batch: 8,
    data: 4,
    pipeline: 96,
    tensor: 1,
    wholeMs: 13319,
    slicedMs: 7103,
    lengths: [...repeat(64, 26), ...repeat(56, 6), 48],
  },
  {
    setting: 7,
    model: 'GPT3-44B',
    layers: 96,
    hidden: 6144,
    batch: 8,
    data: 2,
    pipeline: 24,
    tensor: 8,
    wholeMs: 4311,
    slicedMs: 2771,
    lengths: [368, 384, 384, 368, 256, 288],
  },
  {
    setting: 8,
    model: 'GPT3-44B',
    layers: 96,
    hidden: 6144,
    batch: 8,
    data: 1,
    pipeline: 48,
    tensor: 8,
    wholeMs: 2662,
    slicedMs: 1111,
    lengths: [384, 384, 368, 320, 296, 296],
  },
  {
    setting: 9,
    model: 'GPT3-175B',
    layers: 96,
    hidden: 12288,
    batch: 2,
    data: 1,
    pipeline: 96,
    tensor: 4,
    wholeMs: 9990,
    slicedMs: 1481,
    lengths: [...repeat(120, 4), ...repeat(112, 6), ...repeat(104, 8), 64],
  },
  {
    setting: 10,
    model: 'GPT3-175B',
    layers: 96,
    hidden: 12288,
    batch: 2,
    data: 1,
    pipeline: 48,
    tensor: 8,
    wholeMs: 5822,
    slicedMs: 1160,
    lengths: repeat(128, 16),
  },
];

/** A setting as a request: V100s of p3.16xlarge, no embedding, head, dropout or recompute, as TeraPipe's benchmark. */
export function terapipeRequest(row: TeraPipeSetting, sequenceLength = 2048): PlanRequest {
  const model = { ...gpt(row.layers, row.hidden, row.hidden / 128, 0, sequenceLength), positions: 'none' as const };
  const wanted = request('V100-16GB', model, {
    training: { sequenceLength, globalBatch: row.batch, dropout: false },
    layout: { tensor: row.tensor, pipeline: row.pipeline, data: row.data },
  });
  return { ...wanted, schedule: 'TeraPipe', slicing: { unit: 8, scheme: null } };
}

/** Our prediction of a setting cut in the same slices for every sequence. */
export function predictTeraPipe(row: TeraPipeSetting, lengths: readonly number[]): Candidate {
  const scheme: Scheme = Array.from({ length: row.batch / row.data }, () => ({ batch: 1, tokens: lengths }));
  return predict(pipelineOf(terapipeRequest(row)), { id: 'given', name: 'as published', schedule: 'TeraPipe', scheme, certificate: null });
}

/** Mean and worst absolute relative error. */
export function errors(rows: readonly { readonly measured: number; readonly predicted: number }[]): {
  readonly mean: number;
  readonly worst: number;
} {
  const relative = rows.map(({ measured, predicted }) => Math.abs(predicted / measured - 1));
  return { mean: relative.reduce((sum, error) => sum + error, 0) / relative.length, worst: Math.max(...relative) };
}

import type { PlanRequest } from '../../src/core/domain/request';
import { gpt, onSelene, request } from './requests';
import { predictOneF1B, type PredictedRow } from './rows';
import { goldenRows, once } from './data';

interface PublishedModel {
  readonly name: string;
  readonly heads: number;
  readonly hidden: number;
  readonly layers: number;
  readonly tp: number;
  readonly pp: number;
  readonly vpp: number | null;
  readonly gpus: number;
  readonly global_batch: number;
  readonly micro_batch: number;
  readonly full_s: number;
  readonly selective_s: number;
}

/**
 * Table 5 of Korthikanti et al. 2022 (arXiv 2205.05198): full recompute, and sequence parallelism with selective recompute. Times in ms.
 */
export const recomputeRows = once((): readonly PredictedRow[] =>
  (goldenRows('activation-recompute') as readonly PublishedModel[]).flatMap((model) => [
    row(`${model.name}, full`, model.full_s, requestOf(model, 'full')),
    row(`${model.name}, sequence parallel, selective`, model.selective_s, requestOf(model, 'selective')),
  ]),
);

function row(name: string, seconds: number, wanted: PlanRequest): PredictedRow {
  return { name, measured: 1e3 * seconds, predicted: predictOneF1B(wanted).iterationMs, request: wanted };
}

function requestOf(model: PublishedModel, recompute: 'full' | 'selective'): PlanRequest {
  const wanted = request('A100-80GB', gpt(model.layers, model.hidden, model.heads, 51200), {
    training: { microBatch: model.micro_batch, globalBatch: model.global_batch, recompute, sequenceParallel: recompute === 'selective' },
    layout: { tensor: model.tp, pipeline: model.pp, data: model.gpus / model.tp / model.pp, virtualStages: model.vpp ?? 1 },
  });
  return onSelene(wanted);
}

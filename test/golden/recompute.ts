import { gpt, onSelene, request } from './requests';
import { predictOneF1B, type Row } from './rows';
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
export const recomputeRows = once((): readonly Row[] =>
  (goldenRows('activation-recompute') as readonly PublishedModel[]).flatMap((model) => [
    { name: `${model.name}, full`, measured: 1e3 * model.full_s, predicted: predicted(model, 'full') },
    { name: `${model.name}, sequence parallel, selective`, measured: 1e3 * model.selective_s, predicted: predicted(model, 'selective') },
  ]),
);

function predicted(model: PublishedModel, recompute: 'full' | 'selective'): number {
  const wanted = request('A100-80GB', gpt(model.layers, model.hidden, model.heads, 51200), {
    training: { microBatch: model.micro_batch, globalBatch: model.global_batch, recompute, sequenceParallel: recompute === 'selective' },
    layout: { tensor: model.tp, pipeline: model.pp, data: model.gpus / model.tp / model.pp, virtualStages: model.vpp ?? 1 },
  });
  return predictOneF1B(onSelene(wanted)).iterationMs;
}

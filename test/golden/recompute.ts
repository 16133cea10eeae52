import { gpt, request } from './requests';
import { predictOneF1B, type Row } from './rows';
import { golden } from './shared';

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
}

interface Published {
  readonly models: readonly PublishedModel[];
  readonly table5: readonly { readonly name: string; readonly full_s: number; readonly present_s: number }[];
}

/** Table 5 of Korthikanti et al. 2022 (arXiv 2205.05198): full recompute, and sequence parallelism with selective recompute. Times in ms. */
export function recomputeRows(): Row[] | null {
  const file = golden('published') as { activation_recompute_2205_05198: Published } | null;
  if (file === null) return null;
  const { models, table5 } = file.activation_recompute_2205_05198;
  return models.flatMap((model) => {
    const times = table5.find(({ name }) => name === model.name);
    if (times === undefined) return [];
    return [
      { name: `${model.name}, full`, measured: 1e3 * times.full_s, predicted: predicted(model, 'full') },
      { name: `${model.name}, sequence parallel, selective`, measured: 1e3 * times.present_s, predicted: predicted(model, 'selective') },
    ];
  });
}

function predicted(model: PublishedModel, recompute: 'full' | 'selective'): number {
  const wanted = request('A100-80GB', gpt(model.layers, model.hidden, model.heads, 51200), {
    training: { microBatch: model.micro_batch, globalBatch: model.global_batch, recompute, sequenceParallel: recompute === 'selective' },
    layout: { tensor: model.tp, pipeline: model.pp, data: model.gpus / model.tp / model.pp, virtualStages: model.vpp ?? 1 },
  });
  return predictOneF1B(wanted).iterationMs;
}

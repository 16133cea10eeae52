import { attentionWidths } from '../model/parameters';
import type { CostInputs } from './rates';
import type { Product } from './tally';

/**
 * GEMMs of a layer's attention: those before the up projections of latent attention, which compress the rank's share of the tokens, the up
 * projections, and that of the output.
 */
export function projections({ model, training, layout }: CostInputs, rows: number): { before: Product[]; up: Product[]; out: Product } {
  const { query, key, value, output, gate } = attentionWidths(model, layout.tensor);
  const { hidden, latent, heads } = model;
  const out: Product = [rows, hidden, output];
  if (!latent) return { before: [[rows, query + key + value + gate, hidden]], up: [], out };
  const share = training.sequenceParallel ? rows / layout.tensor : rows;
  const keysAndValues = (heads / layout.tensor) * (latent.nopeHeadDim + latent.vHeadDim);
  return {
    before: [
      ...(latent.qRank === null ? [] : [[share, latent.qRank, hidden] as const]),
      [share, latent.kvRank + latent.ropeHeadDim, hidden],
    ],
    up: [
      [rows, query, latent.qRank ?? hidden],
      [rows, keysAndValues, latent.kvRank],
    ],
    out,
  };
}

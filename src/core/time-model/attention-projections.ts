import { attentionWidths } from '../model/parameters';
import type { CostInputs } from './rates';
import type { Product } from './tally';

/** GEMMs of a layer's attention for some rows: before the up projections of latent attention, those, and that of the output. */
type Projections = (rows: number) => { readonly before: readonly Product[]; readonly up: readonly Product[]; readonly out: Product };

/** `before` of latent attention compress the rank's share of the tokens; `up` has nothing in any other. */
export function projectionsOf({ model, training, layout }: CostInputs): Projections {
  const { query, key, value, output, gate } = attentionWidths(model, layout.tensor);
  const { hidden, latent, heads } = model;
  const width = query + key + value + gate;
  if (!latent) return (rows) => ({ before: [[rows, width, hidden]], up: [], out: [rows, hidden, output] });
  const keysAndValues = (heads / layout.tensor) * (latent.nopeHeadDim + latent.vHeadDim);
  return (rows) => {
    const share = training.sequenceParallel ? rows / layout.tensor : rows;
    return {
      before: [
        ...(latent.qRank === null ? [] : [[share, latent.qRank, hidden] as const]),
        [share, latent.kvRank + latent.ropeHeadDim, hidden],
      ],
      up: [
        [rows, query, latent.qRank ?? hidden],
        [rows, keysAndValues, latent.kvRank],
      ],
      out: [rows, hidden, output],
    };
  };
}

import { parameterCount } from '../../model/parameters';
import type { Run } from '../run';
import { modelSpecOf } from '../written-model';

/** Parameters of a run's model, elements, tied embeddings counted once; null for kinds of models whose weights are not counted (encoders, layers that are not attention, types we do not know). */
export function parametersOf({ model, traits, unplanned }: Run): number | null {
  return unplanned === undefined ? parameterCount(modelSpecOf(model, traits)) : null;
}

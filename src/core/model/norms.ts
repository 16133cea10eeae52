import type { ModelSpec } from '../domain/model';

/** Parameters of a norm for each element: weight and bias, or only weight. */
export function normParameters({ norm, normParameters: given }: Pick<ModelSpec, 'norm' | 'normParameters'>): number {
  return given ?? (norm === 'layernorm' ? 2 : 1);
}

/** Parameters of the norm after the last layer, and of that after the encoder where there is one. */
export function finalNormParameters(model: ModelSpec): number {
  return model.stacks?.finalNorms === false ? 0 : model.hidden * normParameters(model);
}

/** Parameters of the norm of an embedding. */
export function embeddingNormParameters(model: ModelSpec): number {
  return model.embeddingNorm === true ? model.hidden * normParameters(model) : 0;
}

import type { ModelSpec } from '../domain/model';
import { usualKind } from './layers';

/**
 * Every field of a model by its path, dotted (`rotary.base`), apart from those that mean nothing next to the others: models with equal
 * fields are the same.
 */
export function modelFields(model: ModelSpec): ReadonlyMap<string, unknown> {
  const { latent, layerKinds, denseFfn, rotary, smallParameters, state, ...rest } = model;
  const isLatent = (latent ?? null) !== null;
  const kinds = layerKinds ?? Array.from({ length: model.layers }, () => usualKind(model));
  const { share = 1, ...otherRotary } = rotary ?? {};
  const found = new Map<string, unknown>();
  add(found, '', {
    ...rest,
    modelType: null,
    // how many tokens kernels work on at once changes no result
    state: state === undefined ? null : { ...state, chunk: null },
    ...(isLatent ? { latent, kvHeads: null, headDim: null } : {}),
    // positions that are not learned bound no weights
    maxPositions: model.positions === 'learned' ? model.maxPositions : null,
    normsPerLayer: model.normsPerLayer ?? 2,
    denseFfn: kinds.some(({ feedForward }) => feedForward === 'dense') && model.experts !== null ? (denseFfn ?? model.ffn) : null,
    ...(model.positions === 'rotary' && { rotary: { ...otherRotary, ...(share === 1 ? {} : { share }) } }),
  });
  found.set(
    'layerKinds',
    kinds.map(({ feedForward, window, mixer = 'attention' }) => [feedForward, window, mixer].join()),
  );
  if (Object.values(smallParameters ?? {}).some((count) => count !== 0)) found.set('smallParameters', smallParameters);
  return found;
}

function add(found: Map<string, unknown>, path: string, value: unknown): void {
  if (value === undefined || value === null || value === false) return;
  if (typeof value !== 'object' || Array.isArray(value)) found.set(path, value);
  else for (const [key, inner] of Object.entries(value)) add(found, path === '' ? key : `${path}.${key}`, inner);
}

/** Paths of the fields in which two models differ. */
export function differentFields(one: ModelSpec, other: ModelSpec): readonly string[] {
  const [first, second] = [modelFields(one), modelFields(other)];
  const paths = [...new Set([...first.keys(), ...second.keys()])];
  return paths.filter((path) => JSON.stringify(first.get(path)) !== JSON.stringify(second.get(path)));
}

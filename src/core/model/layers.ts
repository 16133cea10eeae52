import type { LayerKind, ModelSpec } from '../domain/model';

/** Consecutive layers of one kind. */
export interface LayerGroup {
  readonly kind: LayerKind;
  readonly layers: number;
}

const dense: LayerKind = { feedForward: 'dense', window: null };
const routed: LayerKind = { feedForward: 'experts', window: null };

/**
 * The kind of every layer of a model whose layers are alike; of its layers with experts otherwise; of its first layer where some have a
 * state.
 */
export function usualKind({ experts, state, layerKinds }: Pick<ModelSpec, 'experts' | 'state' | 'layerKinds'>): LayerKind {
  const [first] = state === undefined ? [] : (layerKinds ?? []);
  return first ?? (experts === null ? dense : routed);
}

/**
 * Layers `from` to `to` (exclusive) of a model, joined where they are alike, in order. Layers beyond those that the model describes are as
 * the last one it does.
 */
export function layerGroups(model: ModelSpec, from = 0, to = model.layers): LayerGroup[] {
  const { layerKinds } = model;
  if (layerKinds === undefined || layerKinds.length === 0) return [{ kind: usualKind(model), layers: to - from }];
  const groups: LayerGroup[] = [];
  for (let layer = from; layer < to; layer++) {
    const kind = layerKinds[Math.min(layer, layerKinds.length - 1)] ?? usualKind(model);
    const last = groups.at(-1);
    if (last !== undefined && sameKind(last.kind, kind)) groups[groups.length - 1] = { kind, layers: last.layers + 1 };
    else groups.push({ kind, layers: 1 });
  }
  return groups;
}

/**
 * What layers `from` to `to` (exclusive) are where those of a model differ: their kinds, and whether the encoder ends or the decoder begins
 * among them. Nothing where all are alike.
 */
export function partOfModel(
  model: ModelSpec,
  from = 0,
  to = model.layers,
): { readonly groups?: readonly LayerGroup[]; readonly encoderEnd?: true; readonly decoderStart?: true } {
  const { layerKinds, stacks } = model;
  if (layerKinds === undefined) return {};
  const turn = stacks?.encoderLayers ?? 0;
  return {
    groups: layerGroups(model, from, to),
    ...(turn > from && turn <= to ? { encoderEnd: true } : {}),
    ...(turn >= from && turn < to && turn > 0 ? { decoderStart: true } : {}),
  };
}

/** Whether layers of two kinds cost and hold the same. */
export function sameKind(a: LayerKind, b: LayerKind): boolean {
  return (
    a.feedForward === b.feedForward && a.window === b.window && (a.mixer ?? 'attention') === (b.mixer ?? 'attention') && a.stack === b.stack
  );
}

/** How many layers there are of each kind, wherever they lie. */
export function layersByKind(groups: readonly LayerGroup[]): LayerGroup[] {
  const kinds: LayerGroup[] = [];
  for (const group of groups) {
    const index = kinds.findIndex(({ kind }) => sameKind(kind, group.kind));
    const found = kinds[index];
    if (found === undefined) kinds.push(group);
    else kinds[index] = { ...found, layers: found.layers + group.layers };
  }
  return kinds;
}

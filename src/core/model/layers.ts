import type { LayerKind, ModelSpec } from '../domain/model';
import { memoized } from '../records';

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
export function layerGroups(model: ModelSpec, from = 0, to = model.layers): readonly LayerGroup[] {
  const { layerKinds } = model;
  if (layerKinds === undefined || layerKinds.length === 0) return [{ kind: usualKind(model), layers: to - from }];
  const known = memoized(knownParts, layerKinds, () => ({ parts: new Map<string, readonly LayerGroup[]>(), count: 0 }));
  return memoized(known.parts, `${from} ${to}`, () => {
    if (known.count > mostKnownGroups) {
      known.parts.clear();
      known.count = 0;
    }
    const groups = joinAlike(layerKinds, from, to);
    known.count += groups.length;
    return groups;
  });
}

/** Groups of parts of a model, which candidates of a plan share. */
const knownParts = new WeakMap<readonly LayerKind[], { readonly parts: Map<string, readonly LayerGroup[]>; count: number }>();
const mostKnownGroups = 100_000;

function joinAlike(layerKinds: readonly LayerKind[], from: number, to: number): LayerGroup[] {
  const groups: { kind: LayerKind; layers: number }[] = [];
  let last: { kind: LayerKind; layers: number } | null = null;
  for (let layer = from; layer < to; layer++) {
    const kind = layerKinds[Math.min(layer, layerKinds.length - 1)];
    if (kind === undefined) continue;
    if (last !== null && sameKind(last.kind, kind)) {
      last.kind = kind;
      last.layers++;
    } else groups.push((last = { kind, layers: 1 }));
  }
  return groups;
}

/** The sum over all layers, in order, of what each has; worked out once a kind. */
export function sumOverGroups(groups: readonly LayerGroup[], ofKind: (kind: LayerKind) => number): number {
  const known = new Map<string, number>();
  let sum = 0;
  for (const { kind, layers } of groups)
    sum += layers * memoized(known, `${kind.stack ?? ''} ${kind.feedForward} ${kind.mixer ?? ''} ${kind.window ?? ''}`, () => ofKind(kind));
  return sum;
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
export function layersByKind(groups: readonly LayerGroup[]): readonly LayerGroup[] {
  return memoized(knownCounts, groups, () => {
    const kinds: { kind: LayerKind; layers: number }[] = [];
    for (const { kind, layers } of groups) {
      const found = kinds.find((other) => sameKind(other.kind, kind));
      if (found === undefined) kinds.push({ kind, layers });
      else found.layers += layers;
    }
    return kinds;
  });
}

const knownCounts = new WeakMap<readonly LayerGroup[], readonly LayerGroup[]>();

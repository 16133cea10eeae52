import type { LayerKind, LatentAttention } from '../model/spec';
import type { Facts } from './facts';
import type { ModelTraits } from './written-model';

/**
 * What files say of a model beyond its sizes, as planning takes it: latent attention, shared experts, layers without experts among those with them, windows of attention. Empty for
 * a model whose layers are alike.
 * @param ofFamily what every model of the family has besides.
 */
export function traitsOf(facts: Facts, ofFamily: ModelTraits = {}): ModelTraits {
  const latent = latentOf(facts);
  const kinds = layerKindsOf(facts);
  const sharedFfn = facts.sharedExpertFfn?.value ?? (facts.sharedExperts?.value ?? 0) * (facts.expertFfn?.value ?? facts.ffn?.value ?? 0);
  const experts = { ...ofFamily.experts, ...(sharedFfn > 0 ? { sharedFfn } : {}) };
  return {
    ...ofFamily,
    ...(latent === null ? {} : { latent }),
    ...(kinds === null ? {} : { layerKinds: kinds }),
    ...((facts.mtpLayers?.value ?? 0) > 0 ? { mtpLayers: facts.mtpLayers?.value ?? 0 } : {}),
    ...(Object.keys(experts).length === 0 ? {} : { experts }),
  };
}

/** The sizes of latent attention; null without it, and where a size is missing. */
export function latentOf(facts: Facts): LatentAttention | null {
  const { latentAttention, qLoraRank, kvLoraRank, qkNopeHeadDim, qkRopeHeadDim, vHeadDim } = facts;
  if (latentAttention?.value !== true || !kvLoraRank || !qkNopeHeadDim || !qkRopeHeadDim || !vHeadDim) return null;
  return {
    qRank: qLoraRank?.value ?? null,
    kvRank: kvLoraRank.value,
    nopeHeadDim: qkNopeHeadDim.value,
    ropeHeadDim: qkRopeHeadDim.value,
    vHeadDim: vHeadDim.value,
  };
}

/** The kind of every layer; null where all are alike and attend to the whole sequence. */
function layerKindsOf(facts: Facts): LayerKind[] | null {
  const layers = facts.layers?.value;
  if (layers === undefined) return null;
  const dense = denseLayersOf(facts, layers);
  const windows = windowsOf(facts, layers);
  if (dense === null && windows === null) return null;
  const usual = facts.experts === undefined ? 'dense' : 'experts';
  return Array.from({ length: layers }, (_, layer) => ({
    feedForward: dense?.[layer] === true ? 'dense' : usual,
    window: windows?.[layer] ?? null,
  }));
}

/** Whether each layer is one without experts; null when all have them, or the model has none. */
function denseLayersOf(facts: Facts, layers: number): boolean[] | null {
  if (facts.experts === undefined) return null;
  const listed = new Set(facts.denseLayers?.value);
  const first = facts.firstDenseLayers?.value ?? 0;
  const step = Math.max(1, facts.decoderSparseStep?.value ?? 1);
  const pattern = frequencyPattern(facts.moeLayerFrequency?.value ?? '1', layers) ?? [];
  const dense = Array.from(
    { length: layers },
    (_, layer) => layer < first || listed.has(layer) || (layer + 1) % step !== 0 || pattern[layer % Math.max(1, pattern.length)] === 0,
  );
  return dense.includes(true) ? dense : null;
}

/** The window of each layer in tokens, null where it has none; null when no layer has one. */
function windowsOf({ slidingWindow, slidingWindowActive, attentionKinds }: Facts, layers: number): (number | null)[] | null {
  if (slidingWindow === undefined || slidingWindowActive?.value !== true) return null;
  const kinds = attentionKinds?.value;
  const windows = Array.from({ length: layers }, (_, layer) =>
    kinds === undefined || kinds[Math.min(layer, kinds.length - 1)] === 'sliding_attention' ? slidingWindow.value : null,
  );
  return windows.some((window) => window !== null) ? windows : null;
}

const mostLayers = 10_000;
/** Longer expressions are not read: nested brackets would exhaust the stack. */
const mostTokens = 2000;

/**
 * Megatron-LM's `--moe-layer-freq`: a period n (every n-th layer from the first has experts), or a Python list expression such as `([0]*3+[1]*11)` of ones and zeros.
 * @returns ones and zeros, one per layer of a period or of the model; null for what is neither.
 */
export function frequencyPattern(written: string, layers: number): readonly number[] | null {
  const text = written.replaceAll(/\s/g, '');
  if (/^\d{1,5}$/.test(text)) return Array.from({ length: layers }, (_, layer) => (layer % Math.max(1, Number(text)) === 0 ? 1 : 0));
  const tokens: readonly string[] = text.match(/\d+|[[\](),*+]/g) ?? [];
  if (tokens.join('') !== text || tokens.length > mostTokens) return null;
  let at = 0;
  const sum = (): number[] | null => {
    let total = product();
    while (total !== null && tokens[at] === '+') {
      at += 1;
      const next: number[] | null = product();
      total = next === null || total.length + next.length > mostLayers ? null : [...total, ...next];
    }
    return total;
  };
  const product = (): number[] | null => {
    let list = part();
    while (list !== null && tokens[at] === '*') {
      const times = Number(tokens[at + 1]);
      at += 2;
      const repeated: readonly number[] = list;
      list = times >= 0 && times * repeated.length <= mostLayers ? Array.from({ length: times }, () => repeated).flat() : null;
    }
    return list;
  };
  const part = (): number[] | null => {
    const open = tokens[at];
    at += 1;
    if (open === '(') {
      const inner = sum();
      at += 1;
      return tokens[at - 1] === ')' ? inner : null;
    }
    if (open !== '[') return null;
    const close = tokens.indexOf(']', at);
    const items = tokens.slice(at, close).filter((token) => token !== ',');
    at = close + 1;
    return close < 0 || items.some((item) => item !== '0' && item !== '1') ? null : items.map(Number);
  };
  const pattern = sum();
  return pattern === null || at < tokens.length || pattern.length === 0 ? null : pattern;
}

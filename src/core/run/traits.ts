import type { LayerKind, LatentAttention, Mixer, Rotary, StateMixer } from '../domain/model';
import { detailNames, isNoDetail } from '../domain/settings/model-details';
import type { Facts } from './facts';
import { mostLayers } from '../domain/settings/setting';
import type { ModelTraits } from './written-model';
import { own } from '../records';

/** A mixer with a state, and whether layers are mixers and feed-forward networks in turn instead of both. */
export interface Hybrid {
  readonly state: StateMixer;
  readonly isSingleSublayer: boolean;
}

/**
 * What files set for a model beyond its sizes, as planning takes it: latent attention, shared experts, layers without experts among those
 * with them, windows of attention. Empty for a model whose layers are alike.
 * @param ofFamily what else every model of the family has.
 * @param hybrid what its layers have that do not attend; null: all attend.
 */
export function readModelTraits(facts: Facts, ofFamily: ModelTraits = {}, hybrid: Hybrid | null = null): ModelTraits {
  const latent = latentAttentionSizes(facts);
  const kinds = hybrid === null ? layerKindsFromFacts(facts) : hybridLayerKinds(facts, hybrid);
  const sharedFfn = facts.sharedExpertFfn?.value ?? (facts.sharedExperts?.value ?? 0) * (facts.expertFfn?.value ?? facts.ffn?.value ?? 0);
  const groups = expertGroupLimit(facts);
  const width = facts.expertLatent?.value ?? 0;
  const experts = {
    ...ofFamily.experts,
    ...(sharedFfn > 0 ? { sharedFfn } : {}),
    ...(groups === null ? {} : { groups }),
    ...(width > 0 ? { latent: width } : {}),
    ...(facts.sharedExpertGate?.value === true ? { sharedGate: true } : {}),
    ...(facts.routerBias?.value === true ? { routerBias: true } : {}),
  };
  return {
    ...ofFamily,
    ...(latent === null ? {} : { latent }),
    ...(kinds === null ? {} : { layerKinds: kinds }),
    ...rotaryAndNormTraits(facts),
    ...(facts.attentionSinks?.value === true ? { attentionSinks: true } : {}),
    ...detailTraits(facts),
    ...((facts.mtpLayers?.value ?? 0) > 0 ? { mtpLayers: facts.mtpLayers?.value ?? 0 } : {}),
    ...(hybrid === null ? {} : { state: hybrid.state }),
    ...(Object.keys(experts).length === 0 ? {} : { experts }),
  };
}

function rotaryAndNormTraits({ rotaryBase, rotaryShare, ropeScaling, normEpsilon }: Facts): Pick<ModelTraits, 'rotary' | 'normEpsilon'> {
  const rotary: Rotary = {
    ...(rotaryBase && { base: rotaryBase.value }),
    ...(rotaryShare && { share: rotaryShare.value }),
    ...(ropeScaling && { scaling: ropeScaling.value }),
  };
  return {
    ...(Object.keys(rotary).length > 0 && { rotary }),
    ...(normEpsilon && { normEpsilon: normEpsilon.value }),
  };
}

function detailTraits(facts: Facts): Pick<ModelTraits, 'details'> {
  const given = detailNames.flatMap((name) => {
    const value = facts[name]?.value;
    return value === undefined || isNoDetail(name, value) ? [] : [[name, value] as const];
  });
  return given.length === 0 ? {} : { details: Object.fromEntries(given) };
}

/** Groups of experts to which a token's visits are limited; null without a limit. */
function expertGroupLimit({ experts, routerGroups, routerGroupTopk }: Facts): { count: number; active: number } | null {
  const [count = 0, active = 0] = [routerGroups?.value, routerGroupTopk?.value];
  return active > 0 && active < count && (experts?.value ?? 0) % count === 0 ? { count, active } : null;
}

/** The sizes of latent attention; null without it, and where a size is missing. */
export function latentAttentionSizes(facts: Facts): LatentAttention | null {
  const { latentAttention, qLoraRank, kvLoraRank, qkNopeHeadDim, qkRopeHeadDim, vHeadDim } = facts;
  if (latentAttention?.value !== true || !kvLoraRank || !qkNopeHeadDim || !qkRopeHeadDim || !vHeadDim) return null;
  return {
    qRank: (qLoraRank?.value ?? 0) > 0 ? (qLoraRank?.value ?? null) : null,
    kvRank: kvLoraRank.value,
    nopeHeadDim: qkNopeHeadDim.value,
    ropeHeadDim: qkRopeHeadDim.value,
    vHeadDim: vHeadDim.value,
  };
}

/** The kind of every layer; null where all are alike and attend to the whole sequence. */
function layerKindsFromFacts(facts: Facts): LayerKind[] | null {
  const layers = facts.layers?.value;
  if (layers === undefined) return null;
  const dense = denseLayerFlags(facts, layers);
  const windows = layerWindows(facts, layers);
  if (dense === null && windows === null) return null;
  const usual = facts.experts === undefined ? 'dense' : 'experts';
  return Array.from({ length: layers }, (_, layer) => ({
    feedForward: dense?.[layer] === true ? 'dense' : usual,
    window: windows?.[layer] ?? null,
  }));
}

/** What mixes tokens in layers of a kind, by HuggingFace's names; null for layers of only a feed-forward network and for unknown kinds. */
const mixersByName: Readonly<Record<string, Mixer>> = {
  mamba: 'state',
  linear_attention: 'state',
  hybrid: 'both',
  attention: 'attention',
  full_attention: 'attention',
  sliding_attention: 'attention',
};

/** Whether layers of this kind are planned in a model some of whose layers have a state. */
export function isHybridKind(name: string, isSingleSublayer: boolean): boolean {
  return Object.hasOwn(mixersByName, name) || (isSingleSublayer && (name === 'moe' || name === 'mlp'));
}

function hybridLayerKinds(facts: Facts, { isSingleSublayer }: Hybrid): LayerKind[] {
  const names = facts.attentionKinds?.value ?? [];
  const layers = facts.layers?.value ?? names.length;
  const dense = denseLayerFlags(facts, layers);
  const windows = layerWindows(facts, layers);
  const usual = facts.experts === undefined ? 'dense' : 'experts';
  return Array.from({ length: layers }, (_, layer) => {
    const name = names[Math.min(layer, names.length - 1)] ?? 'mamba';
    const mixer = own(mixersByName, name) ?? (isSingleSublayer ? 'none' : 'attention');
    const window = windows?.[layer] ?? null;
    const network = dense?.[layer] === true ? 'dense' : usual;
    const feedForward = !isSingleSublayer ? network : mixer !== 'none' ? 'none' : name === 'moe' ? 'experts' : 'dense';
    return mixer === 'attention' ? { feedForward, window } : { feedForward, window: mixer === 'both' ? window : null, mixer };
  });
}

/** Whether each layer is one without experts; null when all have them, or the model has none. */
function denseLayerFlags(facts: Facts, layers: number): boolean[] | null {
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
function layerWindows({ slidingWindow, slidingWindowActive, attentionKinds }: Facts, layers: number): (number | null)[] | null {
  if (slidingWindow === undefined || slidingWindowActive?.value !== true) return null;
  const kinds = attentionKinds?.value;
  const windows = Array.from({ length: layers }, (_, layer) =>
    kinds === undefined || kinds[Math.min(layer, kinds.length - 1)] === 'sliding_attention' ? slidingWindow.value : null,
  );
  return windows.some((window) => window !== null) ? windows : null;
}

/** Longer expressions are not read: nested brackets would exhaust the stack. */
const mostTokens = 2000;

/**
 * Megatron-LM's `--moe-layer-freq`: a period n (every n-th layer from the first has experts), or a Python list expression such as
 * `([0]*3+[1]*11)` of ones and zeros.
 * @returns ones and zeros, one per layer of a period or of the model; null for what is neither.
 */
export function frequencyPattern(written: string, layers: number): readonly number[] | null {
  // quotes of the command line that a YAML's values are put on (Megatron-MoE-ModelZoo)
  const text = written.replaceAll(/\s/g, '').replace(/^(['"])(.*)\1$/, '$2');
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
      list = times >= 0 && times * Math.max(1, repeated.length) <= mostLayers ? Array.from({ length: times }, () => repeated).flat() : null;
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

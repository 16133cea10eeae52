import { stateKinds, type StateMixer } from '../../domain/model';
import { isRecurrentKind } from '../../model/mixers';
import type { Facts, FactValues } from '../../run/facts';
import { frequencyPattern, type Hybrid } from '../../run/traits';
import { own } from '../../records';

/*
 * Hybrids as Megatron-LM's flags write them. Source: `mamba_hybrid_layer_allocation`, `MambaMixer`, `GatedDeltaNet` and the
 * `TransformerConfig` of core 0.16; `|` for stages, `/` for multi-token prediction and `G` as newer versions of the same module document
 * them.
 */

/** Megatron's letters, and the same in HuggingFace's names. */
const letterNames: Readonly<Record<string, string>> = { M: 'mamba', G: 'linear_attention', '*': 'attention', '-': 'mlp', E: 'moe' };

/** The layers of a hybrid. */
interface HybridLayers {
  /** One letter for each, in order. */
  readonly letters: string;
  /** Layers of each stage, virtual stages included, where the pattern divides them; null: it does not. */
  readonly stages: readonly number[] | null;
  /** Depths of multi-token prediction, whose layers come after the others. */
  readonly depths: number;
}

/** Takes a `--hybrid-layer-pattern` apart; null for letters that are not known here, and for a pattern without layers. */
export function parseHybridPattern(pattern: string): HybridLayers | null {
  const [main = '', ...prediction] = pattern.trim().split('/');
  const letters = main.replaceAll('|', '');
  if (letters === '' || Array.from(letters).some((letter) => !Object.hasOwn(letterNames, letter))) return null;
  const stages = main.includes('|') ? main.split('|').map((stage) => stage.length) : null;
  return { letters, stages, depths: prediction.length };
}

/**
 * The pattern that Megatron-LM makes of shares: layers of attention spread evenly between Mamba layers, then feed-forward networks in place
 * of Mamba layers, evenly and to the right (`_allocate_auto`).
 * @param attention share of all layers, 0..1; `mlp` likewise.
 */
export function patternOfRatios(layers: number, attention: number, mlp: number): string {
  const attending = roundHalfEven(layers * attention);
  const networks = roundHalfEven(layers * mlp);
  const letters = Array.from({ length: layers }, () => 'M');
  const spread = (step: number, letter: string): void => {
    let left = step;
    letters.forEach((present, layer) => {
      if (present !== 'M') return;
      if (left < 0.5) {
        letters[layer] = letter;
        left += step;
      } else left -= 1;
    });
  };
  spread((layers - attending) / (attending + 1), '*');
  if (networks > 0) spread((layers - attending - networks) / networks, '-');
  return letters.join('');
}

/** As Python rounds. */
function roundHalfEven(value: number): number {
  const floor = Math.floor(value);
  if (value - floor !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}

/** Whether the flags describe a hybrid at all: by a pattern, by shares, or by linear attention in some layers. */
export function isHybrid({ hybridPattern, hybridAttentionRatio, hybridMlpRatio, linearAttentionFrequency }: Facts): boolean {
  return [hybridPattern, hybridAttentionRatio, hybridMlpRatio, linearAttentionFrequency].some((fact) => fact !== undefined);
}

/** What Megatron-LM takes of a hybrid's state where flags leave it open. */
export function stateDefaults(facts: Facts): Partial<FactValues> {
  const { hidden, stateHeadDim, linearAttentionFrequency, hybridPattern } = facts;
  if (linearAttentionFrequency !== undefined || /^[^M]*G[^M]*$/.test(hybridPattern?.value ?? ''))
    return { stateKind: 'gated-delta-net', stateHeads: 32, stateHeadDim: 128, stateDim: 128, stateGroups: 16, stateConvolution: 4 };
  const headDim = stateHeadDim?.value ?? 64;
  return {
    stateKind: 'mamba2',
    stateHeadDim: headDim,
    stateDim: 128,
    stateGroups: 8,
    stateConvolution: 4,
    ...(hidden && { stateHeads: Math.max(1, Math.floor((2 * hidden.value) / headDim)) }),
  };
}

/**
 * What a launcher's flags set for the layers with a state and for the kinds of all layers; null where they describe no hybrid, or one that
 * cannot be read.
 */
export interface HybridRun {
  readonly hybrid: Hybrid;
  readonly layers: number;
  /** Kinds of all layers in HuggingFace's names. */
  readonly kinds: readonly string[];
  readonly depths: number;
}

/** See `HybridRun`. */
export function readHybridRun(facts: Facts): HybridRun | null {
  const state = stateOfFacts(facts);
  if (!isHybrid(facts) || state === null) return null;
  const layers = facts.layers?.value;
  if (facts.linearAttentionFrequency !== undefined) {
    const linear = layers === undefined ? null : frequentLayers(facts.linearAttentionFrequency.value, layers);
    if (layers === undefined || linear === null) return null;
    const kinds = linear.map((is) => (is ? 'linear_attention' : 'full_attention'));
    return { hybrid: { state, isSingleSublayer: false }, layers, kinds, depths: 0 };
  }
  const pattern = facts.hybridPattern?.value;
  const read =
    pattern !== undefined
      ? parseHybridPattern(pattern)
      : layers === undefined
        ? null
        : parseHybridPattern(patternOfRatios(layers, facts.hybridAttentionRatio?.value ?? 0, facts.hybridMlpRatio?.value ?? 0));
  // States of two kinds in one model have no word here.
  if (read === null || (read.letters.includes('M') && read.letters.includes('G'))) return null;
  const kinds = Array.from(read.letters, (letter) => own(letterNames, letter) ?? 'mamba');
  return { hybrid: { state, isSingleSublayer: true }, layers: kinds.length, kinds, depths: read.depths };
}

/**
 * All layers except every n-th, or the layers that have a one in a list of ones and zeros (`linear_attention_freq`,
 * `window_attn_skip_freq`); null for any other text.
 */
export function frequentLayers(written: string, layers: number): readonly boolean[] | null {
  if (/^\d{1,5}$/.test(written.trim())) {
    const period = Math.max(1, Number(written));
    return Array.from({ length: layers }, (_, layer) => (layer + 1) % period !== 0);
  }
  const pattern = frequencyPattern(written, layers);
  return pattern?.length === layers ? pattern.map((one) => one === 1) : null;
}

function stateOfFacts(facts: Facts): StateMixer | null {
  const defaults = stateDefaults(facts);
  const of = <K extends keyof FactValues>(name: K): FactValues[K] | undefined => facts[name]?.value ?? defaults[name];
  const [kind, heads, headDim, stateDim] = [of('stateKind'), of('stateHeads'), of('stateHeadDim'), of('stateDim')];
  if (kind === undefined || !stateKinds.includes(kind) || heads === undefined || headDim === undefined || stateDim === undefined)
    return null;
  const isMamba = kind === 'mamba2';
  return {
    kind,
    heads,
    headDim,
    stateDim,
    groups: of('stateGroups') ?? 1,
    convolution: of('stateConvolution') ?? 4,
    chunk: isMamba ? 128 : 64,
    convolutionBias: isMamba,
    projectionBias: false,
    normParameters: isMamba ? heads * headDim : isRecurrentKind(kind) ? 0 : headDim,
  };
}

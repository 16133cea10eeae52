import type { LayerKind, ModelSpec, StateKind, StateMixer } from '../../src/core/domain/model';
import { llama3 } from './requests';

/** A mixer with a state of small sizes. */
export function stateOfKind(kind: StateKind): StateMixer {
  const shared = { kind, convolution: 4, convolutionBias: true, projectionBias: false } as const;
  switch (kind) {
    case 'mamba':
      return { ...shared, heads: 2048, headDim: 1, stateDim: 16, groups: 1, chunk: 2048, stepRank: 64, normParameters: 0 };
    case 'mamba2':
      return { ...shared, heads: 32, headDim: 64, stateDim: 128, groups: 8, chunk: 128, normParameters: 2048 };
    case 'gated-delta-net':
      return { ...shared, heads: 16, headDim: 128, stateDim: 128, groups: 8, chunk: 64, convolutionBias: false, normParameters: 128 };
    case 'lightning':
      return { ...shared, heads: 16, headDim: 64, stateDim: 64, groups: 16, chunk: 256, convolution: 0, normParameters: 1024 };
    case 'rg-lru':
    case 'min-gru':
    case 'min-lstm':
      return { ...shared, heads: 16, headDim: 128, stateDim: 1, groups: 1, chunk: 64, convolutionBias: false, normParameters: 0 };
  }
}

const letters: Readonly<Record<string, LayerKind>> = {
  M: { feedForward: 'none', window: null, mixer: 'state' },
  '*': { feedForward: 'none', window: null },
  '-': { feedForward: 'dense', window: null, mixer: 'none' },
  E: { feedForward: 'experts', window: null, mixer: 'none' },
  S: { feedForward: 'dense', window: null, mixer: 'state' },
  A: { feedForward: 'dense', window: null },
  B: { feedForward: 'dense', window: null, mixer: 'both' },
  X: { feedForward: 'experts', window: null, mixer: 'state' },
};

/**
 * A small hybrid: layers as Megatron-LM writes them; S, A and B have a state, attention or both with a feed-forward network, X a state
 * with experts.
 */
export function hybrid(pattern: string, kind: StateKind = 'mamba2'): ModelSpec {
  const layerKinds = Array.from(pattern, (letter) => letters[letter]!);
  const hasExperts = layerKinds.some(({ feedForward }) => feedForward === 'experts');
  return {
    ...llama3('70b', layerKinds.length),
    modelType: 'hybrid',
    hidden: 1024,
    heads: 16,
    kvHeads: 8,
    headDim: 64,
    vocab: 32000,
    layerKinds,
    state: stateOfKind(kind),
    ...(hasExperts ? { ffn: 512, denseFfn: 4096, experts: { count: 8, active: 2 } } : { ffn: 4096 }),
  };
}

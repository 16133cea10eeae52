import { elementBytes, inputBytes } from '../domain/number-formats';
import { isRecurrentKind, stateWidths } from '../model/mixers';
import type { StateMixer } from '../domain/model';
import type { MemoryInputs } from '../domain/request';

/*
 * What a mixer with a state keeps for its backward. Mamba-2 under Megatron-LM core 0.16 (`MambaMixer`) with mamba-ssm 2.3:
 * `MambaSplitConv1dScanCombinedFn` keeps its whole input and the ungated output, and makes convolution and chunk states again; the norm
 * after it and the output projection keep what they read. Mamba: `MambaInnerFn`, which makes convolution and step sizes again, and where
 * norms lie between its projections (Jamba) the plain `SelectiveScanFn`. Gated DeltaNet: `GatedDeltaNet` of core 0.16 with
 * flash-linear-attention 0.6. Lightning attention is nowhere in them: each tensor between its operations; so of
 * recurrent networks, with what the scan reads and writes.
 */

/** Tokens between the states that the selective scan of Mamba keeps (`selective_scan_cuda`). */
const scanChunk = 2048;

/** Saved for each token of a rank, bytes; the layer's input and its norm apart. */
export function stateSaved({ training, layout }: MemoryInputs, state: StateMixer): number {
  const element = elementBytes(training);
  const { heads, value: v, key: k, projected, convolved, steps } = stateWidths(state, layout.tensor);
  const output = inputBytes(training) * v;
  if (state.kind === 'mamba2') return element * (projected + 2 * v) + output;
  if (state.kind === 'mamba') {
    const states = (8 * state.stateDim * v) / scanChunk;
    const read = steps + 2 * state.stateDim;
    return state.normParameters === 0
      ? element * (projected + v + read) + states
      : element * (projected + 3 * v + read + steps) + output + states;
  }
  if (state.kind === 'lightning') return element * (3 * (v + 2 * k)) + output;
  if (isRecurrentKind(state.kind)) return element * (projected + convolved + steps + 3 * v) + output;
  const repeated = 2 * heads * state.stateDim;
  return element * (convolved + 2 * k + repeated + 4 * v + heads * (state.chunk + 1)) + 4 * heads + output;
}

/** Bytes of the tensors that the backward of a mixer with a state handles on one rank. */
export interface StateSizes {
  readonly projected: number;
  readonly convolved: number;
  /** Output of the mixer, and input of its output projection. */
  readonly value: number;
  /** Of all chunks and their gradients, in fp32. */
  readonly states: number;
}

/** @param rows tokens of a rank; `tokens` of each sequence at once. */
export function stateSizes({ training, layout }: MemoryInputs, state: StateMixer, rows: number, tokens: number): StateSizes {
  const { projected, convolved, value } = stateWidths(state, layout.tensor);
  const perElement = elementBytes(training) * rows;
  const chunk = state.kind === 'mamba' ? scanChunk : Math.min(state.chunk, tokens);
  return {
    projected: perElement * projected,
    convolved: perElement * convolved,
    value: perElement * value,
    states: (8 * rows * value * state.stateDim) / chunk,
  };
}

/**
 * What the backward of a state holds in addition to what its layer saved: gradients of its output and of everything projected, what the
 * convolution gave and its gradient, and the states of the chunks.
 */
export function stateWorkingSet({ projected, convolved, value, states }: StateSizes): number {
  return value + projected + 2 * convolved + states;
}

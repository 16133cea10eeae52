import type { LayerKind, ModelSpec, RecurrentKind, StateKind, StateMixer } from '../domain/model';

/*
 * Layers that hand a state of fixed size from token to token. Weight shapes: the Mamba, Mamba2, FalconMamba, Jamba, Bamba, NemotronH,
 * GraniteMoeHybrid, Qwen3Next, FalconH1 and MiniMax classes of transformers 5.23, whose counts the tests hold; of recurrent networks
 * `apps/fastRNN` of facebookresearch/lingua at 437d680. How tensor parallelism divides them: `MambaMixer` and `GatedDeltaNet` of
 * Megatron-LM core 0.16.
 */

/** Whether a layer has keys and values of every token. */
export function hasAttention({ mixer }: LayerKind): boolean {
  return mixer === undefined || mixer === 'attention' || mixer === 'both';
}

/** The mixer with a state of a layer; null when it has none. */
export function layerStateMixer({ state }: ModelSpec, { mixer }: LayerKind): StateMixer | null {
  return (mixer === 'state' || mixer === 'both') && state !== undefined ? state : null;
}

/**
 * Parts of a layer with a norm and a residual of their own: a mixer (attention and a state side by side are one), a feed-forward network.
 */
export function sublayers({ mixer, feedForward }: LayerKind): number {
  return (mixer === 'none' ? 0 : 1) + (feedForward === 'none' ? 0 : 1);
}

/**
 * Norms of a layer that belong to its state: Megatron-LM recomputes only those of Transformer layers (`--recompute-modules layernorm`).
 */
export function normOfState({ mixer }: LayerKind): number {
  return mixer === 'state' ? 1 : 0;
}

/** Widths that one rank has of a mixer with a state, elements a token. */
export interface StateWidths {
  readonly heads: number;
  /** Of all values: the channels of Mamba. */
  readonly value: number;
  /** Of what writes the state (B, keys), and as much of what reads it. */
  readonly key: number;
  /** Of the input projection: gate, values, what writes and reads, and step sizes or decays. */
  readonly projected: number;
  /** Channels of the convolution. */
  readonly convolved: number;
  /** Of the second projection: of Mamba to step size, B and C, of RG-LRU to its two gates; 0 for the others. */
  readonly steps: number;
}

/** What one of `tensor` ranks has: a share of the heads, and of the groups, or one whole group where there are more ranks than groups. */
export function stateWidths(state: StateMixer, tensor: number): StateWidths {
  const heads = state.heads / tensor;
  const value = heads * state.headDim;
  const isRecurrent = isRecurrentKind(state.kind);
  const key = isRecurrent ? 0 : Math.max(1, state.groups / tensor) * state.stateDim;
  const projected = {
    mamba: 2 * value,
    mamba2: 2 * (value + key) + heads,
    'gated-delta-net': 2 * (value + key + heads),
    lightning: 2 * (value + key),
    'rg-lru': 2 * value,
    'min-gru': 3 * value,
    'min-lstm': 4 * value,
  };
  const ofInput = state.kind === 'mamba' ? value : state.kind === 'min-lstm' ? 2 * value : value + 2 * key;
  const convolved = state.convolution === 0 ? 0 : ofInput;
  const steps = state.kind === 'mamba' ? (state.stepRank ?? 0) + 2 * state.stateDim : state.kind === 'rg-lru' ? 2 * value : 0;
  return { heads, value, key, projected: projected[state.kind], convolved, steps };
}

/** Whether a mixer is a recurrent network: see `RecurrentKind`. */
export function isRecurrentKind(kind: StateKind): kind is RecurrentKind {
  return kind === 'rg-lru' || kind === 'min-gru' || kind === 'min-lstm';
}

/** Weights of the GEMMs of a mixer with a state on one of `tensor` ranks: input, step size, output. */
export function stateMatrixParameters({ hidden }: ModelSpec, state: StateMixer, tensor: number): number {
  const { projected, value, steps } = stateWidths(state, tensor);
  return hidden * projected + value * (steps + (state.stepRank ?? 0)) + value * hidden;
}

/** Everything else that it learns, whole: convolution, decays, step sizes, skips, norms, biases. */
export function stateOtherParameters({ hidden }: ModelSpec, state: StateMixer): number {
  const { heads, value, projected, convolved } = stateWidths(state, 1);
  const ownOfKind = {
    mamba: value * (state.stateDim + 2),
    mamba2: 3 * heads,
    'gated-delta-net': 2 * heads,
    lightning: 0,
    // the decay of each value of a head
    'rg-lru': state.headDim,
    'min-gru': 0,
    'min-lstm': 0,
  };
  const convolution = convolved * (state.convolution + (state.convolutionBias ? 1 : 0));
  return ownOfKind[state.kind] + convolution + state.normParameters + (state.projectionBias ? projected + hidden : 0);
}

/**
 * FLOPs a token that the state itself takes, forward: 7 for each of its elements (Mamba) and 8 with the convolution (Gated DeltaNet), as
 * `num_floating_point_operations` of Megatron-LM counts them; a product to write and one to read lightning attention's, which it does not
 * know; a product and a sum for each element of a recurrent network.
 */
export function stateFlops(state: StateMixer): number {
  const { value, convolved } = stateWidths(state, 1);
  const elements = value * state.stateDim;
  if (state.kind === 'gated-delta-net') return 8 * elements + 2 * state.convolution * convolved;
  if (isRecurrentKind(state.kind)) return 2 * elements + 2 * state.convolution * convolved;
  return (state.kind === 'lightning' ? 4 : 7) * elements;
}

/**
 * Bytes of the states of `batch` sequences on one of `tensor` ranks, in fp32, and of the tokens that the convolution looks back on, of
 * `element` bytes.
 */
export function stateBytes(state: StateMixer, tensor: number, batch: number, element: number): number {
  const { value, convolved } = stateWidths(state, tensor);
  return batch * (4 * value * state.stateDim + element * Math.max(0, state.convolution - 1) * convolved);
}

/**
 * Whether `tensor` ranks can share the heads of all layers. Attention: heads in all stacks, with key/value heads that divide or repeat. SSM
 * and linear attention: groups that divide (`MambaMixer`, `GatedDeltaNet`). No launcher divides Mamba's first version or a
 * recurrent network.
 */
export function splitsHeads(model: ModelSpec, tensor: number): boolean {
  const { heads, kvHeads, latent, state, stacks } = model;
  const keyValue = latent ? heads : kvHeads;
  const attends = state === undefined || (model.layerKinds ?? []).some(hasAttention);
  const splitsAttention =
    heads % tensor === 0 && (stacks?.decoderHeads ?? heads) % tensor === 0 && (keyValue % tensor === 0 || tensor % keyValue === 0);
  return (!attends || splitsAttention) && (state === undefined || splitsState(state, tensor));
}

/** Whether tensor parallelism of this size divides heads (or repeats those of keys and values) and widths. */
export function splitsModel(model: ModelSpec, tensor: number): boolean {
  const { hidden, ffn, denseFfn, experts, stacks } = model;
  const widths = [
    hidden,
    // experts may be divided by a size of their own: see expertSizes
    experts === null ? ffn : tensor,
    denseFfn ?? tensor,
    experts?.sharedFfn ?? tensor,
    stacks?.decoderFfn ?? tensor,
    stacks?.decoderHeads ?? tensor,
  ];
  return widths.every((width) => width % tensor === 0) && splitsHeads(model, tensor);
}

/** Whether this many ranks of tensor and context parallelism share out the heads alike, as all-to-all needs, which hands them on. */
export function sharesHeads({ heads, kvHeads }: Pick<ModelSpec, 'heads' | 'kvHeads'>, ranks: number): boolean {
  return heads % ranks === 0 && kvHeads % ranks === 0;
}

/** Whether `tensor` ranks can share a mixer with a state. */
export function splitsState({ kind, heads, groups }: StateMixer, tensor: number): boolean {
  return kind === 'mamba' || isRecurrentKind(kind) ? tensor === 1 : heads % tensor === 0 && groups % tensor === 0;
}

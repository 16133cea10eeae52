import { elementBytes } from '../domain/number-formats';
import { stateWidths, type StateWidths } from '../model/mixers';
import type { StateMixer } from '../domain/model';
import { allReduceSeconds, nodeBusBandwidth } from './collectives';
import type { CostInputs, DeviceRates } from './rates';
import { addBackward, addOperation, addProduct, type Tally } from './tally';

/*
 * Time of a mixer with a state. Each kernel reads and writes device memory and, except for Mamba's first version, multiplies matrices of
 * one chunk of tokens: the slower of the two counts. Which tensors each one moves was read from mamba-ssm 2.3
 * (`_mamba_chunk_scan_combined_fwd` and `_bwd`, `selective_scan_cuda`, `MambaInnerFn`) and flash-linear-attention 0.6
 * (`chunk_gated_delta_rule`); that of lightning attention follows from its algorithm (arXiv 2405.17381), that of recurrent networks from
 * `apps/fastRNN` of lingua, with `accelerated_scan` in two bytes between operations that torch.compile fuses. No kernel of these was
 * measured here. This was checked only against the published throughput of one hybrid (Nemotron 3 Nano, `npm run golden`); the reason of
 * the error bar states that.
 */

/** What one entry of the list does for one token of a rank: FLOPs of GEMMs, bytes moved for two-byte elements. */
interface Work {
  readonly flops: number;
  readonly bytes: number;
}

interface ScanWork {
  readonly forward: readonly Work[];
  readonly backward: readonly Work[];
}

/** Sizes of one chunk on one rank: values v, keys k, state N for each value, q tokens, and scores of q tokens for each group or head. */
interface ChunkSizes {
  readonly v: number;
  readonly k: number;
  readonly n: number;
  readonly q: number;
  readonly heads: number;
}

/**
 * Chunk state and its passing on, in fp32; products inside a chunk, half of them causal; in backward the first two again, and gradients of
 * gate, states, values, keys of both kinds and decays.
 */
function mamba2Work({ v, k, n, q }: ChunkSizes): ScanWork {
  const states = (v * n) / q;
  const scores = (q * k) / n;
  return {
    forward: [
      { flops: 2 * n * v, bytes: 2 * v + 2 * k + 10 * states },
      { flops: 2 * q * k + q * v + 2 * n * v, bytes: 8 * v + 6 * k + 8 * scores + 2 * states },
    ],
    backward: [
      { flops: 2 * n * v + 2 * q * k, bytes: 2 * v + 6 * k + 12 * states + 4 * scores },
      { flops: 0, bytes: 12 * v },
      { flops: 2 * n * v, bytes: 2 * v + 2 * k + 16 * states },
      { flops: q * v + 2 * n * v, bytes: 6 * v + 2 * k + 2 * states + 4 * scores },
      { flops: 4 * n * v, bytes: 4 * v + 12 * k + 4 * states },
      { flops: 2 * q * v + 4 * q * k, bytes: 8 * v + 12 * k + 16 * scores },
    ],
  };
}

/**
 * Keys scored against keys and solved, the two tensors of the WY form, states, outputs; keys and queries repeated for every head of values.
 */
function deltaWork({ v, n, q, heads }: ChunkSizes): ScanWork {
  const k = heads * n;
  const states = (v * n) / q;
  const scores = heads * q;
  return {
    forward: [
      { flops: 2 * q * k + 2 * q * scores, bytes: 10 * k + 10 * scores },
      { flops: 2 * q * (k + v), bytes: 4 * k + 4 * v + 2 * scores },
      { flops: 4 * n * v, bytes: 4 * k + 4 * v + 2 * states },
      { flops: 2 * n * v + 2 * q * (k + v), bytes: 4 * k + 4 * v + 2 * states },
    ],
    backward: [
      { flops: 2 * q * (k + v), bytes: 4 * k + 4 * v + 2 * scores },
      { flops: 4 * n * v, bytes: 4 * k + 4 * v + 2 * states },
      { flops: 2 * q * (k + v), bytes: 4 * k + 4 * v },
      { flops: 6 * n * v, bytes: 6 * k + 6 * v + 2 * states },
      { flops: 8 * n * v + 8 * q * k, bytes: 12 * k + 6 * v + 4 * states },
      { flops: 8 * q * (k + v), bytes: 6 * k + 6 * v + 2 * scores },
      { flops: 0, bytes: 18 * k },
    ],
  };
}

/** Activations of queries, keys and values; products inside a chunk and with the state, in fp32. */
function lightningWork({ v, k, n, q }: ChunkSizes): ScanWork {
  const states = (v * n) / q;
  return {
    forward: [
      { flops: 0, bytes: 4 * (v + 2 * k) },
      { flops: q * (k + v) + 4 * n * v, bytes: 4 * v + 4 * k + 8 * states },
    ],
    backward: [
      { flops: q * (2 * k + 3 * v) + 6 * n * v, bytes: 8 * v + 8 * k + 8 * states },
      { flops: q * (2 * k + v) + 4 * n * v, bytes: 4 * v + 4 * k + 8 * states },
      { flops: 0, bytes: 6 * (v + 2 * k) },
    ],
  };
}

/** One pass of the selective scan, no GEMM in it; backward reads the states that forward kept and makes gate and output again. */
function mambaWork({ v, n }: ChunkSizes): ScanWork {
  return { forward: [{ flops: 0, bytes: 10 * v + 4 * n }], backward: [{ flops: 0, bytes: 18 * v + 12 * n }] };
}

/** Gates to decays and updates, and the scan; backward scans in reverse, then goes back through the gates. */
function gatedWork(read: number): (sizes: ChunkSizes) => ScanWork {
  return ({ v }) => ({
    forward: [
      { flops: 0, bytes: 2 * (read + 2) * v },
      { flops: 0, bytes: 6 * v },
    ],
    backward: [
      { flops: 0, bytes: 10 * v },
      { flops: 0, bytes: 2 * (2 * read + 2) * v },
    ],
  });
}

/**
 * Operations on the elements of Mamba's state for each token and pass, in fp32 on the general units: decay, update and output forward
 * (Megatron-LM counts 7), which backward repeats before it goes back.
 */
const vectorWork = { forward: 7, backward: 7 + 14 } as const;

const mixerWork = {
  mamba: mambaWork,
  mamba2: mamba2Work,
  'gated-delta-net': deltaWork,
  lightning: lightningWork,
  // values and two gates; one gate and what it lets in; two and what they let in
  'rg-lru': gatedWork(3),
  'min-gru': gatedWork(2),
  'min-lstm': gatedWork(3),
} as const;

/**
 * Adds a mixer with a state for `rows` tokens of a rank, `tokens` of each sequence at once: projections, convolution, the kernels of the
 * state, norm and gate. None of it depends on what came before: a slice takes the same wherever it lies. The state that the slice before it
 * left stays on the GPU.
 */
export function addState(sum: Tally, inputs: CostInputs, rates: DeviceRates, state: StateMixer, rows: number, tokens: number): void {
  const { model, layout, cluster } = inputs;
  const { traffic, floor, chunked, linear } = rates;
  const widths = stateWidths(state, layout.tensor);
  const { value: v, key: k, projected, convolved, steps, heads } = widths;
  addProduct(sum, rates, [rows, projected, model.hidden], 1, false);
  if (convolved > 0) addOperation(sum, floor, traffic(4 * rows * convolved), traffic(10 * rows * convolved));
  if (steps > 0) {
    const rank = state.stepRank ?? 0;
    addProduct(sum, rates, [rows, steps, v]);
    if (rank > 0) {
      addProduct(sum, rates, [rows, v, rank]);
      addBackward(sum, floor, linear(rows, v, rank));
    }
  }
  const { forward, backward } = mixerWork[state.kind]({ v, k, n: state.stateDim, q: Math.min(state.chunk, tokens), heads });
  const seconds = ({ flops, bytes }: Work, vector: number): number =>
    Math.max(chunked(rows * flops), traffic(rows * bytes), (rows * vector * v * state.stateDim) / (cluster.gpu.peakTflops.fp32 * 1e12));
  const isMamba = state.kind === 'mamba';
  for (const work of forward) addOperation(sum, floor, seconds(work, isMamba ? vectorWork.forward : 0));
  for (const work of backward) addBackward(sum, floor, seconds(work, isMamba ? vectorWork.backward : 0));
  if (!isMamba) addOperation(sum, floor, traffic(6 * rows * v), traffic(10 * rows * v));
  addProduct(sum, rates, [rows, model.hidden, v]);
}

/**
 * Exchanges inside a mixer with a state, one pass, seconds: heads for tokens by all-to-all under context parallelism, of everything
 * projected and of the output (`MambaContextParallel`), and the sum of Mamba's step sizes, whose matrix tensor parallelism cuts along its
 * rows.
 */
export function ssmCollectiveSeconds({ training, layout, cluster }: CostInputs, state: StateMixer, rows: number): number {
  const { projected, value, steps }: StateWidths = stateWidths(state, layout.tensor);
  const element = elementBytes(training);
  const ranks = layout.context;
  const heads = ranks <= 1 ? 0 : ((ranks - 1) / ranks) * ((element * rows * (projected + value)) / nodeBusBandwidth(cluster.links, ranks));
  return heads + (steps === 0 ? 0 : allReduceSeconds(element * rows * steps, layout.tensor, cluster));
}

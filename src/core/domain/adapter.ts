/**
 * Matrices of a layer that low-rank adapters extend. `qkv` and `gateUp` are several products in one tensor, with one adapter for all of
 * them; `output` is that of attention, `down` the last of a feed-forward network or of an expert; those of `expert...` are only in the
 * routed experts, those of `shared...` only in the shared ones. Those of a state are its input projection, whole or in the parts that
 * libraries keep apart, and its output.
 */
export const adapterTargets = [
  'query',
  'key',
  'value',
  'qkv',
  'queryDown',
  'queryUp',
  'keyValueDown',
  'keyValueUp',
  'output',
  'gate',
  'up',
  'gateUp',
  'down',
  'expertGate',
  'expertUp',
  'expertGateUp',
  'expertDown',
  'sharedGate',
  'sharedUp',
  'sharedGateUp',
  'sharedDown',
  'stateInput',
  'stateValues',
  'stateGate',
  'stateGated',
  'stateWrite',
  'stateDecay',
  'stateSteps',
  'stateOutput',
] as const;
export type AdapterTarget = (typeof adapterTargets)[number];

/** Low-rank adapters (LoRA, arXiv 2106.09685) with frozen weights: only adapters have gradients and optimizer states. */
export interface Adapter {
  /** Columns of the first matrix of each adapter and rows of the second. */
  readonly rank: number;
  readonly targets: readonly AdapterTarget[];
  /**
   * Each expert of a rank has adapters of its own (peft); absent: all experts of a rank share one (`share_expert_adapters` of
   * Megatron-Bridge's `LoRA`, true by default).
   */
  readonly perExpert?: boolean;
  /** The input of each adapter goes through a dropout of its own, which keeps its mask and its output. */
  readonly dropout?: boolean;
  /**
   * The magnitude of each output is trained apart from its direction (DoRA, arXiv 2402.09353): a number a column of each matrix, and the
   * norm of each column of the matrix with its adapter in every forward.
   */
  readonly decomposed?: boolean;
  /**
   * The frozen product is formed twice in each forward, of the input and of what the dropout leaves of it (DoRA in peft and
   * Megatron-Bridge).
   */
  readonly frozenTwice?: boolean;
  /**
   * Ranks are masked by the importance of what they train (AdaLoRA, arXiv 2303.10512): three more tensors as large as each matrix of an
   * adapter, whose `rank` is that at the beginning.
   */
  readonly adaptive?: boolean;
  /** Bits that the frozen matrices of the layers are held in (QLoRA, arXiv 2305.14314); absent: the training precision. */
  readonly baseBits?: 4 | 8;
  /** Scales of 4-bit blocks are quantised themselves. */
  readonly doubleQuantised?: boolean;
  /** The head has an adapter, too (`lm_head` of peft, `apply_lora_to_output` of torchtune). */
  readonly onHead?: true;
  /** Trained whole in addition to the adapters (`modules_to_save`). */
  readonly saved?: readonly ('embedding' | 'head')[];
}

/** Elements that share a scale in 4 bits, and scales that share one of their own (bitsandbytes: `blocksize` 64, of scales 256). */
const blockElements = 64;
const blockScales = 256;

/**
 * Bytes of a frozen matrix's element: in 4 bits half a byte and an fp32 scale a block, quantised to a byte where that is asked for; in 8
 * bits one, its scale a row left out.
 * @param element bytes in the training precision.
 */
export function frozenBytes({ baseBits, doubleQuantised = false }: Adapter, element: number): number {
  if (baseBits === undefined) return element;
  if (baseBits === 8) return 1;
  return 0.5 + (doubleQuantised ? 1 + 4 / blockScales : 4) / blockElements;
}

/** Whether GEMMs read frozen weights as they are held: 8 bits for FP8 GEMMs. Others are made in the training precision first. */
export function readsFrozen(training: { readonly adapter?: Adapter; readonly gemmPrecision?: string }): boolean {
  return training.adapter?.baseBits === 8 && training.gemmPrecision === 'fp8';
}

/** Whether embedding or head is trained: always without adapters, with them where they are saved whole. */
export function isTrained({ adapter }: { readonly adapter?: Adapter }, part: 'embedding' | 'head'): boolean {
  return adapter === undefined || adapter.saved?.includes(part) === true;
}

/** Matrices of feed-forward networks, with the same of routed experts only and of shared experts only. */
export const expertTargets: readonly (readonly [whole: AdapterTarget, routed: AdapterTarget, shared: AdapterTarget])[] = [
  ['gate', 'expertGate', 'sharedGate'],
  ['up', 'expertUp', 'sharedUp'],
  ['gateUp', 'expertGateUp', 'sharedGateUp'],
  ['down', 'expertDown', 'sharedDown'],
];

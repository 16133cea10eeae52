import type { HostKill } from './host-lines';

/*
 * What is read of a run that ran out of memory. Bytes; null: the text or snapshot does not say.
 */

/** An out-of-memory error. PyTorch's message has the figures; those of CUDA and NCCL have none. */
export interface OutOfMemory {
  readonly rank: number | null;
  readonly requestBytes: number | null;
  readonly capacityBytes: number | null;
  readonly freeBytes: number | null;
  /** Of this process by the driver, its CUDA context and NCCL's buffers included. */
  readonly processBytes: number | null;
  /** In tensors, those of private pools included. */
  readonly allocatedBytes: number | null;
  /** Reserved by the allocator and in no tensor. */
  readonly unallocatedBytes: number | null;
  /** In private pools, as those of CUDA graphs. */
  readonly poolBytes: number | null;
  /** What `set_per_process_memory_fraction` allows. */
  readonly allowedBytes: number | null;
  /** What other processes have of the GPU, where the message lists them. */
  readonly othersBytes: number | null;
  /** More than any memory was asked for: the message has no figures then. */
  readonly isBadSize: boolean;
  /** Lines of the traceback before it, outermost first; before them what its own line has before it. */
  readonly traceback: readonly string[];
}

/** Memory of one rank at one moment, as a trainer or nvidia-smi logs it. */
export interface MemoryPoint {
  readonly rank: number | null;
  readonly step: number | null;
  readonly allocatedBytes: number | null;
  readonly reservedBytes: number | null;
  /** As the driver counts it. */
  readonly inUseBytes: number | null;
  readonly capacityBytes: number | null;
}

/** Who allocated live memory: a line of Python, and what it is by its stack. */
export interface Holder {
  readonly line: string;
  readonly part: HeldPart;
  readonly bytes: number;
  readonly blocks: number;
}

/** What live memory is, by the stack that allocated it. */
export const heldParts = ['weights', 'gradients', 'optimizer', 'activations', 'loss', 'graphs', 'unknown'] as const;
export type HeldPart = (typeof heldParts)[number];

/** What a memory snapshot holds of one device. */
export interface MemorySnapshot {
  readonly device: number;
  readonly reservedBytes: number;
  readonly allocatedBytes: number;
  readonly poolBytes: number;
  /** The largest block that is free, and how many there are. */
  readonly largestFreeBytes: number;
  readonly freeBlocks: number;
  readonly segments: number;
  readonly isExpandable: boolean;
  /** The last error that its trace has. */
  readonly oom: { readonly requestBytes: number; readonly freeBytes: number | null; readonly frames: readonly string[] } | null;
  /** Live memory by who allocated it, most first. */
  readonly holders: readonly Holder[];
  readonly parts: Readonly<Record<HeldPart, number>>;
  /** The lowest allocated memory of each eighth of the trace, in order; empty: the trace is too short. */
  readonly lows: readonly number[];
}

/** Everything that was read. */
export interface Evidence {
  readonly source: 'log' | 'snapshot';
  /** Errors after the last step, in the order of the log. */
  readonly errors: readonly OutOfMemory[];
  readonly points: readonly MemoryPoint[];
  readonly lastStep: number | null;
  /** A step was logged, with its number or without; null: a snapshot does not say. */
  readonly hasSteps: boolean | null;
  /** expandable_segments is on. */
  readonly isExpandable: boolean;
  /** The host ran out; null: nothing shows it. */
  readonly host: HostKill | null;
  readonly snapshot: MemorySnapshot | null;
}

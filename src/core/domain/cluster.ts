import type { NarrowFormat } from './number-formats';
import type { Runtime, FusedAttentionKernel } from './runtime';

export type Precision = 'fp32' | 'fp16' | 'bf16';

export type PcieGeneration = 3 | 4 | 5;

/** One GPU as data sheets and measurements give it. SI units: bytes, bytes per second, FLOP per second. */
export interface GpuSpec {
  readonly name: string;
  readonly memoryBytes: number;
  /**
   * Dense (not sparse) peak per data type, in TFLOP/s; only of GEMMs in the formats narrower than a `Precision`, absent where the GPU has
   * none.
   */
  readonly peakTflops: Readonly<Record<Precision, number>> & { readonly fp8?: number; readonly nvfp4?: number };
  /** Device memory bandwidth, TB/s. */
  readonly memoryTBps: number;
  /** Power limit that the GPU comes with, watts; absent where it is not known. */
  readonly powerWatts?: number;
  /** Of its PCIe x16 link, by its data sheet; absent: 4. */
  readonly pcieGeneration?: PcieGeneration;
  /** Fraction of peak that a GEMM of infinite size reaches (docs/model/time.md, GEMMs). */
  readonly gemmEfficiency: number;
  /**
   * By what `gemmEfficiency` is multiplied for GEMMs in a narrow format, of that format's peak, in FP8 with one scale a tensor or by
   * torchao, and under a runtime, where it was measured apart; absent: 1, in FP8 of either kind as FP8.
   */
  readonly gemmFactors?: Readonly<Partial<Record<NarrowFormat | 'fp8Tensorwise' | 'fp8Torchao' | Runtime, number>>>;
  /**
   * Fraction of the peak in half precision that each kernel of fused attention reaches on causal sequences, those that run on this GPU;
   * absent where nobody measured one.
   */
  readonly attentionEfficiency?: Readonly<Partial<Record<FusedAttentionKernel, number>>>;
  /** The same of kernels that no measured run uses: by benchmarks of kernels, compared with one of `attentionEfficiency`. */
  readonly attentionByBenchmark?: Readonly<Partial<Record<FusedAttentionKernel, number>>>;
  /** Where `gemmEfficiency` comes from: fitted to measurements of this GPU, or carried over from another. Decides the error bar. */
  readonly gemmEfficiencyKnown: boolean;
  /** A lower limit that is set on this GPU, watts; absent: none. */
  readonly powerLimitWatts?: number;
  /** One sentence: data sheet, page, measurement. */
  readonly source: string;
}

/** Times of messages by their size, ascending. */
export interface TransferTimes {
  readonly bytes: readonly number[];
  readonly ms: readonly number[];
}

/** Links inside a node and between nodes. GB/s are 1e9 bytes per second. */
export interface LinkSpec {
  /** All-reduce bus bandwidth inside a node for a group of 2, 4 and 8 ranks, GB/s. */
  readonly intraNodeBusGBps: { readonly 2: number; readonly 4: number; readonly 8: number };
  /** `lat0` and `lat1` of an all-reduce: lat0 + lat1 log2(ranks), microseconds. */
  readonly allReduceLatencyUs: { readonly base: number; readonly perDoubling: number };
  /** Network bandwidth of a whole node, GB/s, and the fraction of it that is reached. */
  readonly nicGBps: number;
  readonly nicEfficiency: number;
  /** The fraction that collectives between nodes reach where several GPUs of a node take part; absent: `nicEfficiency`. */
  readonly nicSharedEfficiency?: number;
  /** Link of one GPU to its host, one direction, GB/s; absent: PCIe x16 of the GPU's generation. */
  readonly hostGBps?: number;
  /** Measured messages between neighbouring stages, on a node or NVLink domain and over the network; absent: not measured. */
  readonly sends?: { readonly joined: TransferTimes | null; readonly network: TransferTimes | null };
  /** GPUs that NVLink joins where those are of more than one node: 72 in an NVL72 rack; absent: those of a node. */
  readonly nvlinkDomain?: number;
  readonly source: string;
}

/** Nodes of one kind. */
export interface NodeGroup {
  readonly gpu: GpuSpec;
  readonly links: LinkSpec;
  readonly nodes: number;
  readonly gpusPerNode: number;
}

/** What the run has: nodes of equal GPUs, or groups of such nodes. */
export interface ClusterSpec extends NodeGroup {
  /**
   * Two or more kinds of nodes, as written (`mixedCluster`); absent: all nodes are alike. With groups `nodes` counts those of all, and what
   * else is in the section is the first group's.
   */
  readonly groups?: readonly NodeGroup[];
  /** Price of one GPU for an hour, in the user's currency; absent: not known. */
  readonly pricePerGpuHour?: number;
}

/**
 * Whether a GPU multiplies bf16 no faster than fp32, though it has a fast fp16 (before Ampere): half precision is fp16 there, and there is
 * no FlashAttention for it. How fast its fp16 is does not matter for the rest.
 */
export function lacksBf16({ peakTflops }: Pick<GpuSpec, 'peakTflops'>): boolean {
  return peakTflops.bf16 <= peakTflops.fp32 && peakTflops.fp16 > peakTflops.bf16;
}

/**
 * Neighbouring GPUs that reach each other without the network: those of a node, or of the nodes that NVLink joins. A group that spans more
 * leaves them and runs at the network's speed.
 */
export function joinedGpus({ gpusPerNode, links }: Pick<NodeGroup, 'gpusPerNode' | 'links'>): number {
  return Math.max(gpusPerNode, links.nvlinkDomain ?? 0);
}

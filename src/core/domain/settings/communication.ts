import { sentence } from '../../sentence';
import { runtimes } from '../runtime';
import { boolean, flag, choiceRule, version } from './rules';
import type { SettingTable } from './setting';

const cudaGraphScopes = ['layers', 'iteration'] as const;
const expertDispatchers = ['alltoall', 'deepep', 'hybridep'] as const;
export type ExpertDispatcher = (typeof expertDispatchers)[number];

/** How GPUs exchange, and what runs at the same time. */
export const communication = {
  sequenceParallel: {
    type: boolean,
    assumed: true,
    title: sentence`sequence parallelism`,
    compared: {},
    meaning: sentence`Splits norms and dropout over the tensor-parallel GPUs along the sequence: less memory, same time.`,
  },
  /** PyTorch's asynchronous tensor parallelism, Transformer Engine's user buffers; absent: one after the other. */
  asyncTensorParallel: {
    type: boolean,
    meaning: sentence`Tensor-parallel collectives overlap with the GEMMs that need them.`,
  },
  /** Heads for tokens by all-to-all, or keys and values round a ring (Megatron-LM's p2p); absent: all-to-all. */
  contextParallelComm: {
    key: choiceRule(['all-to-all', 'ring']),
    title: sentence`context-parallel collectives`,
    compared: {},
    meaning: sentence`How context-parallel GPUs communicate: all-to-all, or a ring of keys and values (P2P).`,
  },
  /** Absent: after the last backward. */
  overlapGradReduce: {
    type: boolean,
    title: sentence`gradient reduction overlapped with backward`,
    compared: { silent: false },
    meaning: sentence`Gradient reduction overlaps with the last backward; the step waits for the rest and one bucket.`,
  },
  /** Absent: before the first forward. */
  overlapParamGather: {
    type: boolean,
    title: sentence`weight all-gathers overlapped with forward`,
    compared: { silent: false },
    meaning: sentence`Weight all-gather overlaps with the first forward; the step waits for the rest and one bucket.`,
  },
  overlapP2p: { read: flag, meaning: sentence`Stages exchange activations while they compute; needs an interleaved schedule.` },
  /**
   * An all-to-all of a copy for each expert, or kernels that send a token once to each rank and node (DeepEP, HybridEP); absent:
   * all-to-all.
   */
  expertDispatcher: {
    type: choiceRule(expertDispatchers),
    meaning: sentence`Token dispatcher: one copy per expert, or one per GPU and node.`,
  },
  /** Megatron-LM's `--overlap-moe-expert-parallel-comm`; absent: it does not. */
  overlapExpertComm: { type: boolean, meaning: sentence`The all-to-all of experts overlaps with the compute of another micro-batch.` },
  /** MindSpeed's `--moe-fb-overlap`, which is not planned. */
  passOverlap: { read: flag, meaning: sentence`Passes of two micro-batches overlap in layers with experts.` },
  /** Parts of each layer except the experts, or a whole iteration; absent: nothing. */
  cudaGraphs: {
    type: choiceRule(cudaGraphScopes),
    meaning: sentence`What runs as CUDA graphs: no kernel-launch overhead.`,
  },
  /** Absent: hidden between warm-up and drain. */
  timeSends: {
    key: boolean,
    meaning: sentence`Every P2P transfer is timed, not only those of warm-up and drain: for slow or shared networks.`,
  },
  /** Whose habits time and memory are counted by; absent: Megatron-LM with Transformer Engine. */
  runtime: { key: choiceRule(runtimes), meaning: sentence`Framework that memory is counted for: what it keeps, shards and gathers.` },
  /** As its makers number it, `26.06`; absent: the one that the constants were measured on. */
  runtimeVersion: { key: version, meaning: sentence`Release of the runtime: its kernels differ from one to the next.` },
} as const satisfies SettingTable;

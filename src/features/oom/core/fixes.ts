import { formatBytes, formatCount } from '../../../core/format';
import { expandableSegments } from '../../../core/memory-model/reserved';
import { sentence, type Sentence } from '../../../core/sentence';
import type { Evidence } from './evidence';
import type { Growth } from './growth';
import type { Cause, Verdict } from './verdict';

/** What to do first about a cause, and what it costs. */
export interface FirstFix {
  readonly fix: Sentence;
  readonly cost: Sentence;
}

/** Why it ran out, in a sentence with the figures that show it. */
export function causeSentence(verdict: Verdict, evidence: Evidence): Sentence {
  const { account, growth } = verdict;
  const bytes = (value: number | null): string => (value === null ? 'an unknown amount' : formatBytes(value));
  const request = bytes(account.requestBytes);
  switch (verdict.cause) {
    case 'limit':
      return sentence`Limit: the process may reserve only ${bytes(account.allowanceBytes)} more, and asked for ${request}; the GPU has ${bytes(account.freeBytes)} free`;
    case 'cuda-graphs':
      return (account.poolBytes ?? 0) > 0
        ? sentence`CUDA graphs: their private pools hold ${bytes(account.poolBytes)}, which nothing else may use`
        : sentence`CUDA graphs: it ran out while capturing them, when each graph takes memory of its own`;
    case 'leak':
      return growth === null ? sentence`Leak` : growthSentence(growth);
    case 'fragmentation':
      return sentence`Fragmentation: ${bytes(account.unallocatedBytes)} are reserved and in no tensor, but no free block has ${request}`;
    case 'outside-pytorch':
      return account.requestBytes === null
        ? sentence`Outside PyTorch's allocator: CUDA or a library found no memory for itself`
        : sentence`Outside PyTorch's allocator: ${bytes((account.othersBytes ?? 0) + (account.outsideBytes ?? 0))} are of other processes and libraries`;
    case 'optimizer-step':
      return evidence.lastStep === null
        ? sentence`Optimizer's step: it asked for ${request} when the optimizer made its states at the first step`
        : sentence`Optimizer's step: it asked for ${request} when the optimizer took its step`;
    case 'spike':
      return verdict.isInLoss
        ? sentence`Spike: one tensor of ${request}, of the logits or the loss, on top of ${bytes(account.allocatedBytes)}`
        : sentence`Spike: one tensor of ${request} on top of ${bytes(account.allocatedBytes)}`;
    case 'capacity':
      return sentence`Capacity: ${bytes(account.allocatedBytes)} are in tensors, and ${request} more do not fit`;
    case 'none':
      return sentence`No out-of-memory error, and no memory that grows`;
  }
}

function growthSentence({ of, fromBytes, toBytes, points }: Growth): Sentence {
  const [from, to, count] = [formatBytes(fromBytes), formatBytes(toBytes), formatCount(points)];
  switch (of) {
    case 'allocated':
      return sentence`Leak: memory of tensors grows to the end, from ${from} to ${to} over ${count} readings`;
    case 'reserved':
      return sentence`Leak, or fragmentation: reserved memory grows to the end, from ${from} to ${to} over ${count} readings`;
    case 'used':
      return sentence`Leak, or fragmentation: memory in use grows to the end, from ${from} to ${to} over ${count} readings`;
    case 'lowest allocated':
      return sentence`Leak: what each part of the trace goes back to grows from ${from} to ${to} over ${count} parts`;
  }
}

/** The first fix of each cause. */
export function firstFix({ cause, account, isInLoss }: Verdict): FirstFix | null {
  switch (cause) {
    case 'limit':
      return {
        fix: sentence`Raise the fraction of torch.cuda.set_per_process_memory_fraction`,
        cost: sentence`no time; others on the GPU get less`,
      };
    case 'cuda-graphs':
      return {
        fix: sentence`Capture fewer layers or modules, or turn graphs off for one run to see what they hold`,
        cost: sentence`launches of the layers without graphs take time again`,
      };
    case 'leak':
      return {
        fix: sentence`Find what keeps tensors, as a sum of losses without .item(); two snapshots show the line`,
        cost: sentence`no time; a smaller batch only delays it`,
      };
    case 'fragmentation':
      return {
        fix: sentence`Set ${expandableSegments} in the environment`,
        cost: sentence`no step time; at most ${formatBytes(account.unallocatedBytes ?? 0)} come back`,
      };
    case 'outside-pytorch':
      return {
        fix: sentence`End what else is on the GPU, as nvidia-smi shows it; else keep more free for CUDA and NCCL`,
        cost: sentence`no time`,
      };
    case 'optimizer-step':
      return {
        fix: sentence`Shard the optimizer (ZeRO 1), or give it foreach=False where its temporary tensors are large`,
        cost: sentence`sharding costs little: gradients are reduced and parameters gathered instead of all-reduced`,
      };
    case 'spike':
      return {
        fix: isInLoss
          ? sentence`Compute the loss in chunks, or fused with the output layer; or shard the vocabulary`
          : sentence`Split the work of that tensor: a smaller micro-batch, or chunks of the operation that makes it`,
        cost: isInLoss ? sentence`next to no time` : sentence`less work for each launch`,
      };
    case 'capacity':
      return {
        fix: sentence`Use a smaller micro-batch, recompute, or more shards`,
        cost: sentence`give FILE, the config, to have them planned`,
      };
    case 'none':
      return null;
  }
}

/** Names of causes, in text. */
export const causeNames: Readonly<Record<Cause, string>> = {
  limit: 'a limit',
  'cuda-graphs': 'CUDA graphs',
  leak: 'a leak',
  fragmentation: 'fragmentation',
  'outside-pytorch': "memory outside PyTorch's allocator",
  'optimizer-step': "the optimizer's step",
  spike: 'a spike',
  capacity: 'capacity',
  none: 'nothing',
};

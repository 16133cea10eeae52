import { formatBytes, formatCount } from '../../../core/format';
import { expandableSegments } from '../../../core/memory-model/reserved';
import { sentence, type Sentence } from '../../../core/sentence';
import type { Evidence } from './evidence';
import type { Growth } from './growth';
import type { HostKill } from './host-lines';
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
    case 'bad-size':
      return sentence`Bad size: it asked for over 1 EB, which no memory has; a wrong shape or a broken message gave it`;
    case 'checkpoint':
      if (!verdict.isSaving)
        return sentence`State dict: it asked for ${request} while a state dict was made on the GPU, on top of ${bytes(account.allocatedBytes)}`;
      return sentence`Checkpoint: it asked for ${request} while it gathered weights on the GPU to save them, on top of ${bytes(account.allocatedBytes)}`;
    case 'evaluation':
      return sentence`Evaluation: it asked for ${request} while it evaluated, on top of ${bytes(account.allocatedBytes)}`;
    case 'loading':
      return evidence.hasSteps === false
        ? sentence`Loading: it asked for ${request} while it put the model on the GPU, before any step`
        : sentence`Loading: it asked for ${request} while it put weights on the GPU`;
    case 'all-gather':
      return sentence`All-gather: it asked for ${request} to gather the weights of sharded layers, on top of ${bytes(account.allocatedBytes)}`;
    case 'host':
      return hostSentence(evidence.host);
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
        ? sentence`Outside PyTorch's allocator: CUDA or a library could not allocate its own memory`
        : sentence`Outside PyTorch's allocator: ${bytes((account.othersBytes ?? 0) + (account.outsideBytes ?? 0))} belong to other processes and libraries`;
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

function hostSentence(host: HostKill | null): Sentence {
  const asked = host?.requestBytes ?? null;
  if (asked !== null) return sentence`Host memory: the run asked for ${formatBytes(asked)} of it, and no GPU ran out`;
  return host?.isSaving === true
    ? sentence`Host memory: a process was killed while a checkpoint was saved, and no GPU ran out`
    : sentence`Host memory: a process was killed, and no GPU ran out`;
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
export function firstFix({ cause, account, isInLoss, isSaving }: Verdict): FirstFix | null {
  switch (cause) {
    case 'bad-size':
      return {
        fix: sentence`Read the error before it, as a timeout of NCCL, and the shapes of the line that asked`,
        cost: sentence`no time; more memory does not help`,
      };
    case 'checkpoint':
      return {
        fix: isSaving
          ? sentence`Save sharded (SHARDED_STATE_DICT), or gather to the host on rank 0 (offload_to_cpu, rank0_only)`
          : sentence`Make it sharded (SHARDED_STATE_DICT), or gather it to the host (offload_to_cpu)`,
        cost: sentence`no step time; a whole state dict needs that much host memory`,
      };
    case 'evaluation':
      return {
        fix: sentence`Evaluate with torch.no_grad, and move predictions to the host (eval_accumulation_steps of Trainer)`,
        cost: sentence`no step time; a slower evaluation`,
      };
    case 'loading':
      return {
        fix: sentence`Load on the host or the meta device and shard from there, each rank onto its own GPU`,
        cost: sentence`no step time; a slower load`,
      };
    case 'all-gather':
      return {
        fix: sentence`Wrap each layer, and gather fewer ahead (limit_all_gathers; stage3_prefetch_bucket_size)`,
        cost: sentence`more exchange that the step waits for`,
      };
    case 'host':
      return {
        fix: sentence`Use fewer workers of the data loader, save without a copy (no async save), or offload less`,
        cost: sentence`a save or a batch may be waited for; terapipe memory shows bytes a node`,
      };
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
  'bad-size': 'a bad size',
  limit: 'a limit',
  checkpoint: 'a state dict or a checkpoint',
  evaluation: 'an evaluation',
  loading: 'loading',
  'all-gather': 'an all-gather',
  host: 'host memory',
  'cuda-graphs': 'CUDA graphs',
  leak: 'a leak',
  fragmentation: 'fragmentation',
  'outside-pytorch': "memory outside PyTorch's allocator",
  'optimizer-step': "the optimizer's step",
  spike: 'a spike',
  capacity: 'capacity',
  none: 'nothing',
};

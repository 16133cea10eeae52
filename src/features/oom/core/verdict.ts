import { maximum } from '../../../core/numbers';
import { partOfStack } from './snapshot';
import { growthIn, type Growth } from './growth';
import type { Evidence, OutOfMemory } from './evidence';

/** What a run did when it ran out of memory, as far as its stack names it. */
type Phase = 'checkpoint' | 'state-dict' | 'evaluation' | 'loading' | 'all-gather';

/*
 * Names in stacks of torch.distributed.fsdp and checkpoint (2.0 to 2.9), transformers' Trainer and modeling_utils (4.30 to 4.56),
 * accelerate, DeepSpeed, Megatron-LM and Lightning. What restores is looked for before what saves, since both name state_dict; a state
 * dict by itself may be one that is sent, as to an engine of inference. Others than FSDP and ZeRO gather too: sequence parallelism does
 * activations.
 */
const patterns: readonly (readonly [Phase, RegExp])[] = [
  [
    'loading',
    /load_state_dict|load_checkpoint|from_pretrained|_load_pretrained_model|set_module_tensor_to_device|_move_model_to_device|model\.to\(device|\b_apply\b/,
  ],
  [
    'checkpoint',
    /save_(?:checkpoint|model|pretrained|ckpt|state)\w{0,40}(?:\(|[\s\u2502|]{0,200}$)|dist_checkpointing|consolidate_shards|zero_to_fp32/,
  ],
  ['state-dict', /state_dict\w{0,40}(?:\(|[\s\u2502|]{0,200}$)|_state_dict_hook|Failed to clone\(\)/],
  [
    'evaluation',
    /evaluation_loop|\bevaluate(?:_\w+)?\(|\bin (?:evaluate|validate)\b|prediction_step|validation_step|nested_concat|pad_across_processes/,
  ],
  [
    'all-gather',
    /unshard(?:ed_flat_param)?\b|_all_gather_flat_param|foreach_all_gather|all_gather_copy_in|fetch_sub_module|_allgather_params/,
  ],
];
/** Functions of FSDP and ZeRO that gather, whose names others have too. */
const libraryGather = /(?:\/fsdp\/|_fsdp_|_flat_param\.py|partition_parameters\.py)[^"]{0,300}", line \d{1,9}, in \w{0,40}all_?gather/;

/** The phase of a stack, in any order of its frames; null: an ordinary step, or no stack. */
function phaseOfStack(frames: readonly string[]): Phase | null {
  const code = frames.map(withoutPath);
  const named = patterns.find(([, pattern]) => code.some((line) => pattern.test(line)))?.[0];
  return named ?? (frames.some((frame) => libraryGather.test(frame)) ? 'all-gather' : null);
}

/** The function, or source text, of a line of a stack: names of folders and files say nothing of what runs. */
function withoutPath(frame: string): string {
  return frame.replace(/File "[^"]*"?|\S*\.py:\d+/g, ' ');
}

/** Why a run ran out of memory. */
export type Cause = (typeof namedCauses)[number] | 'capacity' | 'none';

/** Those that leave a trace, in the order in which they count; what is left is capacity. */
const namedCauses = [
  'bad-size',
  'limit',
  'cuda-graphs',
  'checkpoint',
  'evaluation',
  'leak',
  'fragmentation',
  'outside-pytorch',
  'loading',
  'optimizer-step',
  'all-gather',
  'spike',
  'host',
] as const;

/** The memory of a GPU when it ran out, bytes; null: not known. */
interface Account {
  readonly capacityBytes: number | null;
  readonly requestBytes: number | null;
  readonly freeBytes: number | null;
  readonly allocatedBytes: number | null;
  readonly unallocatedBytes: number | null;
  readonly poolBytes: number | null;
  /**
   * Outside PyTorch's allocator, of this process where the message has it: the CUDA context, NCCL's buffers, libraries; else of all
   * processes.
   */
  readonly outsideBytes: number | null;
  /** Of other processes. */
  readonly othersBytes: number | null;
  /** What the allocator is allowed, less what it has reserved. */
  readonly allowanceBytes: number | null;
}

export interface Verdict {
  readonly cause: Cause;
  /** Further causes that hold, in the order in which they count. */
  readonly also: readonly Cause[];
  readonly rank: number | null;
  /** Ranks that ran out. */
  readonly ranks: number;
  readonly account: Account;
  /** In the loss or its logits, by the stack. */
  readonly isInLoss: boolean;
  /** A checkpoint was saved, by the stack; else a state dict may have had another use. */
  readonly isSaving: boolean;
  readonly growth: Growth | null;
  /** The most that points show, bytes: of tensors, reserved, in use. */
  readonly peak: { readonly allocatedBytes: number | null; readonly reservedBytes: number | null; readonly inUseBytes: number | null };
}

/** A CUDA context with NCCL's buffers takes less; what is above it is worth a word. */
const usualOutsideBytes = 3 * 2 ** 30;
/** Of a GPU: private pools, or one tensor, above it are worth a word. */
const largeShare = 0.1;
/** Of a GPU: a smaller tensor only happens to be the one that did not fit. */
const worthShare = 0.02;
/** Of a GPU: with less left, any tensor would have been too much. */
const roomShare = 0.05;

/** What the evidence shows: docs/model/memory.md, Why it ran out. */
export function judge(evidence: Evidence): Verdict {
  const error = evidence.snapshot === null ? firstError(evidence.errors) : errorOfSnapshot(evidence);
  const growth = growthIn(evidence);
  const account = makeAccount(error);
  const stack = partOfStack(error?.traceback.toReversed() ?? []);
  const phase = phaseOfStack(error?.traceback ?? []);
  const holds = namedCauses.filter((cause) => tests[cause]({ evidence, error, account, growth, stack, phase }));
  const [cause = (error?.requestBytes ?? null) === null ? 'none' : 'capacity', ...also] = holds;
  const most = (of: 'allocatedBytes' | 'reservedBytes' | 'inUseBytes'): number | null => {
    const known = evidence.points.flatMap((point) => point[of] ?? []);
    return known.length === 0 ? null : maximum(known);
  };
  return {
    cause,
    also,
    rank: error?.rank ?? growth?.rank ?? null,
    ranks: new Set(evidence.errors.map(({ rank }) => rank)).size,
    account,
    isInLoss: stack === 'loss',
    isSaving: phase === 'checkpoint',
    growth,
    peak: { allocatedBytes: most('allocatedBytes'), reservedBytes: most('reservedBytes'), inUseBytes: most('inUseBytes') },
  };
}

/** The first with figures: ranks that fail after it fail since it did. */
function firstError(errors: readonly OutOfMemory[]): OutOfMemory | null {
  return errors.find(({ requestBytes }) => requestBytes !== null) ?? errors[0] ?? null;
}

function errorOfSnapshot({ snapshot }: Evidence): OutOfMemory | null {
  if (snapshot === null) return null;
  const { oom, reservedBytes, allocatedBytes, poolBytes } = snapshot;
  return {
    rank: null,
    requestBytes: oom?.requestBytes ?? null,
    capacityBytes: null,
    freeBytes: oom?.freeBytes ?? null,
    processBytes: null,
    allocatedBytes,
    unallocatedBytes: Math.max(0, reservedBytes - allocatedBytes),
    poolBytes,
    allowedBytes: null,
    othersBytes: null,
    isBadSize: false,
    traceback: oom?.frames.toReversed() ?? [],
  };
}

function makeAccount(error: OutOfMemory | null): Account {
  const { requestBytes = null, capacityBytes = null, freeBytes = null, allocatedBytes = null, unallocatedBytes = null } = error ?? {};
  const { poolBytes = null, processBytes = null, allowedBytes = null, othersBytes = null } = error ?? {};
  const reserved = allocatedBytes === null || unallocatedBytes === null ? null : allocatedBytes + unallocatedBytes;
  const used = capacityBytes === null || freeBytes === null ? null : capacityBytes - freeBytes;
  const least = (value: number | null): number | null => (value === null ? null : Math.max(0, value));
  return {
    capacityBytes,
    requestBytes,
    freeBytes,
    allocatedBytes,
    unallocatedBytes,
    poolBytes,
    outsideBytes: least(reserved === null ? null : (processBytes ?? used ?? reserved) - reserved),
    othersBytes: least(used === null || processBytes === null ? othersBytes : used - processBytes),
    allowanceBytes: least(allowedBytes === null || reserved === null ? null : allowedBytes - reserved),
  };
}

interface Facts {
  readonly evidence: Evidence;
  readonly error: OutOfMemory | null;
  readonly account: Account;
  readonly growth: Growth | null;
  readonly stack: ReturnType<typeof partOfStack>;
  readonly phase: Phase | null;
}

/** Whether each cause holds. */
const tests: Readonly<Record<(typeof namedCauses)[number], (facts: Facts) => boolean>> = {
  'bad-size': ({ error }) => error?.isBadSize === true,
  limit: ({ account: { allowanceBytes, requestBytes, freeBytes } }) =>
    allowanceBytes !== null && requestBytes !== null && freeBytes !== null && allowanceBytes < requestBytes && freeBytes >= requestBytes,
  'cuda-graphs': ({ account, stack }) => stack === 'graphs' || (account.poolBytes ?? 0) >= largeShare * total(account),
  checkpoint: ({ phase }) => isStateDict(phase),
  evaluation: ({ phase }) => phase === 'evaluation',
  leak: ({ growth }) => growth !== null,
  fragmentation: ({ account, evidence }) => !evidence.isExpandable && isFragmented(account),
  'outside-pytorch': ({ evidence, error, account }) => evidence.errors.length > 0 && error?.isBadSize !== true && isOutside(account),
  loading: ({ phase }) => phase === 'loading',
  'optimizer-step': ({ stack, phase }) => stack === 'optimizer' && phase !== 'loading' && !isStateDict(phase),
  'all-gather': ({ phase, account }) => phase === 'all-gather' && (account.requestBytes ?? 0) >= worthShare * total(account),
  spike: ({ account, stack }) => {
    const { requestBytes, freeBytes, unallocatedBytes } = account;
    const [request, left] = [requestBytes ?? 0, (freeBytes ?? 0) + (unallocatedBytes ?? 0)];
    const isLarge = request >= largeShare * total(account) && left >= roomShare * total(account);
    return isLarge || (stack === 'loss' && request >= worthShare * total(account));
  },
  host: ({ evidence, error }) => error === null && evidence.host !== null,
};

function isStateDict(phase: Phase | null): boolean {
  return phase === 'checkpoint' || phase === 'state-dict';
}

/** Memory of the GPU, bytes; where it is not known, what is accounted for. */
function total({ capacityBytes, freeBytes, allocatedBytes, unallocatedBytes }: Account): number {
  return capacityBytes ?? Math.max(1, (freeBytes ?? 0) + (allocatedBytes ?? 0) + (unallocatedBytes ?? 0));
}

/**
 * Whether the request would have fitted in what the GPU has free and the allocator has reserved for nothing, which expandable segments
 * join. A request that is a large part of the GPU counts only where the reserved part by itself is larger: else it would fit in hardly any
 * state of the run.
 */
function isFragmented(account: Account): boolean {
  const { requestBytes, unallocatedBytes, freeBytes } = account;
  if (requestBytes === null || unallocatedBytes === null) return false;
  if (unallocatedBytes >= requestBytes) return unallocatedBytes >= 0.01 * total(account);
  return requestBytes < largeShare * total(account) && unallocatedBytes + (freeBytes ?? 0) >= requestBytes;
}

/** Without figures the allocator did not fail: CUDA or NCCL did. With them, others hold what the request lacks. */
function isOutside({ requestBytes, freeBytes, outsideBytes, othersBytes }: Account): boolean {
  if (requestBytes === null) return true;
  const excess = (othersBytes ?? 0) + (outsideBytes ?? 0) - usualOutsideBytes;
  return excess > 0 && excess + (freeBytes ?? 0) >= requestBytes;
}

/** Ranks of one engine by AReaL's letters. */
export interface Allocation {
  readonly backend: 'fsdp' | 'megatron' | 'archon' | 'sglang' | 'vllm';
  readonly data: number;
  readonly tensor: number;
  readonly pipeline: number;
  readonly context: number;
  readonly expert: number;
  /** Tensor-parallel ranks of experts; null: those of attention. */
  readonly expertTensor: number | null;
  /** All ranks of the engine. */
  readonly gpus: number;
}

const letters = { d: 'data', t: 'tensor', p: 'pipeline', c: 'context', e: 'expert' } as const;
const longest = 500;

/**
 * One engine: `fsdp:d4t2`, `megatron:(attn:d1p12t4|ffn:d1p12e4)`, `d8` without a backend; null for what is none. Experts take ranks of
 * data, tensor and context (`ParallelStrategy` of areal/api/alloc_mode.py).
 */
export function readAllocation(written: string): Allocation | null {
  if (written.length > longest) return null;
  const found = /^\s*(?:(fsdp|megatron|archon|sglang|vllm)\s*(?:\[\w+\])?\s*[:.]|\[\w+\]\s*:)?\s*(.+?)\s*$/.exec(written);
  const [, named, rest = ''] = found ?? [];
  const [attention = '', experts = ''] = rest
    .replace(/^\((.*)\)$/, '$1')
    .split('|')
    .map((part) => part.trim().replace(/^(?:attn|ffn)\s*:/, ''));
  const [sizes, ofExperts] = [readSizes(attention), experts === '' ? {} : readSizes(experts)];
  if (sizes === null || ofExperts === null) return null;
  const { data = 1, tensor = 1, pipeline = 1, context = 1 } = sizes;
  const expert = ofExperts.expert ?? sizes.expert ?? 1;
  const backend = (named as Allocation['backend'] | undefined) ?? (pipeline > 1 || expert > 1 ? 'megatron' : 'fsdp');
  const expertTensor = experts === '' ? null : (ofExperts.tensor ?? 1);
  return { backend, data, tensor, pipeline, context, expert, expertTensor, gpus: data * tensor * pipeline * context };
}

function readSizes(written: string): Partial<Record<(typeof letters)[keyof typeof letters], number>> | null {
  if (!/^(?:[dtpce][1-9]\d{0,5})+$/.test(written)) return null;
  const pairs = [...written.matchAll(/([dtpce])(\d+)/g)].map(([, letter, size]) => [letters[letter as keyof typeof letters], Number(size)]);
  return Object.fromEntries(pairs) as ReturnType<typeof readSizes>;
}

/** Engines of the older `allocation_mode`, in which `+` is between GPUs of their own: `sglang:d8+d8`. */
export function readAllocations(written: string): readonly Allocation[] {
  return written
    .slice(0, longest)
    .split('+')
    .flatMap((part) => readAllocation(part) ?? []);
}

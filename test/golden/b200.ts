import type { ModelSpec } from '../../src/core/domain/model';
import { deepseek, llama3, mixtral, request } from './requests';
import { predictOneF1B, type PredictedRow, type Row } from './rows';
import { golden, once } from './data';

interface B200Case {
  readonly case: string;
  readonly model: string;
  readonly layers: number;
  readonly tp: number;
  readonly pp: number;
  readonly cp: number;
  readonly ep: number;
  readonly dp: number;
  readonly seq: number;
  readonly mbs: number;
  readonly num_microbatches: number;
  readonly iter_ms: number;
  readonly allocated_mib: readonly number[];
  readonly reserved_mib: readonly number[];
}

/** Peak of one rank, bytes: torch's `max_allocated` and what we count, its `max_reserved` and what we expect of the allocator. */
export interface RankRow extends Row {
  readonly reserved: { readonly measured: number; readonly predicted: number };
}

export interface B200Row extends PredictedRow {
  readonly kind: 'dense' | 'context' | 'experts';
  readonly ranks: readonly RankRow[];
}

/**
 * Llama 3 405B as the runs had it: with 16 groups of queries (their script's `--num-query-groups 16`), though the published model has 8.
 */
function modelOf({ model, layers }: B200Case): ModelSpec {
  if (model === 'llama3-405b') return { ...llama3('405b', layers), kvHeads: 16 };
  if (model === 'llama3-70b') return llama3('70b', layers);
  if (model === 'llama3-8b') return { ...llama3('70b', layers), hidden: 4096, heads: 32, ffn: 14336 };
  if (model === 'deepseekv2') return deepseek(2, layers);
  if (model === 'deepseekv3') return deepseek(3, layers);
  if (model.startsWith('mixtral')) return mixtral(layers);
  throw new Error(`no sizes of ${model}`);
}

/**
 * All 8-GPU B200 runs of Megatron-LM: bf16, distributed optimizer, flash attention, no recompute, sequence parallel with tensor
 * parallelism, fused cross entropy, context parallelism by all-to-all, experts with a capacity of 1. Times in ms.
 */
export const b200Rows = once((): readonly B200Row[] => (golden('b200') as { readonly cases: readonly B200Case[] }).cases.map(b200Row));

function b200Row(row: B200Case): B200Row {
  const model = modelOf(row);
  const wanted = request('B200', model, {
    training: {
      sequenceLength: row.seq,
      microBatch: row.mbs,
      globalBatch: row.mbs * row.num_microbatches * row.dp,
      precision: 'bf16',
      zeroStage: 1,
      attention: 'flash',
      sequenceParallel: row.tp > 1,
      fusedCrossEntropy: true,
      dropout: false,
    },
    layout: { tensor: row.tp, pipeline: row.pp, data: row.dp, context: row.cp, expert: row.ep },
  });
  const candidate = predictOneF1B(wanted);
  const ranks = row.allocated_mib.map((allocated, rank) => {
    const stage = candidate.memory.stages[Math.floor((rank * row.pp) / row.allocated_mib.length)];
    const reserved = row.reserved_mib[rank];
    if (stage === undefined || reserved === undefined) throw new Error(`no stage of rank ${rank}`);
    return {
      name: `${row.case} rank ${rank}`,
      measured: allocated * 2 ** 20,
      predicted: stage.peakBytes,
      reserved: { measured: reserved * 2 ** 20, predicted: stage.reservedBytes },
    };
  });
  const kind = model.experts !== null ? 'experts' : row.cp > 1 ? 'context' : 'dense';
  return { name: row.case, kind, measured: row.iter_ms, predicted: candidate.iterationMs, request: wanted, ranks };
}

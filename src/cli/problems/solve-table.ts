import { configError } from '../../core/errors';
import type { Place } from '../../core/domain/located';
import type { CostTable } from '../../core/domain/slice-cost';
import { list } from '../../core/domain/settings/rules';
import { sentence } from '../../core/sentence';
import type { SliceMs } from '../../core/slicing/problem';
import type { Section } from '../../core/terapipe/section';
import { tableCost, tableKinks } from '../../core/time-model/table';
import { placeIn, refuseUnknown, required } from './section';
import * as v from 'valibot';

/** Sizes of micro-batches that a table may have, and numbers along each axis. */
const mostSizes = 1024;
const mostPoints = 4096;

const ascending = (from: number, most: number, what: string) =>
  list(v.pipe(v.number(), v.integer(), v.minValue(from), v.maxValue(100_000_000)), 1, most, what);
const sizes = ascending(1, mostSizes, 'a list of micro-batch sizes, ascending from 1');
const lengths = ascending(1, mostPoints, 'a list of slice lengths, ascending whole numbers above 0');
const contextLengths = ascending(0, mostPoints, 'a list of context lengths, ascending whole numbers from 0');
const time = v.pipe(v.number(), v.minValue(0), v.maxValue(1e9));
const times = list(
  v.pipe(v.array(v.pipe(v.array(time), v.maxLength(mostPoints))), v.maxLength(mostPoints)),
  1,
  mostSizes,
  'for each micro-batch size a list of rows of times in ms, one row per length, one time per context',
);

/** Keys of such a table. */
export const batchedKeys = ['batches', 'tokens', 'contexts', 'ms'] as const;

/** Times of slices of several sequences at once. */
interface BatchTableCost {
  readonly cost: SliceMs;
  /** Contexts between which all of them are affine in the context. */
  readonly contextKinks: readonly number[];
  readonly maximumBatchSlice: number;
}

/**
 * `table` of `cost` with times of micro-batches of several sizes: `{batches: [1, 2, 4], tokens, contexts, ms}`, where `ms[i][j][k]` is of
 * `batches[i]` sequences of `tokens[j]` tokens after `contexts[k]`, forward and backward together. Between lengths and contexts and outside
 * of them as `tableCost`, between sizes along a straight line. Chunks have at most the largest size (TeraPipe measures all three:
 * latency_model.py of zhuohan123/terapipe at bd366b57).
 * @throws ExpectedError `config-inconsistent` for axes that do not ascend, or do not match the times; `unknown-key`.
 */
export function readBatchedTable(table: Section): BatchTableCost {
  refuseUnknown(table, batchedKeys, 'a table with batches');
  const batches = required(table, 'batches', sizes);
  const tokens = required(table, 'tokens', lengths);
  const contexts = required(table, 'contexts', contextLengths);
  const ms = required(table, 'ms', times);
  for (const [name, axis] of Object.entries({ batches, tokens, contexts }))
    if (axis.value.some((value, index) => index > 0 && value <= (axis.value[index - 1] ?? 0)))
      throw inconsistent(`cost.table.${name}`, sentence`is not in ascending order`, sentence`sort it, each number once`, placeIn(axis));
  if (batches.value[0] !== 1)
    throw inconsistent('cost.table.batches', sentence`does not begin with 1`, sentence`measure one sequence too`, placeIn(batches));
  const [count, rows, columns] = [batches.value.length, tokens.value.length, contexts.value.length];
  if (ms.value.length !== count || !ms.value.every((each) => each.length === rows && each.every((row) => row.length === columns)))
    throw inconsistent(
      'cost.table.ms',
      sentence`does not match batches, tokens and contexts`,
      sentence`give ${count} tables of ${rows} rows of ${columns} times`,
      placeIn(ms),
    );
  const tables = ms.value.map((each): CostTable => {
    const nothing = each.map((row) => row.map(() => 0));
    return { tokens: tokens.value, contexts: contexts.value, forwardMs: each, backwardMs: nothing };
  });
  const kinks = new Set(tables.flatMap((each) => tableKinks(each)));
  return {
    cost: betweenSizes(batches.value, tables),
    contextKinks: [...kinks].sort((a, b) => a - b),
    maximumBatchSlice: batches.value.at(-1) ?? 1,
  };
}

function betweenSizes(batches: readonly number[], tables: readonly CostTable[]): SliceMs {
  const costs = tables.map((table) => tableCost(table));
  const at = (index: number, tokens: number, context: number): number => costs[index]?.(1, tokens, context).forwardMs ?? 0;
  return (batch, tokens, context) => {
    const upper = batches.findIndex((size) => size >= batch);
    const size = batches[upper] ?? batch;
    if (size === batch) return at(upper, tokens, context);
    const below = batches[upper - 1] ?? 1;
    const share = (batch - below) / (size - below);
    return (1 - share) * at(upper - 1, tokens, context) + share * at(upper, tokens, context);
  };
}

function inconsistent(
  key: string,
  message: ReturnType<typeof sentence>,
  remedy: ReturnType<typeof sentence>,
  place: Place | undefined,
): Error {
  return configError('config-inconsistent', sentence`${key} ${message}`, remedy, place);
}

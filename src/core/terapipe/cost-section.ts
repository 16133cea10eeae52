import type { CostTable, CostConstants } from '../domain/slice-cost';
import type { Located, Place } from '../domain/located';
import { configError } from '../errors';
import { constantFields, tableFields } from './fields';
import { nodePlace } from '../languages/json/document';
import type { LocatedPartial } from '../run/given';
import { path } from '../domain/settings/rules';
import { openChild, readField, readFields, type Section } from './section';
import { sentence, type Sentence } from '../sentence';

export const costKeys = [...Object.keys(constantFields), 'profile', 'table'] as const;

/** What a file sets for slice times: constants of the analytic model, and measured times that replace it. */
export interface GivenCost {
  readonly constants: LocatedPartial<CostConstants>;
  readonly costTable?: Located<CostTable>;
  /** Path of a profile as written, or `none`: use none, even if one is found. */
  readonly profile?: Located<string>;
}

/**
 * Reads `cost` of a terapipe.json. A table with `ms` has forward and backward together; a backward is taken as twice its forward (two GEMMs
 * for each of the forward's), and a remark reports it.
 * @throws ExpectedError `config-inconsistent` for a table whose rows, columns or keys do not match or that comes with a profile, or as
 * `readByRule`.
 */
export function readCost(root: Section): GivenCost {
  const cost = openChild(root, 'cost', costKeys);
  if (cost === undefined) return { constants: {} };
  const constants = readFields(cost, constantFields);
  const profile = readField(cost, 'profile', path);
  const table = openChild(cost, 'table', Object.keys(tableFields));
  if (table !== undefined && profile !== undefined)
    throw inconsistent(sentence`cost has both a profile and a table`, sentence`keep the one to plan with`, fileplace(profile));
  return {
    constants,
    ...(table === undefined ? {} : { costTable: readTable(table) }),
    ...(profile === undefined ? {} : { profile }),
  };
}

/**
 * @finding cost-table-split
 * `cost.table.ms` holds forward and backward together. A third is taken as forward, since a backward runs two GEMMs for each of the
 * forward's. Give `forwardMs` and `backwardMs` when both were measured.
 * @example `cost.table` with times of both passes in one number. "These times hold forward and backward together; a third is taken as
 * forward"
 * @source [docs/model/time.md](model/time.md).
 * @ignore a third is what you measured.
 */
function readTable(table: Section): Located<CostTable> {
  const place = nodePlace(table.document, table.node);
  const { tokens, contexts, ms, forwardMs, backwardMs } = readFields(table, tableFields);
  if (tokens === undefined || contexts === undefined)
    throw inconsistent(sentence`cost.table needs tokens and contexts`, sentence`add the lengths its rows and columns stand for`, place);
  checkAscending(tokens, 'tokens');
  checkAscending(contexts, 'contexts');
  const check = (times: Located<number[][]>, key: string) => {
    const fits = times.value.length === tokens.value.length && times.value.every((row) => row.length === contexts.value.length);
    const expected = sentence`${tokens.value.length} rows (one per length) of ${contexts.value.length} times (one per context)`;
    if (!fits)
      throw inconsistent(
        sentence`cost.table.${key} does not match tokens and contexts`,
        sentence`give ${expected}`,
        fileplace(times) ?? place,
      );
  };
  const located = (forward: readonly (readonly number[])[], backward: readonly (readonly number[])[]): Located<CostTable> => ({
    value: { tokens: tokens.value, contexts: contexts.value, forwardMs: forward, backwardMs: backward },
    source: { kind: 'file', place, key: 'cost.table' },
  });
  if (forwardMs !== undefined && backwardMs !== undefined && ms === undefined) {
    check(forwardMs, 'forwardMs');
    check(backwardMs, 'backwardMs');
    return located(forwardMs.value, backwardMs.value);
  }
  if (ms !== undefined && forwardMs === undefined && backwardMs === undefined) {
    check(ms, 'ms');
    table.remarks.push({
      code: 'cost-table-split',
      severity: 'information',
      place: fileplace(ms) ?? place,
      message: sentence`These times hold forward and backward together; a third is taken as forward`,
      remedy: sentence`give forwardMs and backwardMs when both were measured`,
      fixes: [],
    });
    const scaled = (share: number) => ms.value.map((row) => row.map((value) => value * share));
    return located(scaled(1 / 3), scaled(2 / 3));
  }
  throw inconsistent(sentence`cost.table needs either ms, or forwardMs and backwardMs`, sentence`give one or the other`, place);
}

function checkAscending(axis: Located<number[]>, key: string): void {
  const falls = axis.value.some((value, index) => index > 0 && value <= (axis.value[index - 1] ?? -1));
  if (falls)
    throw inconsistent(sentence`cost.table.${key} is not in ascending order`, sentence`sort it, each length once`, fileplace(axis));
}

function fileplace({ source }: Located<unknown>): Place | undefined {
  return source.kind === 'file' ? source.place : undefined;
}

function inconsistent(message: Sentence, remedy: Sentence, place: Place | undefined): Error {
  return configError('config-inconsistent', message, remedy, place);
}

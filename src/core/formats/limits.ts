import { formatNumber } from '../format';
import { settingNamed } from '../domain/settings/table';
import { sentence } from '../sentence';
import { configError } from '../config-errors';
import type { Fact, FactName, Facts } from './facts';

/** No list is made of these: launchers' files may have what the planner refuses later, by the number of micro-batches. */
const unlisted: ReadonlySet<FactName> = new Set(['globalBatch']);

/** The largest number that is read of a setting; undefined: any is. */
function limitOf(name: FactName): number | undefined {
  const { type, read = type } = settingNamed(name);
  return read?.limit;
}

/** Entries of a list that a file writes out: kinds of layers, layers of each stage. */
const longestList = 100_000;

/**
 * Refuses sizes that no run has, before lists of that length are made.
 * @throws ExpectedError `config-out-of-range` at the value.
 */
export function refuseBeyondLimits(facts: Facts): void {
  for (const [name, fact] of Object.entries(facts) as [FactName, Fact<unknown>][]) {
    const { value, source } = fact;
    const [size, limit] = Array.isArray(value) ? [value.length, longestList] : [value, limitOf(name)];
    if (typeof size !== 'number' || limit === undefined || size <= limit || unlisted.has(name)) continue;
    const what = fact.name ?? name;
    throw configError(
      'config-out-of-range',
      Array.isArray(value) ? sentence`${what} has ${formatNumber(size)} entries` : sentence`${what} is ${formatNumber(size)}`,
      Array.isArray(value) ? sentence`give it at most ${formatNumber(limit)}` : sentence`give it a number up to ${formatNumber(limit)}`,
      source.kind === 'file' ? source.place : undefined,
    );
  }
}

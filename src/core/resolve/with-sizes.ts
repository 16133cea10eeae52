import { applyOverrides } from '../formats/overrides';
import type { Run } from '../formats/run';
import type { WhatIfSet } from '../layout-search/what-if';

/** A run with other sizes; null leaves the micro-batch to the planner. @throws ExpectedError as `applyOverrides`. */
export function withSizes(run: Run, sets: readonly WhatIfSet[]): Run {
  const given = sets.flatMap(([key, value]) =>
    value === null ? [] : [`${key}=${typeof value === 'number' ? value : JSON.stringify(value)}`],
  );
  const changed = applyOverrides(run, given);
  if (sets.every(([, value]) => value !== null)) return changed;
  const { microBatch, ...training } = changed.training;
  return microBatch === undefined ? changed : { ...changed, training };
}

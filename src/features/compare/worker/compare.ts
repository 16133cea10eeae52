import { compareWithTimes } from '../core/against-times';
import { compareWithTrace } from '../core/against-trace';
import type { Measured } from '../core/measured';
import { comparePlans } from '../core/plans';
import { throwIfCancelled } from '../../../core/errors';
import type { Comparison } from '../json';
import type { Plan } from '../../../core/planner/plan';
import type { Against } from '../job';
import { readMeasuredFile, regularFileStatus, type ReadingMeasured } from './measured-file';

/** Compares a plan with another one or with a measured run. @throws as `readMeasuredFile`, `compareWithTrace`. */
type Compare = (plan: Plan, against: Against, options: ReadingMeasured) => Promise<Comparison>;

/** Keeps the last measured run, so that a changed plan is compared with it without reading it again. */
export function makeCompare(): Compare {
  let last: { readonly key: string; readonly measured: Measured } | null = null;
  return async (plan, against, options) => {
    if (against.kind === 'plan') return comparePlans(plan, against.plan, { a: 'A', b: 'B' });
    const { path, file } = against;
    const { size, mtimeMs } = await regularFileStatus(path, file);
    const key = JSON.stringify([path, size, mtimeMs]);
    if (last?.key !== key) {
      last = null;
      last = { key, measured: await readMeasuredFile(path, file, options) };
    }
    throwIfCancelled(options.signal);
    const { measured } = last;
    return measured.kind === 'trace' ? compareWithTrace(plan, measured.trace, file) : compareWithTimes(plan, measured.times);
  };
}

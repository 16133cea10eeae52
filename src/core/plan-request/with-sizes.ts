import { applyOverrides, settingTexts } from '../terapipe/overrides';
import { without } from '../records';
import type { Run } from '../run/run';
import type { WhatIfSet } from '../layout-search/what-if';

/** A run with other sizes and settings; null leaves one to the planner. @throws ExpectedError as `applyOverrides`. */
export function withSizes(run: Run, sets: readonly WhatIfSet[]): Run {
  const given = settingTexts(sets.filter(([, value]) => value !== null));
  return sets.reduce((changed, [key, value]) => (value === null ? leftOpen(changed, key) : changed), applyOverrides(run, given));
}

/** A run without one of the settings that can be left to the planner. */
function leftOpen(run: Run, key: WhatIfSet[0]): Run {
  if (key === 'schedule') return without(run, 'schedule');
  if (key === 'slicing.unit') return without(run, 'unit');
  if (key === 'training.recompute') return { ...run, training: without(run.training, 'recompute') };
  return key === 'training.microBatch' ? { ...run, training: without(run.training, 'microBatch') } : run;
}

import type { WhatIfChoice, WhatIfKey } from '../../src/core/layout-search/what-if';
import { memoryVerdict } from '../../src/core/memory-model/verdict';
import { chosenCandidate, type Plan } from '../../src/core/planner/plan';

/** A setting that can be tried. */
export type TriedKey = WhatIfKey | WhatIfChoice;

/** The three settings to try first: against too little memory, else against what a step of this model loses most to. */
export function firstToTry(plan: Plan): readonly TriedKey[] {
  const { model, layout } = plan.request;
  const groups = model.experts === null ? 'layout.tensor' : 'layout.expert';
  if (!memoryVerdict(chosenCandidate(plan).memory).fits)
    return ['training.recompute', 'training.microBatch', layout.pipeline > 1 ? 'layout.pipeline' : groups];
  if (layout.pipeline > 1) return ['schedule', 'layout.pipeline', 'training.microBatch'];
  return ['training.recompute', groups, 'training.microBatch'];
}

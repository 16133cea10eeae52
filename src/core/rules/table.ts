import { batchRules } from './checks/batch-rules';
import { deepspeedRules } from './checks/deepspeed-rules';
import { expertRules } from './checks/expert-rules';
import { hybridRules } from './checks/hybrid-rules';
import { interleavingRules } from './checks/interleaving-rules';
import { layoutRules } from './checks/layout-rules';
import { memoryRules } from './checks/memory-rules';
import { modelRules } from './checks/model-rules';
import { recomputeRules } from './checks/recompute-rules';
import { scheduleRules } from './checks/schedule-rules';
import { sequenceRules } from './checks/sequence-rules';
import { torchtitanRules } from './checks/torchtitan-rules';
import type { Rule } from './rule';
import { expertPlanRules } from './plan/expert-rules';
import { layoutPlanRules } from './plan/layout-rules';
import { memoryPlanRules } from './plan/memory-findings';
import { modelPlanRules } from './plan/model-rules';
import type { PlanRule } from './plan/plan-rule';
import { trainingPlanRules } from './plan/training-rules';
import { remarks } from './remarks';

/** Rules over the view of a config: of launchers' files, and of a terapipe.json where `formats` says so. */
export const sharedRules: readonly Rule[] = [
  ...layoutRules,
  ...interleavingRules,
  ...expertRules,
  ...modelRules,
  ...hybridRules,
  ...batchRules,
  ...sequenceRules,
  ...scheduleRules,
  ...recomputeRules,
  ...memoryRules,
  ...deepspeedRules,
  ...torchtitanRules,
];

/** Rules about what only planning knows. */
export const planRules: readonly PlanRule[] = [
  ...layoutPlanRules,
  ...expertPlanRules,
  ...modelPlanRules,
  ...trainingPlanRules,
  ...memoryPlanRules,
];

/** What a heading of docs/findings.md says. */
export interface DocumentedCode {
  readonly code: string;
  readonly doc: string;
}

/** Every code of a finding, once, with what all its rules say of it. */
export function documentedCodes(): DocumentedCode[] {
  const docs = new Map<string, string[]>();
  const rules: readonly (DocumentedCode & Pick<Rule, 'planCode'>)[] = [...sharedRules, ...planRules, ...remarks];
  for (const { code, planCode, doc } of rules)
    for (const name of planCode === undefined ? [code] : [code, planCode]) docs.set(name, [...(docs.get(name) ?? []), doc]);
  return [...docs].map(([code, texts]) => ({ code, doc: texts.join('\n\n') }));
}

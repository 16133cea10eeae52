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
import { tensorRules } from './checks/tensor-rules';
import { torchtitanRules } from './checks/torchtitan-rules';
import type { Rule } from './rule';
import { runRules } from './checks/run-rules';
import { remarks } from './remarks';

/** Every rule, over one view of a config: each names the formats that it applies to. */
export const rules: readonly Rule[] = [
  ...layoutRules,
  ...tensorRules,
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
  ...runRules,
];

/** What a heading of docs/findings.md says. */
export interface DocumentedCode {
  readonly code: string;
  readonly doc: string;
}

/** Every code of a finding, once, with what all its rules say of it. */
export function documentedCodes(): DocumentedCode[] {
  const docs = new Map<string, string[]>();
  const documented: readonly (DocumentedCode & Pick<Rule, 'planCode'>)[] = [...rules, ...remarks];
  for (const { code, planCode, doc } of documented)
    for (const name of planCode === undefined ? [code] : [code, planCode]) docs.set(name, [...(docs.get(name) ?? []), doc]);
  return [...docs].map(([code, texts]) => ({ code, doc: texts.join('\n\n') }));
}

import { batchRules } from './checks/batch-rules';
import { deepspeedRules } from './checks/deepspeed-rules';
import { expertRules } from './checks/expert-rules';
import { hybridRules } from './checks/hybrid-rules';
import { interleavingRules } from './checks/interleaving-rules';
import { layoutRules } from './checks/layout-rules';
import { memoryRules } from './checks/memory-rules';
import { modelRules } from './checks/model-rules';
import { pipelineLayoutRules } from './checks/pipeline-layout-rules';
import { recomputeRules } from './checks/recompute-rules';
import { refusalRules } from './checks/refusal-rules';
import { scheduleRules } from './checks/schedule-rules';
import { sequenceRules } from './checks/sequence-rules';
import { sliceRules } from './checks/slice-rules';
import { tensorRules } from './checks/tensor-rules';
import { torchtitanRules } from './checks/torchtitan-rules';
import type { Rule } from './rule';
import { runRules } from './checks/run-rules';
import { guidance, type Guidance } from './guidance';
import { codesOutsideRules, type Documented } from './codes-outside-rules';

/** Every rule, over one view of a config: each names the formats that it applies to. */
export const rules: readonly Rule[] = [
  ...layoutRules,
  ...pipelineLayoutRules,
  ...tensorRules,
  ...interleavingRules,
  ...expertRules,
  ...modelRules,
  ...hybridRules,
  ...batchRules,
  ...sequenceRules,
  ...scheduleRules,
  ...sliceRules,
  ...recomputeRules,
  ...memoryRules,
  ...refusalRules,
  ...deepspeedRules,
  ...torchtitanRules,
  ...runRules,
];

/** A heading of docs/findings.md and the page under it. */
export interface DocumentedCode {
  readonly code: string;
  readonly doc: string;
  /** The code of its rule, which examples go by. */
  readonly rule: string;
  readonly guidance: Guidance;
}

/** Rules and what else finds something: several rules may share a code. */
export const documented: readonly Documented[] = [...rules, ...codesOutsideRules];

/** Every code of a finding, once, with what all its rules say of it. */
export function documentedCodes(): DocumentedCode[] {
  const pages = new Map<string, DocumentedCode>();
  for (const { code, alias, doc: own } of documented) {
    const doc = alias === undefined ? own : `${own} It was called \`${alias}\`, which \`terapipe-ignore\` and settings take too.`;
    const before = pages.get(code);
    if (before !== undefined) pages.set(code, { ...before, doc: `${before.doc}\n\n${doc}` });
    else pages.set(code, { code, doc, rule: code, guidance: guidanceOf(code) });
  }
  return [...pages.values()];
}

/** @throws Error where a rule has none. */
function guidanceOf(code: string): Guidance {
  const found = guidance[code];
  if (found === undefined) throw new Error(`src/core/rules/guidance.ts lacks ${code}`);
  return found;
}

import { batchRules } from './checks/batch-rules';
import { deepspeedRules } from './checks/deepspeed-rules';
import { expertRules } from './checks/expert-rules';
import { hybridRules } from './checks/hybrid-rules';
import { interleavingRules } from './checks/interleaving-rules';
import { layoutRules } from './checks/layout-rules';
import { memoryRules } from './checks/memory-rules';
import { modelRules } from './checks/model-rules';
import { overlapRules } from './checks/overlap-rules';
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
  ...overlapRules,
  ...scheduleRules,
  ...sliceRules,
  ...recomputeRules,
  ...memoryRules,
  ...refusalRules,
  ...deepspeedRules,
  ...torchtitanRules,
  ...runRules,
];

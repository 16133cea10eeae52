import { makePlan } from '../../../../../src/core/planner/make-plan';
import { presetNamed } from '../../../../../src/core/terapipe/cluster-section';
import { loadConfig } from '../../../../../src/core/config-files/load-config';
import type { Plan } from '../../../../../src/core/planner/plan';
import { resolveRun } from '../../../../../src/core/plan-request/resolve';
import type { Scale } from '../../../../../src/features/rehearsal/core/design';

export const asPlanned: Scale = { layers: null, hidden: null, sequence: null, batch: null, stages: null };

const tiny = {
  model: { layers: 4, hidden: 32, heads: 4, ffn: 64, vocab: 64, positions: 'learned', norm: 'layernorm', tiedEmbeddings: true },
  cluster: { gpu: 'L40S', nodes: 1, gpusPerNode: 2 },
  training: {
    sequenceLength: 64,
    microBatch: 1,
    globalBatch: 2,
    precision: 'fp32',
    attention: 'unfused',
    recompute: 'none',
    dropout: false,
  },
  layout: { tensor: 1, pipeline: 2, data: 1 },
  schedule: 'TeraPipe',
  slicing: {
    scheme: [
      [1, [40, 24]],
      [1, [24, 24, 16]],
    ],
  },
};

/** A tiny terapipe.json. @param changes to its sections. */
export function tinyConfig(changes: Readonly<Record<string, unknown>> = {}): string {
  const sections = { ...tiny, ...changes };
  const merged = Object.fromEntries(
    Object.entries(sections).map(([key, value]) => {
      const before: unknown = tiny[key as keyof typeof tiny];
      return [key, isObject(before) && isObject(value) ? { ...before, ...value } : value];
    }),
  );
  return JSON.stringify(merged);
}

/** Its plan. */
export async function tinyPlan(changes: Readonly<Record<string, unknown>> = {}): Promise<Plan> {
  const none = () => Promise.reject(new Error('it refers to nothing'));
  const { run } = await loadConfig('terapipe.json', tinyConfig(changes), { read: none, shell: none });
  const gpu = presetNamed('L40S');
  if (run === null || typeof gpu !== 'string') throw new Error('the tiny config has no run');
  return makePlan(resolveRun(run, { gpu, nodes: null, gpusPerNode: null }));
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { gpusUsed } from '../../src/core/domain/request';
import { ExpectedError } from '../../src/core/errors';
import { fitsMemory } from '../../src/core/memory-model/verdict';
import { resolveRun } from '../../src/core/plan-request/resolve';
import { assumedGpuName, type ResolveDefaults } from '../../src/core/plan-request/scenario';
import { makePlan } from '../../src/core/planner/make-plan';
import { chosenCandidate } from '../../src/core/planner/plan';
import type { Run } from '../../src/core/run/run';
import { sentence } from '../../src/core/sentence';
import { applyOverrides } from '../../src/core/terapipe/overrides';
import { largestThatFits } from '../../src/features/largest/core/largest';
import { loadRun } from '../load-run';

const reason = sentence`for a test`;
const reasons = { gpu: reason, nodes: reason, gpusPerNode: reason };
const defaults: ResolveDefaults = { gpu: assumedGpuName, nodes: null, gpusPerNode: null, reasons };

const refused = (): Promise<never> => Promise.reject(new Error('reads no other file'));

/** A run near the limit of its GPUs' memory, and what is asked of it. */
const asked = fc.record({
  what: fc.constantFrom('sequence', 'micro-batch', 'layers', 'experts', 'fewest-gpus'),
  tensor: fc.constantFrom(1, 2),
  pipeline: fc.constantFrom(1, 2, 4),
  data: fc.constantFrom(1, 2),
  perStage: fc.integer({ min: 1, max: 3 }),
  hidden: fc.constantFrom(512, 1024, 2048),
  sequenceLength: fc.constantFrom(512, 1024),
  microBatches: fc.constantFrom(2, 6, 8, 12),
  memoryGB: fc.constantFrom(2, 3, 4, 6),
  recompute: fc.constantFrom('none', 'selective', 'full'),
  zeroStage: fc.constantFrom(0, 1),
  schedule: fc.constantFrom('1F1B', 'GPipe'),
});
type Case = typeof asked extends fc.Arbitrary<infer T> ? T : never;

/** Everything but the size that is asked for is given, so that nothing is chosen again. */
function configText({ what, tensor, pipeline, data, perStage, hidden, memoryGB, microBatches, schedule, ...training }: Case): string {
  const experts = what === 'experts' ? { experts: 4, activeExperts: 2, expertFfn: hidden } : {};
  const sizes = { tensor, pipeline, virtualStages: 1, context: 1 };
  return JSON.stringify({
    model: { layers: pipeline * perStage, hidden, heads: 8, ffn: 4 * hidden, vocab: 32000, ...experts },
    cluster: {
      gpu: { preset: 'A100-40GB', memoryGB },
      ...(what === 'fewest-gpus' ? { gpusPerNode: 8 } : { gpusPerNode: tensor * pipeline * data, nodes: 1 }),
    },
    training: { ...training, globalBatch: data * microBatches, microBatch: 1, precision: 'bf16' },
    layout: what === 'fewest-gpus' ? sizes : { ...sizes, data, ...(what === 'experts' ? { expert: 1 } : {}) },
    ...(pipeline === 1 ? {} : { schedule }),
  });
}

/** Whether a run fits; null where no plan of it can be made. */
function fits(run: Run, sets: readonly string[]): boolean | null {
  try {
    const request = resolveRun(applyOverrides(run, sets, assumedGpuName), defaults);
    if (gpusUsed(request.layout) !== request.cluster.nodes * request.cluster.gpusPerNode) return null;
    return fitsMemory(chosenCandidate(makePlan(request, { isCompared: false })).memory);
  } catch (error) {
    if (error instanceof ExpectedError) return null;
    throw error;
  }
}

/** Whether a size is legal: layers that stages divide evenly, at least as many experts as a token visits. */
function isLegal({ what, pipeline }: Case, size: number): boolean {
  return what === 'experts' ? size >= 2 : what !== 'layers' || size % pipeline === 0;
}

/** Settings of every size up to the most that is tried, legal or not. */
function everySize({ what }: Case): (readonly [size: number, sets: readonly string[]])[] {
  if (what === 'fewest-gpus')
    return [1, 2, 4, 8, 16, 24, 32, 40].map((size) => [
      size,
      [`cluster.nodes=${Math.ceil(size / 8)}`, `cluster.gpusPerNode=${Math.min(size, 8)}`],
    ]);
  const step = what === 'sequence' ? 128 : 1;
  return Array.from({ length: Math.floor(most[what] / step) }, (_, index) => (index + 1) * step).map((size) => [
    size,
    [`${keys[what]}=${size}`],
  ]);
}

const keys = {
  sequence: 'training.sequenceLength',
  layers: 'model.layers',
  experts: 'model.experts',
  'micro-batch': 'training.microBatch',
};
const most = { sequence: 4096, layers: 48, experts: 24, 'micro-batch': 12, 'fewest-gpus': 40 };

describe('the largest that fits', () => {
  it('equals the largest of all legal sizes', async () => {
    const found = { some: 0, none: 0 };
    const kinds = new Map<Case['what'], number>();
    await fc.assert(
      fc.asyncProperty(asked, async (drawn) => {
        const run = await loadRun('terapipe.json', configText(drawn), refused);
        const { value } = largestThatFits(run, drawn.what, { defaults, most: most[drawn.what] });
        const sizes = everySize(drawn).filter(([size, sets]) => isLegal(drawn, size) && fits(run, sets) === true).map(([size]) => size); // prettier-ignore
        const expected = sizes.length === 0 ? null : drawn.what === 'fewest-gpus' ? Math.min(...sizes) : Math.max(...sizes);
        assert.equal(value, expected);
        found[value === null ? 'none' : 'some']++;
        kinds.set(drawn.what, (kinds.get(drawn.what) ?? 0) + 1);
      }),
      { numRuns: 200, seed: 47 },
    );
    assert.ok(found.some > 80 && found.none > 5, JSON.stringify(found));
    assert.ok(kinds.size === 5 && Math.min(...kinds.values()) >= 20, JSON.stringify([...kinds]));
  });
});

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { freeNames } from '../../src/core/domain/layout-choices';
import { ExpectedError } from '../../src/core/errors';
import { answerSearch } from '../../src/core/layout-search/answer';
import { toSearchProblem } from '../../src/core/layout-search/problem';
import { resolveRun } from '../../src/core/plan-request/resolve';
import { assumedGpuName, type ResolveDefaults } from '../../src/core/plan-request/scenario';
import type { Run } from '../../src/core/run/run';
import { sentence } from '../../src/core/sentence';
import { applyOverrides } from '../../src/core/terapipe/overrides';
import { largestThatFits } from '../../src/features/largest/core/largest';
import { cases } from './cases';
import { loadRun } from '../load-run';

const reason = sentence`for a test`;
const defaults: ResolveDefaults = {
  gpu: assumedGpuName,
  nodes: null,
  gpusPerNode: null,
  reasons: { gpu: reason, nodes: reason, gpusPerNode: reason },
};
const refused = (): Promise<never> => Promise.reject(new Error('reads no other file'));

/** A run whose layout is open, near the limit of its GPUs' memory. */
const asked = fc.record({
  what: fc.constantFrom('sequence', 'layers', 'micro-batch'),
  gpus: fc.constantFrom(2, 4),
  layers: fc.constantFrom(2, 4, 6),
  hidden: fc.constantFrom(512, 1024),
  memoryGB: fc.constantFrom(2, 3, 4),
  globalBatch: fc.constantFrom(4, 8),
});
type Case = typeof asked extends fc.Arbitrary<infer T> ? T : never;

const keys = { sequence: 'training.sequenceLength', layers: 'model.layers', 'micro-batch': 'training.microBatch' };
const most = { sequence: 2048, layers: 24, 'micro-batch': 8 };

function configText({ gpus, layers, hidden, memoryGB, globalBatch }: Case): string {
  return JSON.stringify({
    model: { layers, hidden, heads: 8, ffn: 4 * hidden, vocab: 32000 },
    cluster: { gpu: { preset: 'A100-40GB', memoryGB }, nodes: 1, gpusPerNode: gpus },
    training: { sequenceLength: 1024, globalBatch, precision: 'bf16' },
    schedule: '1F1B',
  });
}

/** Whether a layout was found with which a size fits. */
function fits(run: Run, { what }: Case, size: number): boolean {
  try {
    const changed = applyOverrides(run, [`${keys[what]}=${size}`], assumedGpuName);
    const pinned = what === 'micro-batch' ? ['microBatch'] : [];
    const free = freeNames.layout.filter((key) => !pinned.includes(key));
    const { best } = answerSearch(toSearchProblem(changed, resolveRun(changed, defaults), free), { improvements: false }, {});
    return best.fits;
  } catch (error) {
    if (error instanceof ExpectedError) return false;
    throw error;
  }
}

describe('the largest that fits, the layout searched', () => {
  it('is the largest of all sizes, each searched by itself', async () => {
    const found = { some: 0, none: 0 };
    await fc.assert(
      fc.asyncProperty(asked, async (drawn) => {
        const run = await loadRun('terapipe.json', configText(drawn), refused);
        const { value } = largestThatFits(run, drawn.what, { defaults, isSearched: true, most: most[drawn.what] });
        const step = drawn.what === 'sequence' ? 128 : 1;
        const sizes = Array.from({ length: Math.floor(most[drawn.what] / step) }, (_, index) => (index + 1) * step);
        assert.equal(value, sizes.filter((size) => fits(run, drawn, size)).at(-1) ?? null);
        found[value === null ? 'none' : 'some']++;
      }),
      { numRuns: cases(5, 100), seed: 47 },
    );
    assert.ok(found.some > 0, JSON.stringify(found));
  });
});

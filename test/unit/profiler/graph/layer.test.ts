import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { checkedGraph } from '../../../../src/profiler/graph/slice-graph';
import { type Operand, referencePass } from './reference';
import { assertClose, jobOf, run, variants } from './run-graph';

const tolerance = 1e-4;

describe('slice graph of a layer', () => {
  for (const { title, shape, attention, batch } of variants()) {
    it(`computes what the textbook says, forward and backward: ${title}`, async () => {
      const job = jobOf(shape);
      const cell = { batch, tokens: 5, context: 3 };
      const extents = {
        expertRows: shape.experts === null ? 0 : Math.ceil((cell.batch * cell.tokens * shape.experts.active) / shape.experts.count),
      };
      const operands = new Map<string, Operand>();
      const forward = await run(checkedGraph(job, attention, 'layer', 'forward'), operands, cell, { seed: 7 });
      const saved = new Map([...operands, ...forward]);
      const backward = await run(checkedGraph(job, attention, 'layer', 'backward'), saved, cell, { seed: 8, extents });
      const expected = referencePass(shape, saved, cell.batch, cell.tokens, cell.context);

      for (const name of ['y', 'presentKey', 'presentValue'] as const)
        assertClose(forward.get(name)!.data, expected[name], tolerance, name);
      assert.deepEqual([...backward.keys()].sort(), [...expected.gradients.keys()].sort());
      for (const [name, gradient] of expected.gradients) assertClose(backward.get(name)!.data, gradient, tolerance, name);
    });
  }
});

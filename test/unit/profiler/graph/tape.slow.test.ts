import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { erf, type Operand, range, referencePass, type Operands } from './reference';
import { checkedGraph } from '../../../../src/profiler/graph/slice-graph';
import { inputsOf, jobOf, madeUp, random, shapes, sizesOf } from './run-graph';

describe('float64 reference of a layer', () => {
  it('knows the error function', () => {
    // Abramowitz and Stegun, table 7.1; the last from its asymptotic series.
    assert.ok(Math.abs(erf(0.5) - 0.5204998778) < 1e-10);
    assert.ok(Math.abs(erf(1) - 0.8427007929) < 1e-10);
    assert.ok(Math.abs(erf(2) - 0.995322265) < 1e-9);
    assert.ok(Math.abs(1 - erf(3.5) - 7.43098372341413e-7) < 1e-15);
    assert.equal(erf(-1), -erf(1));
  });

  for (const [title, shape] of Object.entries(shapes)) {
    it(`has gradients that agree with finite differences: ${title}`, () => {
      const cell = { batch: 2, tokens: 3, context: 2 };
      const operands = new Map<string, Operand>();
      for (const direction of ['forward', 'backward'] as const) {
        const extents = { ...sizesOf(cell), expertRows: 1 };
        for (const { name, dims } of inputsOf(checkedGraph(jobOf(shape), 'plain', 'layer', direction), extents)) {
          if (!operands.has(name)) operands.set(name, madeUp(name, dims, random(operands.size)));
        }
      }
      for (const name of [...operands.keys()].filter((key) => key.startsWith('main.'))) {
        operands.set(name, { ...operands.get(name)!, data: new Float64Array(operands.get(name)!.data.length) });
      }
      const loss = (at: Operands) => {
        const { y, presentKey, presentValue } = referencePass(shape, at, cell.batch, cell.tokens, cell.context);
        const own = (present: Float64Array, name: string) => {
          const rows = cell.context + cell.tokens;
          const seeds = Array.from(at.get(name)!.data);
          const isOwn = (i: number) => Math.floor(i / shape.headDim) % rows >= cell.context;
          return dot(
            present.filter((_, i) => isOwn(i)),
            seeds,
          );
        };
        return dot(y, at.get('dy')!.data) + own(presentKey, 'dKeyIn') + own(presentValue, 'dValueIn');
      };
      const { gradients } = referencePass(shape, operands, cell.batch, cell.tokens, cell.context);
      for (const [result, gradient] of gradients) {
        const name = result === 'dx' ? 'x' : result.startsWith('dPast') ? `past${result.slice(5)}` : result.slice(2);
        const next = random(result.length);
        const direction = range(gradient.length).map(() => next());
        const shifted = (step: number) => {
          const operand = operands.get(name)!;
          return loss(
            new Map([
              ...operands,
              [name, { ...operand, data: range(gradient.length).map((i) => operand.data[i]! + step * direction[i]!) }],
            ]),
          );
        };
        const step = 1e-5;
        const expected = (shifted(step) - shifted(-step)) / (2 * step);
        const actual = dot(gradient, direction);
        assert.ok(Math.abs(actual - expected) < 1e-6 * Math.max(1, Math.abs(expected)), `${name}: ${actual} but ${expected}`);
      }
    });
  }
});

function dot(a: ArrayLike<number>, b: ArrayLike<number>): number {
  return range(a.length).reduce((sum, i) => sum + a[i]! * b[i]!, 0);
}

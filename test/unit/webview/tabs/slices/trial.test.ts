import assert from 'node:assert/strict';
import fc from 'fast-check';
import { addCut, cutAlike, equalLengths, moveCut, recut, removeCut } from '../../../../../webview/tabs/slices/trial';
import { whyText } from '../../../../../webview/tabs/slices/words';
import { cases } from '../../../../property/cases';

const sum = (lengths: readonly number[]): number => lengths.reduce((all, each) => all + each, 0);

describe('cuts that are tried', () => {
  it('stay a cutting of the whole sequence, whatever is done to them', () => {
    const lengths = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 2, maxLength: 8 });
    fc.assert(
      fc.property(lengths, fc.nat(), fc.integer({ min: -99, max: 99 }), fc.integer({ min: 1, max: 16 }), (own, at, by, unit) => {
        const index = at % (own.length - 1);
        for (const after of [moveCut(own, index, by, unit), removeCut(own, index), addCut(own, index, unit)]) {
          assert.equal(sum(after), sum(own));
          assert.ok(after.every((length) => length > 0));
        }
      }),
      { numRuns: cases(50, 500) },
    );
  });

  it('move by what is asked, and keep a unit on either side', () => {
    assert.deepEqual(moveCut([128, 128, 64], 0, 64, 64), [192, 64, 64]);
    assert.deepEqual(moveCut([128, 128, 64], 0, 999, 64), [192, 64, 64]);
    assert.deepEqual(moveCut([128, 128, 64], 1, -999, 64), [128, 64, 128]);
    assert.deepEqual(removeCut([128, 128, 64], 1), [128, 192]);
    assert.deepEqual(addCut([128, 128], 0, 64), [64, 64, 128]);
    assert.deepEqual(addCut([64, 128], 0, 64), [64, 128]);
  });

  it('change the chunks that are cut alike and no others', () => {
    const scheme = [
      { batch: 1, tokens: [4, 4] },
      { batch: 2, tokens: [8] },
      { batch: 1, tokens: [4, 4] },
    ];
    assert.deepEqual(
      recut(scheme, [4, 4], [6, 2]).map(({ tokens }) => tokens),
      [[6, 2], [8], [6, 2]],
    );
    assert.deepEqual(
      cutAlike(scheme, [5, 3]).map(({ batch, tokens }) => [batch, ...tokens]),
      Array.from({ length: 4 }, () => [1, 5, 3]),
    );
    assert.deepEqual(equalLengths(100, 3, 8), [40, 40, 20]);
  });

  it('are explained by their own lengths and times', () => {
    const rows = (lengths: readonly number[], times: readonly number[]): Parameters<typeof whyText>[0] =>
      lengths.map((tokens, slice) => ({
        batch: 1,
        times: 1,
        slice,
        tokens,
        context: sum(lengths.slice(0, slice)),
        forwardMs: times[slice]!,
        backwardMs: times[slice]!,
      }));
    assert.match(whyText(rows([8, 6, 4], [1, 1, 1])), /^Later slices attend .* shrink from 8 tokens to 4 tokens and take 2 ms to 2 ms\.$/);
    assert.match(whyText(rows([8, 8, 4], [1, 1.1, 1])), /last equal slice takes 10 % longer/);
    assert.match(whyText(rows([8, 4, 8, 6], [1, 1, 1.5, 1])), /^2 of 4 slices have 8 tokens and take up to 3 ms;/);
    assert.equal(whyText(rows([8], [1])), '');
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { scheduleKey } from '../../../../src/core/layout-search/candidate-group';
import type { Evaluator, Predicted } from '../../../../src/core/layout-search/evaluate';
import type { SearchPoint } from '../../../../src/core/layout-search/known';
import { createBoundErrors } from '../../../../src/core/layout-search/search-budget';
import type { ScheduleName } from '../../../../src/core/domain/schedule-names';

const point = (schedule: ScheduleName, solved = true): SearchPoint =>
  ({ schedule, layout: { tensor: 1, pipeline: 4, data: 1, context: 1, expert: 1, virtualStages: 1 }, solved }) as unknown as SearchPoint;
const predicted = (at: SearchPoint, iterationMs: number, fits = true): Predicted => ({ point: at, iterationMs, fits }) as Predicted;
const bound = (iterationMs: number) => ({ iterationMs, peakBytes: 0 });

/** Bounds of 100 ms, after as many steps of solving; the best of Seq1F1B takes 120 ms. */
function errorsAfter(steps: number) {
  const evaluator = { solvedBound: () => bound(100), solvingSteps: () => steps } as unknown as Evaluator;
  return createBoundErrors(evaluator, new Map([[scheduleKey(sliced), predicted(sliced, 120)]]));
}

const sliced = point('Seq1F1B');

describe('a layout whose slices would be solved', () => {
  it('is left out late in a search where its bound, off by as much as the first, is not below the best of its schedule', () => {
    const errors = errorsAfter(1e9);
    assert.equal(errors.isHopeless(sliced, bound(119)), false, 'nothing is known of the error yet');
    errors.note(predicted(sliced, 110));
    assert.deepEqual(
      [108, 110, 119].map((ms) => errors.isHopeless(sliced, bound(ms))),
      [false, true, true],
    );
  });

  it('is kept early in a search, where its slices are equal, and where nothing of its schedule fits', () => {
    const early = errorsAfter(0);
    early.note(predicted(sliced, 110));
    assert.equal(early.isHopeless(sliced, bound(1e6)), false);
    const late = errorsAfter(1e9);
    late.note(predicted(sliced, 110, false));
    assert.equal(late.isHopeless(sliced, bound(119)), false, 'one that does not fit shows no error');
    late.note(predicted(sliced, 110));
    assert.equal(late.isHopeless(point('Seq1F1B', false), bound(1e6)), false);
    assert.equal(late.isHopeless(point('1F1B'), bound(1e6)), false);
  });

  it('is never left out under TeraPipe, whose slices are solved for as quickly as they are bounded', () => {
    const errors = errorsAfter(1e9);
    const drained = point('TeraPipe');
    errors.note(predicted(drained, 110));
    assert.equal(errors.isHopeless(drained, bound(1e6)), false);
  });
});

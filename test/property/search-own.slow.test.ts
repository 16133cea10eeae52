import assert from 'node:assert/strict';
import fc from 'fast-check';
import { ExpectedError } from '../../src/core/errors';
import { bestPerSchedule } from '../../src/core/planner/choose';
import { makePlan } from '../../src/core/planner/make-plan';
import { chosenCandidate, candidatePeakBytes, type Candidate, type Plan } from '../../src/core/planner/plan';
import { sameMemory, tie } from '../../src/core/planner/explain/reasons';
import { searchLayouts } from '../../src/core/layout-search/assemble';
import type { SearchResult } from '../../src/core/layout-search/result';
import { sameTime, type SearchProblem } from '../../src/core/layout-search/search-problem';
import { cannotSplit } from '../../src/core/layout-search/space';
import { searchKeys } from '../../src/core/domain/layout-choices';
import { cases } from './cases';
import { drawnRuns, requestOfDrawn } from './random-runs';

const runs = cases(12, 300);
const near = 1e-9;

/** A run, and the sizes of its layout that stay; whether a launcher's file gives it whole. */
const problems = fc
  .record({
    drawn: drawnRuns,
    free: fc.shuffledSubarray(['microBatch', 'recompute', 'zeroStage', 'schedule', 'virtualStages', 'pipeline', 'tensor'] as const, {
      minLength: 0,
      maxLength: 2,
    }),
    launcher: fc.constantFrom('none' as const, 'none' as const, 'megatron' as const),
  })
  .map(({ drawn, free, launcher }): SearchProblem => {
    const runs = ['1F1B'] as const;
    const request = requestOfDrawn(launcher === 'megatron' ? { ...drawn, schedule: null } : drawn);
    const fixed = new Set(searchKeys.filter((key) => !free.some((one) => one === key)));
    fixed.delete('data');
    if (request.schedule === null) fixed.delete('schedule');
    return launcher === 'megatron'
      ? { request: { ...request, runs }, fixed, schedules: runs, launched: true }
      : { request, fixed, withoutPlanned: true };
  });

/**
 * The best of all candidates in play is what is chosen: one that fits where any does, and of those one that ties with the fastest; else one
 * with about the least memory.
 */
function requireFreeChoice({ request }: SearchProblem, plan: Plan): void {
  const chosen = chosenCandidate(plan);
  const inPlay = bestPerSchedule(request, plan.candidates);
  assert.ok(inPlay.includes(chosen));
  const fitting = inPlay.filter(({ fits }) => fits);
  if (fitting.length > 0) assert.ok(chosen.fits && chosen.iterationMs <= tie * Math.min(...fitting.map(({ iterationMs }) => iterationMs)));
  else assert.ok(candidatePeakBytes(chosen) <= sameMemory * Math.min(...inPlay.map(candidatePeakBytes)));
}

describe('a search compared with the plan of the same run', () => {
  it(`is never slower than what the plan compares, or does not claim that its best is proved, on ${runs} random runs`, function () {
    this.timeout(0);
    let [compared, faster, proved, refused, without] = [0, 0, 0, 0, 0];
    fc.assert(
      fc.property(problems, (problem) => {
        let plan: Plan;
        try {
          plan = makePlan(problem.request);
        } catch (error) {
          if (error instanceof ExpectedError) return;
          throw error;
        }
        const chosen = chosenCandidate(plan);
        requireFreeChoice(problem, plan);
        // A search leaves out, and names, what no runtime runs with these settings.
        const isLeftOut = ({ schedule }: Candidate): boolean => cannotSplit(problem, schedule, problem.request.training);
        const known = bestPerSchedule(
          { ...problem.request, ...(problem.fixed.has('schedule') ? {} : { schedule: null }) },
          plan.candidates,
        ).filter((candidate) => isLeftOut(chosen) || !isLeftOut(candidate));
        let result: SearchResult;
        try {
          result = searchLayouts(problem);
        } catch (error) {
          // no layout that launchers accept: nothing is claimed to be proved
          if (error instanceof ExpectedError) without++;
          else throw error;
          return;
        }
        const { best, launched } = result;
        if (problem.launched === true) {
          assert.ok(launched !== null && Math.abs(launched.iterationMs / chosen.iterationMs - 1) < near);
          assert.equal(launched.fits, chosen.fits);
        }
        const fitting = known.filter(({ fits }) => fits);
        const [fastest] = fitting.toSorted((a, b) => a.iterationMs - b.iterationMs);
        if (fastest === undefined) return;
        compared++;
        if (best.iterationMs > fastest.iterationMs * sameTime * (1 + near) || !best.fits) {
          refused++;
          assert.ok(problem.schedules !== undefined, `${best.iterationMs} against the plan's ${fastest.iterationMs}`);
          assert.ok(!result.proved, 'a proof against a plan that exists');
        }
        assert.ok(result.lowerBoundMs <= Math.min(best.iterationMs, fastest.iterationMs) * (1 + near));
        assert.ok(result.paretoFront.every((plan) => plan.iterationMs * sameTime >= best.iterationMs * (1 - near)));
        faster += best.iterationMs < fastest.iterationMs * (1 - near) ? 1 : 0;
        proved += result.proved ? 1 : 0;
      }),
      { numRuns: runs, seed: 17 },
    );
    console.log(
      `      ${compared} compared with a plan that fits: ${faster} faster, ${proved} proved, ${refused} where the launcher refuses the plan; ${without} runs without a layout that launchers accept`,
    );
    assert.ok(compared > runs / 3 && proved > 0);
  });
});

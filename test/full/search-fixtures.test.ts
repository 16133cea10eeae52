import assert from 'node:assert/strict';
import { readFileSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { ExpectedError } from '../../src/core/errors';
import { loadConfig } from '../../src/core/config-files/load-config';
import { makePlan } from '../../src/core/planner/make-plan';
import { chosenCandidate, candidatePeakBytes } from '../../src/core/planner/plan';
import { resolveRun } from '../../src/core/plan-request/resolve';
import { searchLayouts } from '../../src/core/layout-search/assemble';
import { toSearchProblem } from '../../src/core/layout-search/problem';
import { shellReader } from '../unit/core/launchers/shell/shell-reader';
import { sentence } from '../../src/core/sentence';

const fixtures = path.join(import.meta.dirname, '../fixtures');
const near = 1e-9;

function filesIn(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const file = path.join(folder, name);
    return statSync(file).isDirectory() ? filesIn(file) : [file];
  });
}

const missing = (): ExpectedError => new ExpectedError('config-not-found', sentence`There is no such file`, sentence`create it`);

/** Reads a file as if it had been opened, with those next to it that exist; null where there is nothing to plan. */
async function opened(file: string) {
  const read = (from: string, named: string) => {
    const target = path.resolve(path.dirname(from), named);
    return statSync(target, { throwIfNoEntry: false })?.isFile() === true
      ? Promise.resolve({ file: target, text: readFileSync(target, 'utf8') })
      : Promise.reject(missing());
  };
  try {
    const { run } = await loadConfig(file, readFileSync(file, 'utf8'), { read, shell: shellReader });
    if (run === null) return null;
    const request = resolveRun(run, { gpu: 'H100-80GB', nodes: null, gpusPerNode: null });
    return { problem: toSearchProblem(run, request), chosen: chosenCandidate(makePlan(request)) };
  } catch (error) {
    if (error instanceof ExpectedError) return null;
    throw error;
  }
}

describe('a search of each fixture', () => {
  let searched = 0;
  for (const file of ['traits', 'launchers', 'configs'].flatMap((folder) => filesIn(path.join(fixtures, folder))))
    it(`answers no worse than the plan of ${path.relative(fixtures, file)}`, async function () {
      this.timeout(0);
      const found = await opened(file);
      if (found === null) return;
      const { problem, chosen } = found;
      let result;
      try {
        result = searchLayouts(problem);
      } catch (error) {
        // no layout that its launcher accepts, or several kinds of nodes: there is no answer
        if (error instanceof ExpectedError) return;
        throw error;
      }
      searched++;
      const { best, proved, launched } = result;
      if (launched !== null)
        assert.ok(Math.abs(launched.iterationMs / chosen.iterationMs - 1) < near, `${launched.iterationMs}, ${chosen.iterationMs}`);
      const { pipeline, virtualStages } = problem.request.layout;
      const refused = problem.schedules !== undefined && virtualStages > 1 && chosen.scheme.length % pipeline !== 0;
      if (refused) assert.ok(!proved || best.iterationMs <= chosen.iterationMs * (1 + near));
      else if (chosen.fits)
        assert.ok(best.fits && best.iterationMs <= chosen.iterationMs * (1 + near), `${best.iterationMs} against ${chosen.iterationMs}`);
      else
        assert.ok(
          best.fits || best.peakBytes <= candidatePeakBytes(chosen) * (1 + near),
          `${best.peakBytes} against ${candidatePeakBytes(chosen)} bytes`,
        );
    });

  after(() => assert.ok(searched >= 30, `${searched} searched`));
});

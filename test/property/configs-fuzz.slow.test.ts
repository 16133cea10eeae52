import assert from 'node:assert/strict';
import { caseOf } from '../fuzz/cases';
import { isConfig, readCorpus } from '../fuzz/corpus';
import { describeFailure, runSeries } from '../fuzz/series';
import { shellReader } from '../unit/core/launchers/shell/shell-reader';
import { cases } from './cases';

/** `npm run fuzz` runs other seeds and more. */
const texts = cases(800, 100_000);
const seed = 4;

describe('readers of configs and launchers', () => {
  it(`answer ${texts} spoilt files with facts or an error in their text, and fix only what they read`, async () => {
    const corpus = readCorpus();
    const caseAt = (index: number) => caseOf(seed, index, corpus);
    const result = await runSeries(await shellReader(), { caseAt, first: 0, cases: texts });
    assert.deepEqual(
      result.failures.map((failure) => describeFailure(failure, `seed ${seed}`)),
      [],
    );
    // The series is worth little if most of it is refused at the door. Schedules and measured runs have no fixes.
    const configs = (texts * corpus.filter(isConfig).length) / corpus.length;
    assert.ok(result.answered > texts / 3 && result.fixed > configs / 10, JSON.stringify(result));
  });
});

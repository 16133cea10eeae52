import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { compareWithTimes } from '../../../../../src/features/compare/core/against-times';
import { comparePlans } from '../../../../../src/features/compare/core/plans';
import { CancelledError, ExpectedError } from '../../../../../src/core/errors';
import { makePlan } from '../../../../../src/core/planner/make-plan';
import type { Plan } from '../../../../../src/core/planner/plan';
import { toPageComparison } from '../../../../../src/features/compare/host/page';
import { createComparisons, type Comparisons } from '../../../../../src/features/compare/host/comparisons';
import type { ComparisonHost } from '../../../../../src/features/compare/host/comparison-host';
import type { Against } from '../../../../../src/features/compare/job';
import { nextTurn, smallModel, smallRun, testHost, uri, type TestHost } from '../../../extension/test-host';
import { say, sentence } from '../../../../../src/core/sentence';

type BestPlan = Awaited<ReturnType<ComparisonHost['best']>>;

const own = uri('terapipe.json');
const other = uri('other.terapipe.json');
const run = uri('run.log');

interface Started {
  readonly plan: Plan;
  readonly against: Against;
  readonly signal: AbortSignal;
  readonly progress: (fraction: number) => void;
  readonly finish: () => Promise<void>;
  readonly fail: (error: Error) => Promise<void>;
}

interface ComparedHost extends TestHost {
  readonly comparisons: Comparisons;
  readonly started: readonly Started[];
  readonly best: { current: BestPlan | null; fails: Error | null; staleEdits: number; readonly searched: AbortSignal[] };
  readonly foundBest: () => void;
}

function comparedHost(): ComparedHost {
  const host = testHost({
    'terapipe.json': smallRun(),
    'other.terapipe.json': smallRun({ schedule: 'GPipe' }),
    'config.json': smallModel,
  });
  const started: Started[] = [];
  const compare: ComparisonHost['compare'] = (plan, against, { signal = new AbortController().signal, onProgress } = {}) =>
    new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(new CancelledError()));
      started.push({
        plan,
        against,
        signal,
        progress: (fraction) => onProgress?.(fraction),
        finish: async () => {
          resolve(
            against.kind === 'plan'
              ? comparePlans(plan, against.plan, { a: 'A', b: 'B' })
              : compareWithTimes(plan, { stepsMs: [5, 5], stages: [] }),
          );
          await nextTurn();
        },
        fail: async (error) => {
          reject(error);
          await nextTurn();
        },
      });
    });
  const best: ComparedHost['best'] = { current: null, fails: null, staleEdits: 0, searched: [] };
  let tellBest: (file: string) => void = () => undefined;
  const comparisons = createComparisons(host.sessions, {
    compare,
    best: (_, signal) => {
      best.searched.push(signal);
      if (best.fails !== null) return Promise.reject(best.fails);
      if (best.current === null) return Promise.reject(new ExpectedError('no-fit', sentence`Nothing fits`, sentence`use more GPUs`));
      return Promise.resolve(best.current);
    },
    bestAnswer: () => (best.current === null ? null : { answer: best.current.answer, staleEdits: best.staleEdits }),
    onDidChangeBest: (listener) => {
      tellBest = listener;
      return { dispose: () => undefined };
    },
    localPath: (file) => file.replace('file://', ''),
    displayPath: (file) => file.replace('file:///w/', ''),
    reportBug: (error) => host.bugs.push(error),
  });
  return { ...host, comparisons, started, best, foundBest: () => tellBest(own) };
}

async function planned(...files: readonly string[]): Promise<ComparedHost> {
  const host = comparedHost();
  for (const file of files) {
    void host.sessions.ensure(file, 'terapipe');
    await host.finish();
  }
  return host;
}

async function until(what: string, holds: () => boolean): Promise<void> {
  for (let turns = 0; !holds(); turns += 1) {
    assert.ok(turns < 1000, what);
    await nextTurn();
  }
}

async function nth(started: readonly Started[], index: number): Promise<Started> {
  await until(`comparison ${index}`, () => started.length > index);
  return started[index]!;
}

const edit = (host: ComparedHost, file: string, more: Readonly<Record<string, unknown>>): void => {
  host.files.set(file, smallRun(more));
  host.sessions.changed(file);
};

describe('comparisons', () => {
  it('set two configs side by side and turn them round', async () => {
    const { comparisons, started } = await planned(own, other);
    const done = comparisons.start(own, { kind: 'config', file: other });
    assert.deepEqual(comparisons.state(own)?.running, { fraction: null });
    await (await nth(started, 0)).finish();
    await done;
    const { answer, running, error } = comparisons.state(own)!;
    assert.deepEqual([running, error, answer?.a.file, answer?.b.file], [null, null, 'terapipe.json', 'other.terapipe.json']);
    assert.equal(answer?.b.how, 'GPipe');
    const turned = comparisons.swap(own);
    await (await nth(started, 1)).finish();
    await turned;
    const swapped = comparisons.state(own)!.answer!;
    assert.deepEqual([swapped.a.file, swapped.b.file], ['other.terapipe.json', 'terapipe.json']);
    assert.notEqual(swapped.id, answer.id);
    assert.ok(comparisons.needs(other));
    comparisons.close(own);
    assert.deepEqual([comparisons.state(own), comparisons.needs(other)], [null, false]);
  });

  it('wait for a plan that an edit overtook', async () => {
    const host = await planned(own);
    const { comparisons, started, finish, sessions } = host;
    void sessions.ensure(other, 'terapipe');
    const done = comparisons.start(own, { kind: 'config', file: other });
    await until('planning', () => host.requests.length === 2);
    void sessions.replan(other);
    await until('planning again', () => host.requests.length === 3);
    assert.equal(comparisons.state(own)?.error, null);
    await finish();
    await finish();
    await (await nth(started, 0)).finish();
    await done;
    const { answer, error } = comparisons.state(own)!;
    assert.deepEqual([error, answer?.b.how], [null, 'GPipe']);
  });

  it('follow an edit of either config, and stay when one breaks it', async () => {
    const host = await planned(own, other);
    const { comparisons, started, finish } = host;
    void comparisons.start(own, { kind: 'config', file: other });
    await (await nth(started, 0)).finish();
    const first = comparisons.state(own)!.answer!;
    edit(host, other, { schedule: '1F1B' });
    assert.deepEqual([comparisons.state(own)?.staleEdits, comparisons.state(own)?.answer], [1, first]);
    await finish();
    await (await nth(started, 1)).finish();
    const second = comparisons.state(own)!;
    assert.deepEqual([second.staleEdits, second.answer?.b.how], [0, '1F1B']);
    edit(host, own, { training: { sequenceLength: 'long' } });
    await until('the error', () => comparisons.state(own)?.error !== null);
    assert.equal(comparisons.state(own)?.answer, second.answer);
    assert.equal(comparisons.state(own)?.staleEdits, 1);
    edit(host, own, { schedule: 'TeraPipe' });
    await finish();
    await (await nth(started, 2)).finish();
    const { answer, error, staleEdits } = comparisons.state(own)!;
    assert.deepEqual([answer?.a.how, error, staleEdits], ['TeraPipe', null, 0]);
    assert.equal(started.length, 3, 'compared more often than it changed');
  });

  it('wait for a config that cannot be planned yet, and explain why', async () => {
    const host = await planned(own);
    const { comparisons, started, sessions, finish, files } = host;
    files.set(other, '{ "model": 3 }');
    await sessions.ensure(other, 'terapipe');
    await comparisons.start(own, { kind: 'config', file: other });
    const { error, answer } = comparisons.state(own)!;
    assert.deepEqual([error?.place?.file, answer, started.length], [other, null, 0]);
    edit(host, other, {});
    await finish();
    await (await nth(started, 0)).finish();
    assert.deepEqual([comparisons.state(own)?.error, comparisons.state(own)?.answer?.b.file], [null, 'other.terapipe.json']);
  });

  it('read a measured run, show the progress, and keep the answer when reading again is cancelled', async () => {
    const { comparisons, started } = await planned(own);
    void comparisons.start(own, { kind: 'measured', file: run });
    const reading = await nth(started, 0);
    assert.deepEqual(reading.against, { kind: 'measured', path: '/w/run.log', file: run });
    reading.progress(0.5);
    assert.deepEqual(comparisons.state(own)?.running, { fraction: 0.5 });
    await reading.finish();
    const { answer } = comparisons.state(own)!;
    assert.deepEqual([answer?.reported.kind, answer?.a.role, answer?.b.role, answer?.b.lengthMs], ['times', 'config', 'measured', 5]);
    const again = comparisons.again(own);
    const second = await nth(started, 1);
    comparisons.cancel(own);
    await again;
    assert.ok(second.signal.aborted);
    assert.deepEqual([comparisons.state(own)?.answer, comparisons.state(own)?.running], [answer, null]);
    comparisons.close(own);
    void comparisons.start(own, { kind: 'measured', file: run });
    await nth(started, 2);
    comparisons.cancel(own);
    assert.equal(comparisons.state(own), null, 'without an answer there is nothing to stay');
  });

  it('show an error of the run with its remedy, and do not try again by themselves', async () => {
    const { comparisons, started, bugs } = await planned(own);
    void comparisons.start(own, { kind: 'measured', file: run });
    const error = new ExpectedError('trace-syntax', sentence`The trace ends in the middle`, sentence`record it again`, {
      file: run,
      range: { start: 0, end: 0 },
    });
    await (await nth(started, 0)).fail(error);
    const context = {
      displayPath: (file: string) => file.replace('file:///w/', ''),
      sessionTexts: () => new Map<string, string>(),
      sent: null,
    };
    const page = toPageComparison(own, comparisons.state(own), context);
    const shown = page!.error!;
    assert.deepEqual([say(shown.message), say(shown.remedy), shown.place, shown.placeText], ['The trace ends in the middle', 'record it again', null, 'run.log']); // prettier-ignore
    assert.equal(started.length, 1);
    void comparisons.again(own);
    await (await nth(started, 1)).fail(new TypeError('x is not a function'));
    assert.equal(comparisons.state(own)?.error?.code, 'internal');
    assert.equal(bugs.length, 1);
  });

  it('compare the layout of a config with the best, again when another search has answered', async () => {
    const host = await planned(own);
    const { comparisons, started, best, foundBest, requests } = host;
    const found = (answer: string): BestPlan => ({ plan: makePlan({ ...requests[0]!, schedule: 'GPipe' }), isLaunched: true, answer });
    await comparisons.start(own, { kind: 'best' });
    assert.equal(comparisons.state(own)?.error?.code, 'no-fit');
    best.current = found('search-1');
    foundBest();
    await (await nth(started, 0)).finish();
    const { answer } = comparisons.state(own)!;
    assert.deepEqual([answer?.a.role, answer?.b.role, comparisons.state(own)?.error], ['launched', 'best', null]);
    best.staleEdits = 2;
    foundBest();
    assert.equal(comparisons.state(own)?.staleEdits, 2);
    assert.equal(started.length, 1, 'compared with an old search');
    best.current = found('search-2');
    best.staleEdits = 0;
    foundBest();
    await (await nth(started, 1)).finish();
    assert.notEqual(comparisons.state(own)?.answer?.id, answer?.id);
    assert.equal(comparisons.state(own)?.staleEdits, 0);
    void comparisons.again(own);
    await until('a search', () => best.searched.length === 4);
    comparisons.cancel(own);
    assert.ok(best.searched[3]!.aborted, 'the search continues');
  });

  it('do not try again by themselves when the best cannot be planned, or was given up', async () => {
    const host = await planned(own);
    const { comparisons, best, requests, started, foundBest } = host;
    best.current = { plan: makePlan(requests[0]!), isLaunched: false, answer: 'search-1' };
    for (const failure of [
      new ExpectedError('plan-too-large', sentence`The step is too large`, sentence`make it smaller`),
      new CancelledError(),
    ]) {
      best.fails = failure;
      const before = best.searched.length;
      await comparisons.start(own, { kind: 'best' });
      foundBest();
      await nextTurn();
      assert.equal(best.searched.length, before + 1);
      assert.equal(comparisons.state(own)?.running, null);
    }
    best.fails = null;
    best.current = { ...best.current, answer: 'search-2' };
    foundBest();
    await (await nth(started, 0)).finish();
    assert.deepEqual([comparisons.state(own)?.answer?.a.role, comparisons.state(own)?.error], ['planned', null]);
  });

  it('send an answer to a page once', async () => {
    const { comparisons, started } = await planned(own, other);
    void comparisons.start(own, { kind: 'config', file: other });
    await (await nth(started, 0)).finish();
    const state = comparisons.state(own);
    const context = { displayPath: (file: string) => file, sessionTexts: () => new Map<string, string>() };
    const first = toPageComparison(own, state, { ...context, sent: null })!;
    assert.equal(first.answer, state!.answer);
    const second = toPageComparison(own, state, { ...context, sent: first.answer!.id })!;
    assert.deepEqual(second, { ...first, answer: { id: first.answer!.id, sent: true } });
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { CancelledError, ExpectedError } from '../../../../src/core/errors';
import { makePlan } from '../../../../src/core/planner/make-plan';
import { answerSearch } from '../../../../src/core/layout-search/answer';
import type { SearchResult } from '../../../../src/core/layout-search/result';
import type { SearchProblem } from '../../../../src/core/layout-search/search-problem';
import { configLenses } from '../../../../src/extension/language/lens-text';
import { toPageLayout } from '../../../../src/host/pages/layout-page';
import { createLayoutSearches, type LayoutSearches } from '../../../../src/host/sessions/layout-searches';
import { shellReader } from '../../core/launchers/shell/shell-reader';
import { nextTurn, smallModel, smallRun, testHost, uri, type TestHost } from '../test-host';
import { sentence, english } from '../../../../src/core/sentence';

const script = `#!/bin/bash
torchrun --nproc_per_node 4 --nnodes 1 pretrain_gpt.py \\
  --tensor-model-parallel-size 1 \\
  --pipeline-model-parallel-size 4 \\
  --num-layers 8 --hidden-size 256 --num-attention-heads 4 \\
  --seq-length 256 --max-position-embeddings 256 \\
  --micro-batch-size 1 --global-batch-size 24 --vocab-size 50257 --bf16
`;
const file = uri('pretrain.sh');
const config = uri('terapipe.json');

interface Started {
  readonly problem: SearchProblem;
  readonly improvements: boolean;
  readonly signal: AbortSignal;
  readonly finish: () => Promise<void>;
  readonly fail: (error: unknown) => void;
}

interface SearchHost extends TestHost {
  readonly layouts: LayoutSearches;
  readonly started: readonly Started[];
}

let reader: ReturnType<typeof shellReader> | undefined;

function searchHost(files: Readonly<Record<string, string>>, automatic = true): SearchHost {
  const host = testHost(files, 1, () => (reader ??= shellReader()));
  const started: Started[] = [];
  const search = (problem: SearchProblem, options: Parameters<typeof answerSearch>[2] & { improvements?: boolean } = {}) =>
    new Promise<SearchResult>((resolve, reject) => {
      const signal = options.signal as AbortSignal;
      signal.addEventListener('abort', () => reject(new CancelledError()));
      started.push({
        problem,
        signal,
        improvements: options.improvements === true,
        finish: async () => {
          resolve(answerSearch(problem, { improvements: false }));
          await nextTurn();
        },
        fail: reject,
      });
    });
  const layouts = createLayoutSearches(host.sessions, {
    search: search as never,
    plan: (request) => Promise.resolve(makePlan(request)),
    isAutomatic: () => automatic,
    reportBug: (error) => host.bugs.push(error),
  });
  return { ...host, layouts, started };
}

async function count(started: readonly unknown[], wanted: number): Promise<void> {
  for (let turns = 0; started.length < wanted; turns += 1) {
    assert.ok(turns < 2000, `${started.length} searches, not ${wanted}`);
    await nextTurn();
  }
}

async function plannedScript(automatic = true): Promise<SearchHost> {
  const host = searchHost({ 'pretrain.sh': script }, automatic);
  void host.sessions.ensure(file, 'megatron-shell');
  await host.finish();
  return host;
}

/** The lenses over the script. */
function lensText(sessions: TestHost['sessions'], layouts: LayoutSearches): string {
  const lenses = configLenses(sessions.get(file)!, layouts.state(file), english);
  return lenses.map(({ title }) => title).join(' | ');
}

describe('searches of layouts', () => {
  it('begin by themselves once a launcher is planned, and compare what it launches with the best', async () => {
    const { layouts, started, sessions } = await plannedScript();
    await count(started, 1);
    assert.equal(started[0]?.improvements, false);
    assert.match(lensText(sessions, layouts), / \| Searching layouts…$/);
    await started[0].finish();
    const state = layouts.state(file);
    assert.equal(state?.running, undefined);
    assert.ok(state?.answer?.result.launched);
    assert.match(lensText(sessions, layouts), / · best( layout| [\d.]+ (µs|ms|s)) \| /);
    assert.deepEqual(
      layouts.findings(file).map(({ code }) => code),
      ['layout-slower'],
    );
    const page = toPageLayout(sessions.get(file)!, state);
    assert.equal(page?.answer?.id, state.answer.id);
    assert.equal(page.running, null);
    await nextTurn();
    assert.equal(started.length, 1);
  });

  it('wait for a person where that is asked for, and always for a terapipe.json', async () => {
    const off = await plannedScript(false);
    const own = searchHost({ 'terapipe.json': smallRun(), 'config.json': smallModel });
    void own.sessions.ensure(config, 'terapipe');
    await own.finish();
    await nextTurn();
    assert.deepEqual([off.started.length, own.started.length], [0, 0]);
    const asked = own.layouts.search(config);
    await count(own.started, 1);
    assert.equal(own.started[0]?.improvements, true);
    await own.started[0].finish();
    assert.equal((await asked).best.point.layout.pipeline, 4, 'what the file fixes stays');
  });

  it('make way for a plan, and begin again behind it', async () => {
    const { sessions, started, finish, files } = await plannedScript();
    await count(started, 1);
    files.set(file, script.replace('--global-batch-size 24', '--global-batch-size 48'));
    sessions.changed(file);
    while (!started[0]!.signal.aborted) await nextTurn();
    assert.equal(started.length, 1);
    await finish();
    await count(started, 2);
    assert.equal(started[1]?.problem.request.training.globalBatch, 48);
    await started[1].finish();
  });

  it('are searched for a person at once, though one is under way in the background', async () => {
    const { layouts, started } = await plannedScript();
    await count(started, 1);
    const asked = layouts.current(file);
    await count(started, 2);
    assert.ok(started[0]?.signal.aborted);
    await started[1]?.finish();
    assert.equal((await asked).result, layouts.state(file)?.answer?.result);
    await layouts.current(file);
    assert.equal(started.length, 2, 'the answer is current');
  });

  it('age with edits, stay, and are current again when the question is the same', async () => {
    const { sessions, started, finish, files, layouts } = await plannedScript();
    await count(started, 1);
    await started[0]?.finish();
    const { answer } = layouts.state(file)!;
    sessions.changed(file);
    assert.equal(layouts.state(file)?.staleEdits, 1);
    assert.deepEqual(layouts.findings(file), []);
    assert.equal(layouts.findings(file), layouts.findings(file), 'the same list: another one would publish the problems again');
    assert.match(lensText(sessions, layouts), /^Before the last edits: /);
    files.set(file, `${script}# a remark\n`);
    sessions.changed(file);
    await finish();
    await nextTurn();
    assert.equal(layouts.state(file)?.staleEdits, 0);
    assert.equal(layouts.state(file)?.answer, answer);
    assert.equal(layouts.findings(file).length, 1);
    assert.equal(started.length, 1, 'nothing to search again');
  });

  it('end quietly when cancelled, keeping the last answer, and show what went wrong otherwise', async () => {
    const { started, layouts, bugs } = await plannedScript(false);
    const first = layouts.search(file);
    await count(started, 1);
    await started[0]?.finish();
    await first;
    const { answer } = layouts.state(file)!;
    const second = layouts.search(file);
    await count(started, 2);
    layouts.cancel(file);
    await assert.rejects(second, CancelledError);
    assert.deepEqual({ ...layouts.state(file) }, { running: undefined, answer, staleEdits: 0, error: null, opened: null });
    const third = layouts.search(file);
    await count(started, 3);
    started[2]?.fail(new ExpectedError('search-no-layout', sentence`None`, sentence`more GPUs`));
    await assert.rejects(third, ExpectedError);
    assert.equal(layouts.state(file)?.error?.code, 'search-no-layout');
    assert.equal(layouts.state(file)?.answer, answer);
    assert.deepEqual(bugs, []);
  });

  it('are not tried over and over in the background where there is nothing to find', async () => {
    const { started, layouts, sessions, finish } = await plannedScript();
    await count(started, 1);
    started[0]?.fail(new ExpectedError('search-no-layout', sentence`None`, sentence`more GPUs`));
    await nextTurn();
    void sessions.replan(file);
    await finish();
    await nextTurn();
    assert.equal(started.length, 1);
    assert.equal(layouts.state(file)?.error, null, 'nobody asked');
  });

  it('open a plan of theirs whole, as it was predicted, and refuse one of an older answer', async () => {
    const { started, layouts } = await plannedScript();
    await count(started, 1);
    await started[0]?.finish();
    const { id, result } = layouts.state(file)!.answer!;
    const index = toPageLayout((await plannedScript(false)).sessions.get(file)!, layouts.state(file))!.answer!.best;
    await layouts.open(file, { answer: id, index });
    const { opened } = layouts.state(file)!;
    assert.equal(opened?.index, index);
    const chosen = opened.plan.candidates.find((candidate) => candidate.id === opened.plan.chosen);
    assert.equal(chosen?.iterationMs, result.best.iterationMs);
    const isOutdated = (error: unknown) => error instanceof ExpectedError && error.code === 'layout-outdated';
    await assert.rejects(layouts.open(file, { answer: `${id}0`, index }), isOutdated);
    await assert.rejects(layouts.open(file, { answer: id, index: 10_000 }), isOutdated);
    await layouts.open(file, null);
    assert.equal(layouts.state(file)?.opened, null);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { CancelledError } from '../../../../src/core/errors';
import { makePlan } from '../../../../src/core/planner/make-plan';
import { chosenCandidate, type Plan } from '../../../../src/core/planner/plan';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { withSizes } from '../../../../src/core/plan-request/with-sizes';
import { createPlanHistories, type PlanHistories } from '../../../../src/host/sessions/plan-histories';
import { createWhatIfs } from '../../../../src/host/sessions/what-ifs';
import { nextTurn, smallModel, smallRun, testHost, uri, type TestHost } from '../test-host';

const file = uri('terapipe.json');
const twoStages = [
  ['layout.pipeline', 2],
  ['layout.data', 2],
] as const;

function noBugs(error: unknown): void {
  throw error;
}

async function planned(): Promise<TestHost> {
  const host = testHost({ 'terapipe.json': smallRun(), 'config.json': smallModel });
  const ready = host.sessions.ensure(file, 'terapipe');
  await host.finish();
  await ready;
  return host;
}

/** @param like a plan to answer with in place of a new one: what it is of is what counts. */
async function edited(host: TestHost, more: Readonly<Record<string, unknown>>, like?: Plan): Promise<void> {
  host.files.set(file, smallRun(more));
  const ready = host.sessions.replan(file);
  await host.finish(like === undefined ? undefined : (request) => ({ ...like, request }));
  await ready;
}

describe('sizes that are tried before they are written', () => {
  it('are planned over the run, and forgotten with the next edit', async () => {
    const { sessions } = await planned();
    const whatIfs = createWhatIfs(sessions, {
      plan: (run, sets) => Promise.resolve(makePlan(resolveRun(withSizes(run, sets), { gpu: 'A100-40GB', nodes: 1, gpusPerNode: 4 }))),
      reportBug: noBugs,
    });
    await whatIfs.attempt(file, twoStages);
    const { plan, sets } = whatIfs.state(file) ?? assert.fail();
    assert.deepEqual(sets, twoStages);
    assert.deepEqual([plan?.request.layout.pipeline, plan?.request.layout.data], [2, 2]);
    sessions.changed(file);
    assert.equal(whatIfs.state(file), null);
  });

  it('may be settings that are chosen, or left to the planner again', async () => {
    const { sessions } = await planned();
    const run = sessions.get(file)?.run ?? assert.fail();
    const chosen = withSizes(run, [
      ['schedule', '1F1B'],
      ['slicing.unit', 32],
      ['training.recompute', 'selective'],
      ['training.microBatch', 2],
    ]);
    assert.deepEqual(
      [chosen.schedule?.value, chosen.unit?.value, chosen.training.recompute?.value, chosen.training.microBatch?.value],
      ['1F1B', 32, 'selective', 2],
    );
    const open = withSizes(chosen, [
      ['schedule', null],
      ['slicing.unit', null],
      ['training.recompute', null],
      ['layout.pipeline', 2],
    ]);
    assert.deepEqual([open.schedule, open.unit, open.training.recompute], [undefined, undefined, undefined]);
    assert.deepEqual([open.training.microBatch?.value, open.layout.pipeline?.value], [2, 2]);
    assert.equal(withSizes(chosen, [['training.microBatch', null]]).training.microBatch, undefined);
  });

  it('may be another cut of the layers', async () => {
    const { sessions } = await planned();
    const whatIfs = createWhatIfs(sessions, {
      plan: (run, sets) => Promise.resolve(makePlan(resolveRun(withSizes(run, sets), { gpu: 'A100-40GB', nodes: 1, gpusPerNode: 4 }))),
      reportBug: noBugs,
    });
    await whatIfs.attempt(file, [['layout.stageLayers', [0, 2, 1, 1]]]);
    const { plan } = whatIfs.state(file) ?? assert.fail();
    assert.deepEqual(plan?.request.layout.stageLayers, [0, 2, 1, 1]);
  });

  it('explain why they cannot be planned', async () => {
    const { sessions } = await planned();
    const whatIfs = createWhatIfs(sessions, {
      plan: (run, sets) => Promise.resolve().then(() => makePlan(resolveRun(withSizes(run, sets), { gpu: 'A100-40GB', nodes: 1, gpusPerNode: 4 }))), // prettier-ignore
      reportBug: noBugs,
    });
    await whatIfs.attempt(file, [['layout.pipeline', 8]]);
    assert.equal(whatIfs.state(file)?.plan, null);
    assert.ok(whatIfs.state(file)?.error !== null);
  });

  it('stop those before them', async () => {
    const { sessions } = await planned();
    const signals: AbortSignal[] = [];
    const whatIfs = createWhatIfs(sessions, {
      plan: (_, __, ___, { signal }) => {
        signals.push(signal);
        return new Promise<Plan>((_resolve, reject) => signal.addEventListener('abort', () => reject(new CancelledError())));
      },
      reportBug: noBugs,
    });
    void whatIfs.attempt(file, twoStages);
    void whatIfs.attempt(file, [['layout.tensor', 2]]);
    await nextTurn();
    assert.deepEqual(
      signals.map(({ aborted }) => aborted),
      [true, false],
    );
    await whatIfs.attempt(file, []);
    assert.equal(whatIfs.state(file), null);
    assert.equal(signals[1]?.aborted, true);
  });
});

describe('the history of plans', () => {
  const dirty = new Set<string>();
  const historyOf = async (): Promise<{ readonly host: TestHost; readonly histories: PlanHistories }> => {
    dirty.clear();
    const host = testHost({ 'terapipe.json': smallRun(), 'config.json': smallModel });
    const histories = createPlanHistories(host.sessions, (name) => dirty.has(name));
    const ready = host.sessions.ensure(file, 'terapipe');
    await host.finish();
    await ready;
    return { host, histories };
  };

  it('reports what each edit changed, and which plan is that of the saved files', async () => {
    const { host, histories } = await historyOf();
    dirty.add(file);
    await edited(host, { layout: { tensor: 1, pipeline: 2, data: 2 } });
    const [now, opened] = histories.plans(file);
    assert.deepEqual([opened?.isSaved, now?.isSaved, opened?.changes], [true, false, []]);
    assert.deepEqual(
      now?.changes.filter(({ key }) => key.startsWith('layout.')).map(({ key, a, b }) => `${key} ${a} ${b}`),
      ['layout.pipeline 4 2', 'layout.data 1 2', 'layout.virtualStages 1 2'],
    );
    dirty.clear();
    histories.saved(file);
    assert.deepEqual(
      histories.plans(file).map(({ isSaved }) => isSaved),
      [true, false],
    );
  });

  it('keeps twenty plans, and pinned ones beyond', async () => {
    const { host, histories } = await historyOf();
    dirty.add(file);
    const first = histories.plans(file)[0]?.id ?? assert.fail();
    histories.pin(file, first, true);
    histories.saved(file);
    const like = host.sessions.get(file)?.plan ?? assert.fail();
    for (let edit = 0; edit < 25; edit++) await edited(host, { training: { sequenceLength: 256, globalBatch: 8 + 4 * (edit % 3) } }, like);
    const plans = histories.plans(file);
    assert.ok(plans.length >= 20 && plans.length <= 22, `${plans.length} plans`);
    assert.ok(plans.some(({ id }) => id === first));
    const kept = histories.planAt(file, first) ?? assert.fail();
    assert.deepEqual([kept.candidates.length, chosenCandidate(kept).id], [1, kept.chosen]);
    histories.pin(file, first, false);
    assert.ok(histories.plans(file).every(({ id, isSaved }) => id !== first || isSaved));
  });
});

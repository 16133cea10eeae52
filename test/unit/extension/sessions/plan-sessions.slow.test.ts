import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { mostTrials } from '../../../../src/core/rules/plan/remedies';
import { limitSessions } from '../../../../src/host/sessions/session-limit';
import { shellReader } from '../../core/launchers/shell/shell-reader';
import { nextTurn, smallModel, smallRun, testHost, uri } from '../test-host';
import { makePlan } from '../../../../src/core/planner/make-plan';
import type { Plan } from '../../../../src/core/planner/plan';
import { say } from '../../../../src/core/sentence';

const run = uri('terapipe.json');
const model = uri('config.json');

describe('plan sessions', () => {
  it('report a misspelt key although the model is missing, and keep the last plan', async () => {
    const { sessions, files, finish } = testHost({ 'terapipe.json': smallRun(), 'config.json': smallModel });
    const planned = sessions.ensure(run, 'terapipe');
    await finish();
    const { plan } = await planned;
    files.set(run, smallRun({ model: 'sub/nowhere.json', layuot: { tensor: 4 } }));
    sessions.changed(run);
    const state = await sessions.replan(run);
    assert.equal(state.error?.code, 'config-not-found');
    assert.deepEqual(
      state.findings.map(({ code }) => code),
      ['unknown-key'],
    );
    assert.ok(plan !== null && state.plan === plan);
  });

  it('keep the last good plan while the text has errors, and plan the text that has none again', async () => {
    const { sessions, files, finish, requests } = testHost({ 'terapipe.json': smallRun(), 'config.json': smallModel });
    const planned = sessions.ensure(run, 'terapipe');
    await finish();
    const { plan } = await planned;
    files.set(run, smallRun({ layout: { tensor: 3, pipeline: 4, data: 1 }, cluster: { gpu: 'A100-40GB', nodes: 3, gpusPerNode: 4 } }));
    sessions.changed(run);
    const broken = await sessions.replan(run);
    assert.ok(broken.findings.some(({ severity }) => severity === 'error'));
    assert.ok(plan !== null && broken.plan === plan && broken.staleEdits === 1 && broken.progress === null);
    assert.equal(requests.length, 1);
    files.set(run, smallRun({ training: { sequenceLength: 128, globalBatch: 4 } }));
    sessions.changed(run);
    const again = sessions.replan(run);
    await finish();
    const { plan: next, staleEdits } = await again;
    assert.deepEqual([next?.request.training.sequenceLength, staleEdits], [128, 0]);
  });

  it('report it when one is dropped, once', async () => {
    const { sessions, finish } = testHost({ 'terapipe.json': smallRun(), 'config.json': smallModel });
    const planned = sessions.ensure(run, 'terapipe');
    await finish();
    await planned;
    const dropped: string[] = [];
    sessions.onDidDrop((file) => dropped.push(file));
    sessions.drop(run);
    sessions.drop(run);
    assert.deepEqual(dropped, [run]);
    assert.equal(sessions.get(run), undefined);
  });

  it('report nothing that a file or a setting switches off', async () => {
    const misspelt = smallRun({ model: 'sub/nowhere.json', layuot: { tensor: 4 } });
    const codes = async (text: string, off: readonly string[]) => {
      const { sessions } = testHost({ 'terapipe.json': text }, 1, undefined, new Set(off));
      return (await sessions.ensure(run, 'terapipe')).findings.map(({ code }) => code);
    };
    assert.deepEqual(await codes(misspelt, []), ['unknown-key']);
    assert.deepEqual(await codes(misspelt, ['unknown-key']), []);
    assert.deepEqual(await codes(`// terapipe-ignore: unknown-key\n${misspelt}`, []), []);
  });

  it('plan a config with what it refers to', async () => {
    const { sessions, finish } = testHost({ 'terapipe.json': smallRun(), 'config.json': smallModel });
    const planned = sessions.ensure(run, 'terapipe');
    await finish();
    const state = await planned;
    assert.equal(state.plan?.request.model.layers, 4);
    assert.equal(state.error, null);
    assert.equal(state.progress, null);
    assert.deepEqual([...sessions.reads(run)], [run, model]);
  });

  it('plan a bare model config for the cluster of the settings', async () => {
    const { sessions, finish, requests } = testHost({ 'config.json': smallModel });
    const planned = sessions.ensure(model, 'huggingface');
    await finish();
    assert.ok((await planned).plan);
    assert.equal(requests[0]?.cluster.gpu.name, 'A100-40GB');
  });

  it('keep the scenario of a config while it is edited, and choose it again when asked to', async () => {
    const { sessions, files, finish, requests } = testHost({ 'config.json': smallModel });
    const planned = async (work: Promise<unknown>): Promise<string> => {
      await finish();
      await work;
      const assumption = requests.at(-1)?.assumptions.find(({ key }) => key === 'layout.tensor');
      return say(assumption?.reason ?? '');
    };
    const first = await planned(sessions.ensure(model, 'huggingface'));
    files.set(model, smallModel.replace('"n_layer":4', '"n_layer":6'));
    assert.equal(await planned(sessions.replan(model)), `kept from the first plan: ${first}`);
    assert.deepEqual(requests.at(-1)?.layout, requests[0]?.layout);
    assert.equal(requests.at(-1)?.training.globalBatch, requests[0]?.training.globalBatch);
    assert.doesNotMatch(await planned(sessions.replan(model, 'choose')), /^kept/);
  });

  it('drop what a newer text overtook, and who waits gets the newer plan', async () => {
    const { sessions, finish, files, requests } = testHost({ 'terapipe.json': smallRun(), 'config.json': smallModel });
    const planned = sessions.ensure(run, 'terapipe');
    while (requests.length < 1) await nextTurn();
    files.set(run, smallRun({ training: { sequenceLength: 128, globalBatch: 4 } }));
    sessions.changed(run);
    while (requests.length < 2) await nextTurn();
    await finish();
    assert.equal(sessions.get(run)?.plan, null);
    assert.notEqual(sessions.get(run)?.progress, null);
    await finish();
    assert.equal(sessions.get(run)?.plan?.request.training.sequenceLength, 128);
    assert.equal(sessions.get(run)?.progress, null);
    assert.equal((await planned).plan, sessions.get(run)?.plan);
  });

  it('show the plan of a fixed schedule before it is compared with others', async () => {
    const { sessions, finish, requests, firsts } = testHost({ 'terapipe.json': smallRun({ schedule: '1F1B' }), 'config.json': smallModel });
    const planned = sessions.ensure(run, 'terapipe');
    while (requests.length < 1) await nextTurn();
    const first: Plan[] = [];
    const whole = makePlan(requests[0]!, { onFirst: (early) => first.push(early) });
    firsts[0]?.(first[0]!);
    const early = sessions.get(run)!;
    assert.deepEqual([early.plan?.candidates.length, early.staleEdits, early.progress !== null], [1, 0, true]);
    await finish(() => whole);
    const state = await planned;
    assert.equal(state.plan, whole);
    assert.equal(state.progress, null);
  });

  it('report the best so far while planning, and no longer', async () => {
    const { sessions, finish, requests, incumbents, files } = testHost({ 'terapipe.json': smallRun(), 'config.json': smallModel });
    const incumbent = { latencyMs: 3, lowerBoundMs: 2 };
    const planned = sessions.ensure(run, 'terapipe');
    while (requests.length < 1) await nextTurn();
    incumbents[0]?.(incumbent);
    assert.deepEqual(sessions.get(run)?.incumbent, incumbent);
    await finish();
    assert.equal((await planned).incumbent, null);
    files.set(run, smallRun({ training: { sequenceLength: 128, globalBatch: 4 } }));
    sessions.changed(run);
    while (requests.length < 2) await nextTurn();
    incumbents[0]?.(incumbent);
    assert.equal(sessions.get(run)?.incumbent, null);
    await finish();
  });

  it('look for changes that fit once a plan that does not is shown, in a bounded number of plans, and an edit stops it', async () => {
    const text = JSON.stringify({
      model: { layers: 8, hidden: 8192, heads: 64, vocab: 0 },
      cluster: { gpu: { preset: 'A100-80GB', memoryGB: 24 }, nodes: 1, gpusPerNode: 8 },
      training: { sequenceLength: 4096, globalBatch: 8, microBatch: 2, precision: 'bf16' },
      layout: { tensor: 2, pipeline: 4, data: 1 },
      schedule: 'GPipe',
    });
    const { sessions, requests, trials, finish, bugs } = testHost({ 'terapipe.json': text });
    const fixes = () =>
      sessions.get(uri('terapipe.json'))!.findings.flatMap((found) => (found.code === 'memory-over-capacity' ? [found.fixes] : []));
    const shown = sessions.ensure(uri('terapipe.json'), 'terapipe');
    await finish();
    assert.equal((await shown).progress, null, 'the plan is shown before any change is planned');
    assert.deepEqual(fixes(), [[]]);
    while (fixes()[0]?.length === 0) await nextTurn();
    assert.equal(requests.length, 1, 'changes are planned away from the plans that are waited for');
    assert.ok(trials.length > 0 && trials.length <= mostTrials, String(trials.length));
    const [offered = []] = fixes();
    assert.ok(offered.length > 0 && offered.length <= 3);
    for (const { title, edits } of offered) {
      assert.match(say(title), /: fits, (as fast|.* (slower|faster|the time))$/);
      assert.ok(edits.length > 0);
    }
    void sessions.replan(uri('terapipe.json'));
    await finish();
    await nextTurn();
    void sessions.replan(uri('terapipe.json'));
    await nextTurn();
    assert.deepEqual(bugs, [], 'a search that an edit stopped is not a failure');
  });

  it("offer changes that fit in a launcher's file as edits of it, its own findings kept", async () => {
    const text = `torchrun --nproc_per_node 4 --nnodes 1 pretrain_gpt.py --tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 \\
  --num-layers 24 --hidden-size 4096 --num-attention-heads 32 --seq-length 4096 --max-position-embeddings 4096 \\
  --micro-batch-size 8 --global-batch-size 8 --vocab-size 50257 --bf16 --use-distributed-optimizer
`;
    const { sessions, finish, bugs } = testHost({ 'train.sh': text }, 1, shellReader);
    const found = () => sessions.get(uri('train.sh'))!.findings;
    const memory = () => found().find(({ code }) => code === 'memory-over-capacity');
    const shown = sessions.ensure(uri('train.sh'), 'megatron-shell');
    await finish();
    await shown;
    const others = found().filter((finding) => finding !== memory());
    assert.deepEqual(memory()?.fixes, []);
    while (memory()?.fixes.length === 0) await nextTurn();
    assert.deepEqual(found().filter((finding) => finding !== memory()), others); // prettier-ignore
    assert.ok(memory()?.fixes.every(({ edits }) => edits.every(({ place }) => place.file === uri('train.sh'))));
    assert.deepEqual(bugs, []);
  });

  it('plan again once for many quick edits, and when a referenced file changes', async () => {
    const { sessions, finish, files, requests } = testHost({ 'terapipe.json': smallRun(), 'config.json': smallModel });
    void sessions.ensure(run, 'terapipe');
    await finish();
    files.set(model, smallModel.replace('"n_layer":4', '"n_layer":8'));
    for (let edit = 0; edit < 5; edit += 1) sessions.changed(model);
    assert.equal(sessions.get(run)?.staleEdits, 5);
    await finish();
    assert.equal(sessions.get(run)?.plan?.request.model.layers, 8);
    assert.equal(sessions.get(run)?.staleEdits, 0);
    assert.equal(requests.length, 2);
  });

  it('plan the first edit after a pause at once, and those that follow it when they have stopped', async () => {
    const hourMs = 3_600_000;
    const { sessions, finish, requests } = testHost({ 'terapipe.json': smallRun(), 'config.json': smallModel }, hourMs);
    void sessions.ensure(run, 'terapipe');
    await finish();
    sessions.changed(run);
    await finish();
    assert.equal(requests.length, 2);
    sessions.changed(run);
    for (let turn = 0; turn < 20; turn += 1) await nextTurn();
    assert.equal(requests.length, 2);
    sessions.dispose();
  });

  it('keep the last good plan through an error and show how old it is', async () => {
    const { sessions, finish, files } = testHost({ 'terapipe.json': smallRun(), 'config.json': smallModel });
    void sessions.ensure(run, 'terapipe');
    await finish();
    const { plan } = sessions.get(run)!;
    files.set(run, '{ "model": ');
    sessions.changed(run);
    while (sessions.get(run)?.error === null) await nextTurn();
    const broken = sessions.get(run)!;
    assert.equal(broken.plan, plan);
    assert.equal(broken.staleEdits, 1);
    assert.equal(broken.error?.code, 'config-json-syntax');
    assert.equal(broken.error.place?.file, run);
    files.set(run, smallRun());
    sessions.changed(run);
    await finish();
    assert.equal(sessions.get(run)?.error, null);
    assert.equal(sessions.get(run)?.staleEdits, 0);
  });

  it('show where a file is named that is missing, and plan when it appears', async () => {
    const { sessions, finish, files } = testHost({ 'terapipe.json': smallRun() });
    const state = await sessions.ensure(run, 'terapipe');
    assert.equal(state.error?.code, 'config-not-found');
    assert.equal(state.error.place?.file, run);
    files.set(model, smallModel);
    sessions.changed(model);
    await finish();
    assert.ok(sessions.get(run)?.plan);
  });

  it('turn a bug into a message and report it', async () => {
    const { sessions, finish, bugs } = testHost({ 'config.json': smallModel });
    const planned = sessions.ensure(model, 'huggingface');
    await finish(() => {
      throw new TypeError('x is not a function');
    });
    assert.equal((await planned).error?.code, 'internal');
    assert.equal(bugs.length, 1);
    assert.ok(sessions.get(model)?.run, 'what was read stays');
  });

  it('stop quietly when cancelled', async () => {
    const { sessions, requests } = testHost({ 'config.json': smallModel });
    const planned = sessions.ensure(model, 'huggingface');
    while (requests.length < 1) await nextTurn();
    sessions.cancel(model);
    const state = await planned;
    assert.equal(state.error, null);
    assert.equal(state.progress, null);
    assert.equal(state.plan, null);
  });

  it('wait for a command where planning on edits is off', async () => {
    const { sessions, finish, requests } = testHost({ 'config.json': smallModel }, null);
    void sessions.ensure(model, 'huggingface');
    await finish();
    sessions.changed(model);
    await nextTurn();
    assert.equal(requests.length, 1);
    assert.equal(sessions.get(model)?.staleEdits, 1);
    const replanned = sessions.replan(model);
    await finish();
    assert.equal((await replanned).staleEdits, 0);
  });

  it('are forgotten, oldest first, when there are many that nobody needs', async () => {
    const names = Array.from({ length: 30 }, (_, index) => `${index}.json`);
    const { sessions } = testHost(Object.fromEntries(names.map((name) => [name, ''])));
    limitSessions(sessions, (file) => file === uri('0.json'));
    for (const name of names) await sessions.ensure(uri(name), 'huggingface');
    assert.equal(sessions.all().length, 24);
    assert.ok(sessions.get(uri('0.json')));
    assert.equal(sessions.get(uri('1.json')), undefined);
    assert.ok(sessions.get(uri('29.json')));
  });
});

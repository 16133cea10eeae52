import assert from 'node:assert/strict';
import { parse } from 'jsonc-parser';
import { describe, it } from 'mocha';
import { changeJson } from '../../../src/core/terapipe/change-json';
import { loadRun } from '../../load-run';
import { ExpectedError } from '../../../src/core/errors';
import { chosenCandidate } from '../../../src/core/planner/plan';
import { plainClusterChanges } from '../../../src/host/sessions/cluster-changes';
import { explanationFor } from '../../../src/extension/language/explanations';
import { configItems, stageItems } from '../../../src/extension/views/explorer-items';
import { hoverAt } from '../../../src/extension/language/hover-text';
import { configLenses } from '../../../src/extension/language/lens-text';
import { newConfigText } from '../../../src/host/sessions/new-config';
import { locatedValues } from '../../../src/host/pages/page-state';
import type { SessionState } from '../../../src/host/sessions/session-state';
import { smallModel, smallRun, testHost, uri } from './test-host';
import { sentence, english } from '../../../src/core/sentence';

const run = uri('terapipe.json');

async function planned(text = smallRun()): Promise<SessionState> {
  const { sessions, finish } = testHost({ 'terapipe.json': text, 'config.json': smallModel });
  const state = sessions.ensure(run, 'terapipe');
  await finish();
  return state;
}

describe('lenses', () => {
  const titles = (state: SessionState): string[] => configLenses(state, null, english).map(({ title }) => title);

  it('are one statement, on what it is of, and one action', async () => {
    const [statement = '', ...more] = titles(await planned());
    assert.match(statement, /^Fits, [\d.]+ GiB free · [\d.]+ (µs|ms) \/ step · 4 x A100-40GB, batch 4$/);
    const inline = { layers: 4, hidden: 256, heads: 4 };
    const [unended = ''] = titles(await planned(JSON.stringify({ model: inline, layout: { pipeline: 2 } })));
    assert.match(unended, / · [\d.]+ (µs|ms) \/ step without embedding and head$/);
    assert.deepEqual(more, ['Open timeline']);
  });

  it('name the whole scenario and the other numbers in the tooltip', async () => {
    const [statement] = configLenses(await planned(), null, english);
    assert.match(statement?.tooltip ?? '', /^4 x A100-40GB · 256 tokens · batch 4; [\d.]+ (µs|ms) \/ step, bubble [\d.]+ %; /);
  });

  it('report that the numbers are old, what is under way, or what stops planning', async () => {
    const state = await planned();
    assert.match(titles({ ...state, staleEdits: 2 })[0] ?? '', /^Before the last edits: fits, [\d.]+ GiB free · /);
    assert.deepEqual(titles({ ...state, plan: null, progress: 0.5 }), ['Planning…']);
    const error = new ExpectedError('any', sentence`The sizes are wrong, ${'all of them '.repeat(20)}`, sentence`fix them`);
    const [stopped = ''] = titles({ ...state, plan: null, error });
    assert.match(stopped, /^Plan: The sizes are wrong, .*…$/);
    assert.ok(stopped.length <= 80, stopped);
    const place = { file: run, range: { start: 0, end: 1 } };
    const refused = {
      code: 'experts-not-divisible',
      severity: 'error' as const,
      place,
      message: sentence`6 experts`,
      remedy: sentence``,
      fixes: [],
    };
    const warned = { ...refused, code: 'any', severity: 'warning' as const, message: sentence`a warning` };
    assert.deepEqual(titles({ ...state, plan: null, error, findings: [warned, refused] }), ['Plan: 6 experts'], 'the launch stops first');
  });

  it('show what an edit changed of the scenario by its name, and why', async () => {
    const change = { key: 'training.globalBatch', from: '32', to: '48', reason: sentence`a multiple of 3 micro-batches` } as const;
    const changed = configLenses(await planned(), null, english, { prefill: null, changes: [change] }).at(-1);
    assert.deepEqual([changed?.title, changed?.tooltip], ['Global batch: 48, was 32', 'A multiple of 3 micro-batches']);
  });

  it('show first that a launcher refuses the files as written, but not where only memory is lacking', async () => {
    const state = await planned();
    const [place] = [{ file: run, range: { start: 0, end: 1 } }];
    const finding = {
      code: 'vpp-layers-lost',
      severity: 'error' as const,
      place,
      message: sentence``,
      remedy: sentence``,
      fixes: [],
    };
    const refused = { ...state, findings: [finding, { ...finding, severity: 'warning' as const }] };
    assert.match(titles(refused).join(' | '), /^Does not start as written: 1 error · [\d.]+ (µs|ms) \/ step \| Show problems$/);
    assert.match(titles({ ...refused, staleEdits: 1 })[0] ?? '', /^Does not start as written: 1 error · before: [\d.]+ (µs|ms) \/ step$/);
    assert.match(titles({ ...state, findings: [{ ...finding, code: 'memory-over-capacity' }] })[0] ?? '', /^Fits, /);
  });

  it('lead to layouts that fit where the plan does not', async () => {
    const state = await planned(smallRun({ cluster: { gpu: { preset: 'A100-40GB', memoryGB: 1.001 }, nodes: 1, gpusPerNode: 4 } }));
    const [statement = '', action] = titles(state);
    assert.match(statement, /^Does not fit, [\d.]+ MiB over · /);
    assert.equal(action, 'Search layouts');
  });
});

describe('hovers', () => {
  it('explain a value with numbers of the plan', async () => {
    const text = smallRun();
    const hover = hoverAt(await planned(text), run, text, text.indexOf('"pipeline"') + 2, english);
    assert.ok(hover !== null);
    // The schema has the meaning, which VS Code shows in the same hover.
    assert.equal(hover.title, 'layout.pipeline: 4');
    assert.doesNotMatch(hover.lines.join(' '), /Pipeline stages\./);
    assert.match(hover.lines.join(' '), /Bubble [\d.]+ % of/);
    assert.equal(hover.lines.at(-1), 'Planned for 4 x A100-40GB · 256 tokens · batch 4.');
    assert.equal(text.slice(hover.range.start, hover.range.end), '"pipeline":4');
  });

  it('explain values of the model config a run refers to', async () => {
    const hover = hoverAt(await planned(), uri('config.json'), smallModel, smallModel.indexOf('n_layer') + 1, english);
    assert.equal(hover?.lines[0], 'n_layer: 4');
    assert.match(hover.lines.join(' '), /4 layers on 4 stages: 1 a stage/);
  });

  it('list what a section leaves out', async () => {
    const text = smallRun();
    const hover = hoverAt(await planned(text), run, text, text.indexOf('"training"') + 2, english);
    assert.match(hover?.title ?? '', /training/);
    assert.match(hover?.lines.join('\n') ?? '', /microBatch 1: the least memory/);
  });

  it('are silent while the text is newer than the plan, and off the values', async () => {
    const text = smallRun();
    const state = await planned(text);
    assert.equal(hoverAt(state, run, `${text} `, 5, english), null);
    assert.equal(hoverAt(state, run, text, 0, english), null);
  });

  it('know every value that a run can give', async () => {
    const { run: read } = await planned(
      smallRun({ schedule: '1F1B', slicing: { unit: 8 }, cost: { gemmHalfSize: 1000, issueFloorUs: 10, memoryEfficiency: 0.8 } }),
    );
    for (const [key] of locatedValues(read!)) assert.notEqual(explanationFor(key), undefined, key);
  });
});

describe('tree rows', () => {
  it('give the numbers of a plan and one row a stage', async () => {
    const state = await planned();
    const labels = configItems(state, english).map((item) => ('label' in item ? item.label : ''));
    assert.deepEqual(labels, ['Step', 'Bubble', 'Memory', 'Schedule', 'Layout', 'Cluster', 'Planned for', 'Throughput', '4 stages']);
    const stages = stageItems(run, chosenCandidate(state.plan!), english);
    assert.equal(stages.length, 4);
  });

  it('name the groups of a cluster, and the GPU of each stage', async () => {
    const groups = [{ gpu: 'L40S', nodes: 1, gpusPerNode: 2 }, { gpu: 'A100-40GB', nodes: 1, gpusPerNode: 2 }]; // prettier-ignore
    const state = await planned(smallRun({ cluster: { groups }, layout: { tensor: 1, data: 1 } }));
    const cluster = configItems(state, english).find((item) => 'label' in item && item.label === 'Cluster');
    assert.equal(cluster?.kind === 'number' && cluster.value, '1 node of 2 L40S + 1 node of 2 A100-40GB');
    const stages = stageItems(run, chosenCandidate(state.plan!), english).map((item) => ('label' in item ? item.label : ''));
    assert.deepEqual(stages.map((label) => label.replace(/^Stage \d, /, '')).toSorted(), ['A100-40GB', 'A100-40GB', 'L40S', 'L40S']);
    assert.ok(locatedValues(state.run!).some(([key]) => key === 'cluster.groups'));
    const hover = hoverAt(state, run, state.run!.texts!.get(run)!, state.run!.texts!.get(run)!.indexOf('[{'), english);
    assert.match(JSON.stringify(hover), /on stages? /);
  });
});

describe('choosing a cluster', () => {
  it('puts nodes of one kind in the place of groups, and keeps the rest with its remarks', async () => {
    const text = `{
  "model": "config.json",
  // ours
  "cluster": {
    "groups": [{ "gpu": "H200", "nodes": 1 }, { "gpu": "L40S", "nodes": 1 }]
  },
  "layout": { "tensor": 2, "stageNodeGroups": [0, 1] } // fixed
}`;
    const { start, end, newText } = changeJson(text, plainClusterChanges({ gpu: 'B200', nodes: 2, gpusPerNode: 8 }))!;
    const changed = text.slice(0, start) + newText + text.slice(end);
    for (const kept of ['// ours', '// fixed', '"tensor": 2']) assert.ok(changed.includes(kept), changed);
    const read = await loadRun(run, changed, (from, path) => Promise.resolve({ file: new URL(path, from).href, text: smallModel }));
    assert.deepEqual(
      [read.groups, read.gpu?.value.name, read.nodes?.value, read.layout.stageNodeGroups],
      [undefined, 'B200', 2, undefined],
    );
    assert.deepEqual(read.remarks, []);
  });
});

describe('a new terapipe.json', () => {
  it('is read back as what was asked for', async () => {
    const state = await planned();
    const text = newConfigText('config.json', state.run, { gpu: 'H200', nodes: 3, gpusPerNode: null });
    const written = await loadRun(run, text, (from, path) => Promise.resolve({ file: new URL(path, from).href, text: smallModel }));
    assert.equal(written.gpu?.value.name, 'H200');
    assert.equal(written.nodes?.value, 3);
    assert.equal(written.gpusPerNode?.value, 8);
    assert.equal(written.training.sequenceLength?.value, 256);
    assert.deepEqual(written.remarks, []);
  });

  it('stays JSON whatever the model file is called', () => {
    const text = newConfigText('a"\n*/ b.json', null, { gpu: 'H200', nodes: null, gpusPerNode: null });
    assert.equal((parse(text) as { model: string }).model, 'a"\n*/ b.json');
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { candidateIds } from '../../../src/core/planner/plan';
import { ExpectedError } from '../../../src/core/errors';
import type { Finding, Severity } from '../../../src/core/findings';
import { searchLayouts } from '../../../src/core/layout-search/assemble';
import { toSearchProblem } from '../../../src/core/layout-search/problem';
import { sideParts } from '../../../src/host/pages/layout-page';
import { pageHtml } from '../../../src/extension/views/page-html';
import { parsePageMessage } from '../../../src/protocol/page-schema';
import { toPageState } from '../../../src/host/pages/page-state';
import { smallModel, smallRun, testHost, uri } from './test-host';
import { sentence } from '../../../src/core/sentence';

const context = { page: 'tab', trusted: true, displayPath: (file: string) => file.replace('file:///w/', '') } as const;

describe('page document', () => {
  const html = pageHtml({
    page: 'side',
    title: `<b>"Plan's"</b>`,
    scriptUri: 'https://host/webview.js',
    styleUri: 'https://host/page.css',
    cspSource: 'https://host',
    nonce: 'abc123',
  });

  it('allows scripts only by nonce and no inline style', () => {
    const policy = /http-equiv="Content-Security-Policy" content="([^"]+)"/.exec(html)?.[1] ?? '';
    assert.match(policy, /^default-src &#39;none&#39;; script-src &#39;nonce-abc123&#39;; style-src https:\/\/host;/);
    assert.doesNotMatch(html, /unsafe|<style|style=/);
    assert.equal(html.match(/<script/g)?.length, 1);
  });

  it('escapes every string', () => {
    assert.match(html, /<title>&lt;b&gt;&quot;Plan&#39;s&quot;&lt;\/b&gt;<\/title>/);
  });
});

describe('page messages', () => {
  it('are taken when they are in the protocol', () => {
    const place = { file: uri('config.json'), range: { start: 3, end: 5 } };
    for (const message of [
      { type: 'ready' },
      { type: 'focus', on: 'lanes' },
      { type: 'command', command: 'terapipe.plan' },
      { type: 'reveal', place },
      { type: 'change', change: { key: 'slicing.unit', value: 16 } },
      { type: 'fix', code: 'memory-over-capacity', title: 'Recompute attention: fits, 3 % slower' },
      {
        type: 'try',
        sets: [
          ['training.microBatch', null],
          ['layout.stageLayers', [0, 2, 2]],
          ['schedule', '1F1B'],
          ['slicing.unit', 128],
          ['training.recompute', null],
        ],
      },
      { type: 'export', format: 'html', candidate: null },
      { type: 'openTab', tab: 'memory', candidate: null },
      { type: 'draw', candidates: [...candidateIds] },
      { type: 'comparison', act: 'swap' },
      { type: 'command', command: 'terapipe.compareWith' },
      { type: 'save', name: 'plan.svg', mime: 'image/svg+xml', text: '<svg/>' },
      { type: 'log', level: 'error', message: 'x' },
    ])
      assert.deepEqual(parsePageMessage(message), message);
  });

  it('are refused otherwise', () => {
    for (const message of [
      null,
      'ready',
      { type: 'command', command: 'workbench.action.quit' },
      { type: 'command', command: 'terapipe.refreshExplorer' },
      { type: 'reveal', place: { file: 'x', range: { start: -1, end: 0 } } },
      { type: 'change', change: { key: 'model', value: 1 } },
      { type: 'change', change: { key: 'schedule', value: Number.NaN } },
      { type: 'draw', candidates: ['gpipe', 'fastest'] },
      { type: 'draw', candidates: [...candidateIds, 'gpipe'] },
      { type: 'focus', on: 'window' },
      { type: 'comparison', act: 'start' },
      { type: 'openTab', tab: '../x', candidate: null },
      { type: 'try', sets: [['layout.stageLayers', 2]] },
      { type: 'try', sets: [['layout.stageLayers', [2, -1]]] },
      { type: 'try', sets: [['layout.pipeline', [2, 2]]] },
      { type: 'try', sets: [['layout.pipeline', '1F1B']] },
      { type: 'try', sets: [['schedule', 1]] },
      { type: 'try', sets: [['slicing.unit', 'all']] },
      { type: 'save', name: '', mime: 'image/svg+xml', text: '' },
      { type: 'save', name: 'x', mime: 'text/html', text: '' },
    ])
      assert.equal(parsePageMessage(message), null, JSON.stringify(message));
  });
});

describe('page state', () => {
  it('is empty while nothing is shown', () => {
    const state = toPageState(null, context);
    assert.equal(state.file, null);
    assert.equal(state.plan, null);
    assert.deepEqual(state.findings, []);
  });

  it('names places for the eye and keeps them to be clicked', async () => {
    const { sessions, finish } = testHost({ 'terapipe.json': smallRun(), 'config.json': smallModel });
    const planned = sessions.ensure(uri('terapipe.json'), 'terapipe');
    await finish();
    const state = toPageState(await planned, context);
    assert.equal(state.file, 'terapipe.json');
    assert.equal(state.document, uri('terapipe.json'));
    const text = smallRun();
    const { range } = state.places['layout.pipeline']!;
    assert.equal(text.slice(range.start, range.end), '4');
    assert.equal(state.places['model.layers']?.file, uri('config.json'));
    assert.equal(state.places['training.microBatch'], undefined);
  });

  it('adds what a layout search reports of the files, with its place', async () => {
    const { sessions, finish } = testHost({ 'terapipe.json': smallRun({ surprise: 1 }), 'config.json': smallModel });
    const planned = sessions.ensure(uri('terapipe.json'), 'terapipe');
    await finish();
    const session = await planned;
    const place = { file: uri('terapipe.json'), range: { start: 2, end: 4 } };
    const slower = {
      code: 'layout-slower',
      severity: 'warning',
      place,
      message: sentence`slower`,
      remedy: sentence`apply the best`,
      fixes: [],
    } as const;
    const { findings } = toPageState(session, { ...context, layoutFindings: [slower] });
    assert.ok(session.findings.length > 0);
    assert.deepEqual(
      findings.map(({ code }) => code),
      ['unknown-key', 'layout-slower', 'vocab-padding'],
    );
    assert.equal(findings[1]?.placeText, 'terapipe.json:1:3');
  });

  it('lists errors first, then warnings, then notes, each in the order of the files', async () => {
    const { sessions, finish } = testHost({ 'terapipe.json': smallRun(), 'config.json': smallModel });
    const planned = sessions.ensure(uri('terapipe.json'), 'terapipe');
    await finish();
    const session = await planned;
    const found = (severity: Severity, start: number, file = 'terapipe.json'): Finding => ({
      code: `${severity}-${file}-${start}`,
      severity,
      place: { file: uri(file), range: { start, end: start + 1 } },
      message: sentence`found`,
      remedy: sentence``,
      fixes: [],
    });
    const findings = [found('information', 4), found('warning', 3), found('error', 9, 'config.json'), found('error', 8), found('error', 2)];
    const state = toPageState({ ...session, findings }, { ...context, layoutFindings: [found('warning', 0)] });
    assert.deepEqual(
      state.findings.map(({ severity, placeText }) => `${severity} ${placeText}`),
      [
        'error terapipe.json:1:3',
        'error terapipe.json:1:9',
        'error config.json:1:10',
        'warning terapipe.json:1:4',
        'warning terapipe.json:1:1',
        'information terapipe.json:1:5',
      ],
    );
  });

  it('gives the side view the answer of a search, but not the layout that the tab has open', async () => {
    const { sessions, finish } = testHost({ 'terapipe.json': smallRun(), 'config.json': smallModel });
    const planned = sessions.ensure(uri('terapipe.json'), 'terapipe');
    await finish();
    const session = await planned;
    const { run, plan } = session;
    assert.ok(run !== null && plan !== null);
    const result = searchLayouts(toSearchProblem(run, plan.request, null));
    const search = { running: undefined, answer: { id: 'a', result }, staleEdits: 0, error: null, opened: { index: 0, plan } };
    const { layout, comparison } = toPageState(session, { ...context, page: 'side', parts: sideParts(session, search) });
    assert.deepEqual([layout?.answer?.id, layout?.opened, layout?.running, comparison], ['a', null, null, undefined]);
  });

  it('gives an error its line and column', async () => {
    const { sessions } = testHost({ 'terapipe.json': '{\n  "model": 3\n}' });
    const state = toPageState(await sessions.ensure(uri('terapipe.json'), 'terapipe'), context);
    assert.equal(state.error?.placeText, 'terapipe.json:2:12');
  });

  it('gives an error without a place that of the finding that explains it', async () => {
    const { sessions, finish } = testHost({
      'terapipe.json': smallRun().replace('"pipeline":4', '"pipeline":3'),
      'config.json': smallModel,
    });
    const planned = sessions.ensure(uri('terapipe.json'), 'terapipe');
    await finish();
    const session = await planned;
    const bare = new ExpectedError('planner', sentence`it cannot be planned`, sentence`change it`);
    const state = toPageState({ ...session, error: bare }, context);
    const explained = session.findings.find(({ severity }) => severity === 'error');
    assert.notEqual(explained, undefined);
    assert.deepEqual(state.error?.place, explained?.place);
  });

  it('has the timelines that are sent, and reports how large the others are', async () => {
    const { sessions, finish } = testHost({ 'terapipe.json': smallRun(), 'config.json': smallModel });
    const planned = sessions.ensure(uri('terapipe.json'), 'terapipe');
    await finish();
    const session = await planned;
    assert.ok(session.plan !== null);
    const { chosen, candidates } = session.plan;
    const { plan, withheld = [] } = toPageState(session, { ...context, timelines: [chosen] });
    const drawn = plan?.candidates.filter(({ timeline }) => timeline !== null).map(({ id }) => id);
    assert.deepEqual(drawn, [chosen]);
    const operations = new Map(candidates.map(({ id, timeline }) => [id, timeline?.kind.length]));
    assert.ok(withheld.length > 1);
    for (const one of withheld) assert.equal(one.operations, operations.get(one.id));
    assert.ok(plan?.candidates.every(({ timeline, memory }) => (timeline === null) === (memory.chunks.length === 0)));
    const side = toPageState(session, { ...context, page: 'side' });
    assert.deepEqual(
      side.plan?.candidates,
      candidates.filter(({ id }) => id === chosen),
    );
    assert.deepEqual(side.withheld, []);
  });
});

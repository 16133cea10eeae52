import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { type LayoutState, toLayoutAnswer, noLayoutState, withUpdate } from '../../../../../src/protocol/layout';
import { listPlans } from '../../../../../src/core/layout-search/plans';
import { planContent } from '../../../../../webview/tabs/layout/content';
import { layoutSettings, pressedColumn } from '../../../../../webview/tabs/layout/settings';
import { launchedLayout, parseTokens, layoutRows, rowSchedules, shownRows, tieMs } from '../../../../../webview/tabs/layout/rows';
import { layoutOf, searchedOf, type Searched } from '../../../../webview/layouts';
import { sentence } from '../../../../../src/core/sentence';
import { toText } from '../../../sentence-text';

const initialSettings = layoutSettings.read(undefined);

let known: Searched | null = null;
/** A small search of a real request: 1.3B parameters on one node. */
function searched(): Searched {
  return (known ??= searchedOf(
    {
      gpu: 'A100-80GB',
      layers: 8,
      hidden: 2048,
      nodes: 1,
      tensor: 2,
      stages: 2,
      data: 2,
      schedule: '1F1B',
      unit: 256,
      training: { globalBatch: 8, attention: 'flash', precision: 'bf16', zeroStage: 1, recompute: 'full' },
    },
    true,
  ));
}

describe('found layouts', () => {
  const layout = (): LayoutState => layoutOf(searched());
  const rows = () => layoutRows(layout().answer!, launchedLayout(layout()));

  it('names each plan of an answer once, fastest first, by the index that a page sends back', () => {
    const { result } = searched();
    const listed = listPlans(result);
    const texts = listed.map(({ plan }) => JSON.stringify([plan.name, plan.point]));
    assert.equal(new Set(texts).size, texts.length);
    for (const plan of [result.best, ...result.paretoFront, ...result.perSchedule, ...result.runnersUp.map((each) => each.plan)])
      assert.ok(texts.includes(JSON.stringify([plan.name, plan.point])));
    const { plans, best } = toLayoutAnswer(result, 'a');
    assert.deepEqual(
      plans.map(({ iterationMs }) => iterationMs),
      listed.map(({ plan }) => plan.iterationMs),
    );
    assert.equal(plans[best]?.iterationMs, result.best.iterationMs);
    assert.ok(plans.every(({ why }, index) => (why === null) === (index === best)));
    assert.ok(plans.every(({ iterationMs }, index) => index === 0 || iterationMs >= (plans[index - 1]?.iterationMs ?? 0)));
  });

  it('follow what a search reports, from the first best to what would help', () => {
    const { updates, result } = searched();
    let state: LayoutState = {
      ...noLayoutState,
      staleEdits: 3,
      error: { code: 'x', message: sentence``, remedy: sentence``, place: null, placeText: null },
    };
    const seen: string[] = [];
    for (const update of updates) {
      state = withUpdate(state, update, 'a');
      const { running, answer } = state;
      seen.push(`${update.kind}: ${answer === null ? 'no answer' : 'answer'}${(running?.change ?? null) === null ? '' : ', change'}`);
    }
    assert.equal(seen[0], 'searching: no answer');
    assert.ok(seen.includes('found: answer'));
    assert.equal(seen.at(-1), 'helping: answer, change');
    assert.equal(state.staleEdits, 0);
    assert.equal(state.error, null);
    assert.equal(state.running?.best?.iterationMs, result.paretoFront[0]?.iterationMs);
    assert.ok((state.running?.fraction ?? 1) < 1);
    assert.equal(state.answer?.improvements.length, updates.filter(({ kind }) => kind === 'helping').length - 1);
  });

  it('have the layout as launched among them, once', () => {
    const { plan } = searched();
    const own = rows().filter(({ isLaunched }) => isLaunched);
    assert.equal(own.length, 1);
    assert.equal(own[0]?.index, null);
    const predicted = plan.candidates.find(({ id }) => id === plan.chosen)!;
    assert.ok(Math.abs(own[0].plan.iterationMs / predicted.iterationMs - 1) < 1e-9);
    const found = layout().answer!.plans[2]!;
    const merged = layoutRows(layout().answer!, found);
    assert.equal(merged.length, layout().answer!.plans.length);
    assert.deepEqual(
      merged.filter(({ isLaunched }) => isLaunched).map(({ index }) => index),
      [2],
    );
  });

  it('are ordered both ways by every column, and filtered by words and schedule', () => {
    const memory = shownRows(rows(), { ...initialSettings, by: 'memory', descending: true }).map(({ plan }) => plan.peakBytes);
    assert.deepEqual(
      memory,
      memory.toSorted((a, b) => b - a),
    );
    const fastest = shownRows(rows(), { ...initialSettings, ...pressedColumn(initialSettings, 'tokens') });
    assert.equal(fastest[0]?.plan.tokensPerSecond, Math.max(...rows().map(({ plan }) => plan.tokensPerSecond)));
    const some = shownRows(rows(), { ...initialSettings, text: '1F1B tp 2' });
    assert.ok(some.length > 0 && some.length < rows().length);
    assert.ok(some.every(({ plan }) => plan.layout.tensor === 2 && toText(plan.name).includes('1F1B')));
    const schedule = rowSchedules(rows()).at(-1)!;
    assert.ok(shownRows(rows(), { ...initialSettings, schedule }).every(({ plan }) => toText(plan.name).startsWith(schedule)));
    assert.equal(shownRows(rows(), { ...initialSettings, schedule: 'of an earlier answer' }).length, rows().length);
  });

  it('are not found by the end of a name: tp2 is not ETP2', () => {
    const [row] = rows();
    assert.ok(row !== undefined);
    const layoutOfRow = { ...row.plan.layout, tensor: 4, expert: 2, expertTensor: 2 };
    const words = sentence`TP4 EP2 ETP2`;
    const withExperts = [{ ...row, plan: { ...row.plan, layout: layoutOfRow, words } }];
    const found = (text: string) => shownRows(withExperts, { ...initialSettings, text }).length;
    assert.deepEqual(['tp2', 'tp 2', 'p2'].map(found), [0, 0, 0]);
    assert.deepEqual(['etp2', 'tp4', 'ep 2', 'TP4 ETP2', '4'].map(found), [1, 1, 1, 1, 1]);
  });

  it('are drawn with the front as steps down from left to right, ties as the band, and too large ones inside the plot', () => {
    const answer = layout().answer!;
    const far = {
      layout: sentence`tensor 1`,
      iterationMs: answer.plans[0]!.iterationMs / 2,
      peakBytes: 9 * answer.capacityBytes,
      why: sentence`needs more`,
    };
    const content = planContent({ ...answer, notFitting: [far] }, rows());
    const [paretoFront] = content.curves;
    const steps = paretoFront!.points;
    assert.ok(steps.length > 4);
    steps.forEach(([x, y], index) => {
      const [left, above] = steps[index - 1] ?? [0, Infinity];
      assert.ok(x >= left && y <= above && (x === left || y === above || index === 0), `step ${index}`);
    });
    for (const plan of answer.plans.filter(({ roles }) => roles.includes('front')))
      assert.ok(steps.some(([x, y]) => x === plan.peakBytes && y === plan.iterationMs));
    assert.deepEqual(content.band, { from: answer.plans[answer.best]!.iterationMs, to: tieMs(answer) });
    for (const { x, y } of content.dots) assert.ok(x <= content.x.max && x >= 0 && y >= content.y.min && y <= content.y.max);
    assert.equal(content.dots.length, rows().length + 1);
    assert.deepEqual(
      content.dots.map(({ x }) => x),
      content.dots.map(({ x }) => x).toSorted((a, b) => a - b),
    );
    assert.ok(content.y.marks(8).length >= 2);
  });

  it('take GPU hours for tokens that people write as they do', () => {
    assert.deepEqual(['15T', '1.5 b', '2,000,000', '1e12', '3e+3', '.5k'].map(parseTokens), [15e12, 1.5e9, 2e6, 1e12, 3000, 500]);
    assert.deepEqual(['', 'many', '-3', '0', '5x', '1,5..2', 'Infinity'].map(parseTokens), [null, null, null, null, null, null, null]);
  });

  it('are looked at as before, whatever was saved', () => {
    const settings = { ...initialSettings, by: 'mfu', descending: true, text: 'x', picked: { answer: 'a', row: 'found-1' } } as const;
    assert.deepEqual(layoutSettings.read(JSON.parse(JSON.stringify(settings))), settings);
    for (const value of [null, 7, 'x', [], { by: 'price', text: 3, tokenBudget: -1, picked: { answer: 1 } }])
      assert.deepEqual(layoutSettings.read(value), initialSettings);
    assert.deepEqual(pressedColumn(settings, 'mfu'), { by: 'mfu', descending: false });
    assert.deepEqual(pressedColumn(settings, 'step'), { by: 'step', descending: false });
  });
});

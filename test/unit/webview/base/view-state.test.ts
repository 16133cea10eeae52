import assert from 'node:assert/strict';
import fc from 'fast-check';
import { contrast, css, mix, over, readableOn, type Rgba } from '../../../../webview/base/color';
import { readViewState } from '../../../../webview/base/view-state';
import { compareOrder } from '../../../../webview/tabs/compare/candidate-order';
import { comparisonSettings } from '../../../../webview/tabs/compare/settings';
import { epochWidth, shownEpoch } from '../../../../webview/tabs/elastic/epochs';
import { layoutSettings } from '../../../../webview/tabs/layout/settings';

const initialViewState = readViewState(null);

describe('saved view', () => {
  it('comes back as it was', () => {
    const state = {
      ...initialViewState,
      tab: 'memory',
      candidate: '1f1b' as const,
      viewport: { startMs: 1, endMs: 2, rowPx: 5, scrollPx: 0 },
      selection: { type: 'operation' as const, chunk: 3, kind: 1 as const, unit: 7 },
      stage: 4,
      ...comparisonSettings.to(initialViewState, { viewport: { startMs: 3, endMs: 9, rowPx: 8, scrollPx: 4 }, pass: null, stage: 2 }),
      ...epochWidth.to(initialViewState, 'equal'),
    };
    const saved = readViewState(JSON.parse(JSON.stringify({ document: 'x', ...state })));
    assert.deepEqual(saved, state);
    assert.deepEqual(comparisonSettings.of(saved), comparisonSettings.of(state));
    assert.equal(comparisonSettings.of(saved), comparisonSettings.of(saved), 'read once');
    assert.equal(epochWidth.of(saved), 'equal');
  });

  it('comes back from the names that older versions saved', () => {
    const view = readViewState({ layoutLook: { by: 'memory' }, comparedLook: { stage: 2 }, epoch: 3, compareOrder: { by: 'memory' } });
    assert.equal(layoutSettings.of(view).by, 'memory');
    assert.equal(comparisonSettings.of(view).stage, 2);
    assert.equal(shownEpoch.of(view), 3);
    assert.deepEqual(compareOrder.of(view), { by: 'memory', descending: false });
  });

  it('falls back field by field when something else was saved', () => {
    assert.deepEqual(
      readViewState({ tab: 7, candidate: 7, viewport: { startMs: 5, endMs: 1 }, stage: -1, selection: 'x' }),
      initialViewState,
    );
  });

  it('takes anything without throwing', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        assert.ok(readViewState(value).tab);
        const view = readViewState({ viewport: value, selection: value, stage: value, comparisonSettings: value, compareOrder: value });
        assert.ok(view.tab);
        comparisonSettings.of(view);
        compareOrder.of(view);
        readViewState({ settings: value, fileSettings: value });
      }),
      { seed: 11 },
    );
  });
});

describe('colours', () => {
  it('mix, lie over each other and are written for CSS', () => {
    assert.deepEqual(mix([0, 0, 0, 1], [200, 100, 50, 1], 0.5), [100, 50, 25, 1]);
    assert.deepEqual(over([255, 255, 255, 0.5], [0, 0, 0, 1]), [127.5, 127.5, 127.5, 1]);
    assert.equal(css([1.4, 2, 3, 0.25]), 'rgba(1, 2, 3, 0.25)');
  });

  it('get text that reads well on them', () => {
    const channel = fc.integer({ min: 0, max: 255 });
    fc.assert(
      fc.property(channel, channel, channel, (red, green, blue) => {
        const color: Rgba = [red, green, blue, 1];
        assert.ok(contrast(color, readableOn(color)) >= 4.5);
      }),
      { seed: 12 },
    );
  });
});

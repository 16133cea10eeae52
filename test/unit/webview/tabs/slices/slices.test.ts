import assert from 'node:assert/strict';
import { incumbentText } from '../../../../../webview/shared/incumbent';
import { cutCells, cutRows } from '../../../../../webview/tabs/slices/cuts';
import { makePlan } from '../../../../../src/core/planner/make-plan';
import { gpt, request } from '../../../../golden/requests';

describe('the slices tab', () => {
  const plan = makePlan(
    request('A100-80GB', gpt(8, 1024, 16, 50304), {
      training: { globalBatch: 2, sequenceLength: 1024, attention: 'flash' },
      layout: { tensor: 2, pipeline: 4 },
    }),
  );
  const { certificate, scheme } = plan.candidates.find(({ id }) => id === 'terapipe')!;

  it('lists the baselines next to the optimized one, none of them faster', () => {
    const rows = cutRows(certificate!, scheme);
    assert.deepEqual(
      rows.map(({ rule }) => rule),
      ['whole', 'uniform', 'equal-work', 'equal-time', 'solved'],
    );
    assert.ok(rows.every(({ longer }) => longer >= -1e-12));
    assert.deepEqual(rows[0]!.slices, [1, 1]);
    assert.equal(rows.at(-1)!.latencyMs, certificate!.optimumMs);
  });

  it('lists them in words', () => {
    const cuts = [{ rule: 'equal-time' as const, tokens: [5, 3], latencyMs: 1100 }];
    const chunks = [
      { batch: 1, tokens: [8] },
      { batch: 1, tokens: [4, 3, 1] },
    ];
    assert.deepEqual(cutRows({ ...certificate!, cuts, optimumMs: 1000 }, chunks).map(cutCells), [
      ['Equal time', '2', '1.1 s', '10 %'],
      ['Optimized', '1–3', '1 s', '–'],
    ]);
  });
});

describe('the best so far', () => {
  it('comes with its bound and gap', () => {
    assert.equal(incumbentText({ latencyMs: 1620, lowerBoundMs: 1581 }), 'Best so far 1.62 s, at least 1.58 s (gap 2.41 %)');
    assert.equal(incumbentText({ latencyMs: 1620, lowerBoundMs: 1620 }), 'Best so far 1.62 s, proved optimal');
    assert.equal(incumbentText(null), '');
  });
});

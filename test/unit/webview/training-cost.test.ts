import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { pricedRun } from '../../../webview/shared/training-cost';

const settings = { tokens: 1e9, gpuHourPrice: 2, currency: 'EUR' };

describe('the run that costs are shown for', () => {
  it('is what the files give, and else what settings of VS Code give', () => {
    assert.deepEqual(pricedRun({ tokens: 15e12, gpuHourPrice: 3 }, settings), { tokens: 15e12, gpuHourPrice: 3, currency: 'EUR' });
    assert.deepEqual(pricedRun({ tokens: 15e12 }, settings), { tokens: 15e12, gpuHourPrice: 2, currency: 'EUR' });
    assert.deepEqual(pricedRun({ tokens: null, gpuHourPrice: 3 }, settings), { tokens: 1e9, gpuHourPrice: 3, currency: 'EUR' });
    assert.deepEqual(pricedRun({}, settings), settings);
    assert.deepEqual(pricedRun({ tokens: 1e12 }, undefined), { tokens: 1e12, gpuHourPrice: null, currency: '' });
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { runFindings } from '../../../../src/core/rules/run-findings';
import { say } from '../../../../src/core/sentence';
import { loadObject } from '../config-files/files';

async function found(training: object): Promise<readonly string[]> {
  const run = await loadObject({ model: { layers: 4, hidden: 1024, heads: 8, vocab: 1024 }, training });
  return runFindings(run, null).flatMap(({ code, message }) => (code === 'offload-device-unused' ? [say(message)] : []));
}

describe('a device for the optimizer', () => {
  it('is reported where the optimizer stays on the GPU', async () => {
    const message = 'training.offloadDevice is nvme, and the optimizer is not off the GPU';
    assert.deepEqual(await found({ offloadDevice: 'nvme' }), [message]);
    assert.deepEqual(await found({ offloadDevice: 'nvme', offloadOptimizer: false }), [message]);
    assert.deepEqual(await found({ offloadDevice: 'nvme', offloadOptimizer: true }), []);
    assert.deepEqual(await found({ offloadDevice: 'cpu' }), []);
    assert.deepEqual(await found({}), []);
  });
});

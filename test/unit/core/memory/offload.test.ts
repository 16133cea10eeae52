import assert from 'node:assert/strict';
import { assumedHostLinkGBps, describeOffload, offloadActivations } from '../../../../src/core/memory/offload';
import { operationKind } from '../../../../src/core/schedule/schedule';
import { alike, serial, unitMemory } from './serial';

const mib = 2 ** 20;
const { forward, backward } = operationKind;

/** Three units forward, then backward in reverse, 1 ms each; each saves 10 MiB. The first waits 4 ms, the second 2, the third not at all. */
const timeline = serial(
  [[64], [64], [64]],
  [
    [forward, 0],
    [forward, 1],
    [forward, 2],
    [backward, 2],
    [backward, 1],
    [backward, 0],
  ],
);
const saved = { activations: 10 * mib, keysValues: 0, logits: 0, keptForWeights: 0 };
const chunks = [alike(timeline, unitMemory({ activations: 10 * mib, backward: { ...saved, operation: 'whole', working: mib } }))];

/** Over a link that copies so many MiB in a millisecond. */
function offload(share: number, perMs: number) {
  const hostLinkGBps = (perMs * mib) / 1e6;
  const result = offloadActivations(timeline, chunks, 0, 0, { share, hostLinkGBps });
  const { timeMs, bytes } = result.curve;
  return { ...result, points: Array.from(timeMs, (ms, index) => [ms, bytes[index]! / mib]) };
}

describe('activations in host memory', () => {
  it('leave once their forward has ended, as soon as the link is free, and are back when their backward starts', () => {
    assert.deepEqual(offload(0.3, 10).points, [
      [0, 0],
      [0, 10],
      [1, 20],
      [2, 10],
      [2, 20],
      [3, 21],
      [4, 10],
      [4, 20],
      [4, 21],
      [5, 10],
      [5, 11],
      [6, 0],
    ]);
  });

  it('are those that wait longest first, as many as leave and come back in time', () => {
    assert.equal(offload(1, 10).hiddenBytes, 20 * mib);
    assert.equal(offload(1, 10).askedBytes, 30 * mib);
    assert.equal(offload(1, 5).hiddenBytes, 10 * mib);
    assert.equal(offload(1, 4.9).hiddenBytes, 0);
  });

  it('are not asked for beyond the share', () => {
    assert.equal(offload(0, 10).askedBytes, 0);
    assert.equal(offload(1 / 3, 10).askedBytes, 10 * mib);
    assert.equal(offload(0.34, 10).askedBytes, 20 * mib);
  });

  it('say what they cost and what would not be done in time', () => {
    assert.equal(
      describeOffload(offload(0.3, 10), 10),
      '10 MB of activations leave and come back beside compute: 1 ms each way at 10 GB/s',
    );
    assert.equal(
      describeOffload(offload(1, 10), 10),
      '20 MB of 30 MB of activations leave and come back beside compute; the other 10 MB stay, since their copies, 1 ms each way at 10 GB/s, would not be done in time',
    );
  });

  it('travel over the PCIe generation of the card', () => {
    assert.deepEqual(
      ['V100-32GB', 'A100-80GB', 'H100-80GB', 'B200', 'MI300X', 'unknown'].map(assumedHostLinkGBps),
      [12.6, 25.2, 50.4, 50.4, 50.4, 25.2],
    );
  });
});

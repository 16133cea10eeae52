import assert from 'node:assert/strict';
import { errors } from '../../golden/rows';
import { memoryBounds, memoryPeaks, memoryRows, wrongVerdicts } from '../../golden/wild-memory';

describe('memory of published runs under TorchTitan and DeepSpeed', () => {
  for (const [kind, rows, name] of [
    ['torchtitan', 9, 'TorchTitan, reserved'],
    ['fp16', 57, 'DeepSpeed in fp16, in use'],
    ['bf16', 6, 'DeepSpeed in bf16, in use'],
  ] as const)
    it(`is within ${100 * memoryBounds[kind]} % on average: ${name}`, async () => {
      const peaks = await memoryPeaks(kind);
      assert.equal(peaks.length, rows);
      const { mean } = errors(peaks);
      assert.ok(mean < memoryBounds[kind], `${(100 * mean).toFixed(2)} %`);
    });

  it('is not reported to fit, without a doubt, where it did not, nor the other way round', async () => {
    const { fitting, tooLarge } = await wrongVerdicts();
    assert.equal((await memoryRows()).filter((row) => row.case.outOfMemory === true).length, 4);
    assert.deepEqual(fitting, []);
    assert.deepEqual(tooLarge, []);
  });
});

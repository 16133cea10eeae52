import assert from 'node:assert/strict';
import { errors } from '../../golden/rows';
import { memoryBounds, memoryPeaks, memoryRows, unseenBounds, unseenPeaks, wrongVerdicts } from '../../golden/wild-memory';
import { scaleRows } from '../../golden/ranking';

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

  for (const [family, rows] of [
    ['FSDP2', 13],
    ['Primus', 3],
    ['Megatron-Bridge', 7],
  ] as const)
    it(`is within ${100 * unseenBounds[family]} % on average for ${family}, of whose rows no constant was made`, async () => {
      const peaks = (await unseenPeaks()).filter((row) => row.family === family);
      assert.equal(peaks.length, rows);
      const { mean } = errors(peaks);
      assert.ok(mean < unseenBounds[family], `${(100 * mean).toFixed(2)} %`);
    });

  it('is not reported to fit, without a doubt, where it did not, nor the other way round', async () => {
    const { fitting, tooLarge } = await wrongVerdicts();
    assert.equal((await memoryRows()).filter((row) => row.case.outOfMemory === true).length, 4);
    assert.deepEqual(fitting, []);
    assert.deepEqual(tooLarge, []);
  });
});

describe('a series of InternEvo from 8 to 1,024 GPUs', () => {
  it('grows as it was measured, within 10 %, where the optimizer is sharded over all and inside a node', async () => {
    const rows = await scaleRows();
    assert.equal(rows.length, 2);
    assert.ok(errors(rows).worst < 0.1, rows.map(({ name, measured, predicted }) => `${name}: ${measured}, ${predicted}`).join('; '));
  });
});

import assert from 'node:assert/strict';
import { newLauncher } from '../../../../../src/core/export/launchers/new-launcher';
import { readTorchTitan } from '../../../../../src/core/launchers/torchtitan/reader';
import { shellReader } from '../../launchers/shell/shell-reader';
import { toText } from '../../../sentence-text';
import { writerOf, type WrittenFormat } from './editors';
import { planWith } from './plans';

describe('groups of HSDP in a new launcher file', () => {
  const gapsIn = (format: WrittenFormat, changes: Parameters<typeof planWith>[0]): string[] =>
    newLauncher(planWith(changes), writerOf(format)).gaps.map(({ what }) => toText(what));

  it('are reported where the launcher shards over all replicas only', () => {
    for (const format of ['megatron-shell', 'deepspeed'] as const) {
      assert.ok(gapsIn(format, { zeroStage: 3, dataReplicate: 2 }).includes('2 groups of replicas (HSDP)'), format);
      for (const none of [{ zeroStage: 3 }, { zeroStage: 0, dataReplicate: 2 }] as const)
        assert.deepEqual(gapsIn(format, none).filter((what) => what.includes('HSDP')), []); // prettier-ignore
    }
  });

  it('are instances of the distributed optimizer in a script of Megatron-LM, where there is one', async () => {
    const read = await shellReader();
    const instances = (zeroStage: 0 | 1 | 3): number | undefined => {
      const { fileName, text } = newLauncher(planWith({ zeroStage, dataReplicate: 2 }), writerOf('megatron-shell'));
      return read(fileName, text).facts.dataReplicate?.value;
    };
    assert.deepEqual(([0, 1, 3] as const).map((stage) => instances(stage) ?? 1), [1, 2, 1]); // prettier-ignore
  });
});

describe('replicas of one shard in TorchTitan', () => {
  const read = (context: number): number | undefined => {
    const sizes = `data_parallel_replicate_degree = 4\ndata_parallel_shard_degree = 1\ncontext_parallel_degree = ${context}`;
    return readTorchTitan('train.toml', `[model]\nname = "llama3"\nflavor = "8B"\n[parallelism]\n${sizes}\n`).facts.zeroStage?.value;
  };

  it('run under DDP, except with context parallelism, over which FSDP2 shards', () => {
    assert.deepEqual([read(1), read(2)], [0, undefined]);
  });

  it('cannot be written for ZeRO 0 with context parallelism', () => {
    const gaps = (context: number): string[] =>
      newLauncher(planWith({ zeroStage: 0, data: 4, context }), writerOf('torchtitan')).gaps.map(({ what }) => toText(what));
    assert.ok(gaps(2).includes('ZeRO 0'));
    assert.ok(!gaps(1).includes('ZeRO 0'));
  });
});

import assert from 'node:assert/strict';
import { loadReader } from '../../../../src/core/config-files/readers';
import { readLingua } from '../../../../src/core/launchers/lingua/lingua';

/** Stage, groups and whether they are nodes. */
type Sharding = readonly [zeroStage: number | undefined, groups: number | undefined, isHybrid: boolean];

describe('HSDP in YAML of trainers', () => {
  const sharding = async (lines: string): Promise<Sharding> => {
    const read = await loadReader('hf-trainer', () => Promise.reject(new Error('no script')));
    const { facts } = read('train.yaml', `base_model: Qwen/Qwen3-8B\nsequence_len: 4096\nmicro_batch_size: 1\n${lines}\n`);
    return [facts.zeroStage?.value, facts.dataReplicate?.value, facts.hybridShard?.value === true];
  };

  it('is hybrid_shard among the options of fsdp, a list or one string', async () => {
    assert.deepEqual(await sharding('fsdp: [hybrid_shard, auto_wrap]'), [3, undefined, true]);
    assert.deepEqual(await sharding('fsdp: hybrid_shard auto_wrap'), [3, undefined, true]);
    assert.deepEqual(await sharding('fsdp: full_shard auto_wrap'), [3, undefined, false]);
    assert.deepEqual(await sharding('fsdp: shard_grad_op auto_wrap'), [2, undefined, false]);
    for (const off of ["fsdp: ''", 'fsdp: null', 'fsdp: false', 'fsdp: []', 'bf16: true'])
      assert.deepEqual(await sharding(off), [undefined, undefined, false], off);
  });

  it('is HYBRID_SHARD in fsdp_config', async () => {
    const config = (key: string): string => `fsdp: [full_shard]\nfsdp_config:\n  ${key}: HYBRID_SHARD`;
    assert.deepEqual(await sharding(config('fsdp_sharding_strategy')), [3, undefined, true]);
    assert.deepEqual(await sharding(config('sharding_strategy')), [3, undefined, true]);
  });

  it("is Axolotl's dp_replicate_size", async () => {
    const config = 'fsdp_version: 2\ndp_replicate_size: 2\ndp_shard_size: 8\nfsdp_config:\n  reshard_after_forward: true';
    assert.deepEqual(await sharding(config), [3, 2, false]);
  });
});

describe('HSDP in a YAML of lingua', () => {
  const groups = (sizes: string): unknown[] => {
    const { facts } = readLingua(
      'lingua.yaml',
      `model:\n  dim: 512\ndata:\n  seq_len: 512\ndistributed:\n  fsdp_type: full_shard\n${sizes}`,
    );
    return [facts.dataShard?.value, facts.dataReplicate?.value, facts.hybridShard?.value];
  };

  it('is replicas of more than one shard', () => {
    assert.deepEqual(groups('  dp_replicate: 4\n  dp_shard: 8\n'), [8, 4, undefined]);
  });

  it('is a group in each node where shards fill one and replicas are what is left', () => {
    assert.deepEqual(groups('  dp_shard: 8\n'), [undefined, undefined, true]);
    assert.deepEqual(groups('  dp_shard: 4\n  tp_size: 2\n'), [undefined, undefined, true]);
  });

  it('is none with one shard, which shards over all replicas', () => {
    assert.deepEqual(groups('  dp_replicate: 32\n'), [undefined, undefined, undefined]);
    assert.deepEqual(groups('  dp_replicate: 32\n  dp_shard: 1\n'), [undefined, undefined, undefined]);
  });
});

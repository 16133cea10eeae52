import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { launcherFile, layout, megatronScript, verdict } from './files';

describe('checkpoints of Megatron-LM in the format torch_dist', () => {
  it('load their weights at every layout, and the optimizer state too where it is not distributed', async () => {
    const file = await megatronScript('--load ckpt');
    for (const change of [{ tensor: 8 }, { pipeline: 2 }, { virtualStages: 2 }, { data: 4 }, { context: 2 }, { expert: 8 }]) {
      const found = verdict(file, change, { ...layout, zeroStage: 0 });
      assert.deepEqual([found?.name, found?.weights, found?.optimizer, found?.format], ['loads', 'loads', 'loads', 'torch_dist']);
    }
  });

  it('do not load the state of a distributed optimizer at other tensor and pipeline sizes, which Megatron-LM compares', async () => {
    const file = await megatronScript('--load ckpt --use-distributed-optimizer');
    for (const change of [{ tensor: 8 }, { pipeline: 2 }]) {
      const found = verdict(file, change);
      assert.deepEqual([found?.name, found?.weights, found?.optimizer], ['loads-after-conversion', 'loads', 'stops']);
      assert.match(found?.source ?? '', /checkpointing\.py 2649 to 2658$/);
      assert.match(found?.conversion ?? '', /--dist-ckpt-optim-fully-reshardable .*--no-load-optim/);
    }
    for (const change of [{ virtualStages: 2 }, { expert: 8 }, { stageLayers: [7, 9, 8, 8] }])
      assert.equal(verdict(file, change)?.optimizer, 'stops', JSON.stringify(change));
    for (const change of [{ data: 4 }, { context: 2 }]) assert.equal(verdict(file, change)?.name, 'loads', JSON.stringify(change));
  });

  it('load that state at every layout where it is written fully reshardable, or is not loaded', async () => {
    for (const flag of ['--dist-ckpt-optim-fully-reshardable', '--no-load-optim', '--finetune']) {
      const file = await megatronScript(`--load ckpt --use-distributed-optimizer ${flag}`);
      for (const change of [{ tensor: 8 }, { pipeline: 2 }, { virtualStages: 2 }, { expert: 8 }, { stageLayers: [7, 9, 8, 8] }])
        assert.equal(verdict(file, change)?.name, 'loads', `${flag} ${JSON.stringify(change)}`);
    }
  });

  it('are not known to load where the optimizer changes, or is distributed only then', async () => {
    const file = await megatronScript('--load ckpt');
    assert.equal(verdict(file, { optimizer: 'muon' }, { ...layout, zeroStage: 0 })?.name, 'unknown');
    assert.equal(verdict(file, { zeroStage: 1 }, { ...layout, zeroStage: 0 })?.name, 'unknown');
  });
});

describe('checkpoints of Megatron-LM in the format torch', () => {
  const flags = '--load ckpt --ckpt-format torch';

  it('stop at other tensor, pipeline and expert ranks, by the names of their files and the sizes in them', async () => {
    const file = await megatronScript(flags);
    for (const change of [{ tensor: 8 }, { tensor: 2 }, { pipeline: 8 }, { pipeline: 2 }, { expert: 8 }, { expert: 1 }]) {
      const found = verdict(file, change);
      assert.deepEqual([found?.outcome, found?.weights], ['stops', 'stops'], JSON.stringify(change));
      assert.match(found?.source ?? '', /checkpointing\.py .*2109/);
      assert.match(found?.conversion ?? '', /--ckpt-convert-format torch_dist/);
    }
    assert.match(verdict(file, { tensor: 8 })?.conversion ?? '', /--target-tensor-parallel-size 8 --target-pipeline-parallel-size 4$/);
  });

  it('leave virtual stages that the file does not have as they are initialised, without an error', async () => {
    for (const more of ['', ' --no-load-optim', ' --use-distributed-optimizer --finetune']) {
      const found = verdict(await megatronScript(flags + more), { virtualStages: 2 }, { ...layout, zeroStage: 0 });
      assert.deepEqual([found?.name, found?.weights], ['silently-initialises', 'initialises'], more);
      assert.match(found?.source ?? '', /checkpointing\.py 2946 to 2951$/);
    }
  });

  it('stop at them where the buffers of a distributed optimizer are compared, and where there is only one stage then', async () => {
    const file = await megatronScript(`${flags} --use-distributed-optimizer`);
    const found = verdict(file, { virtualStages: 2 });
    assert.deepEqual([found?.outcome, found?.weights, found?.optimizer], ['stops', 'initialises', 'stops']);
    assert.match(found?.source ?? '', /distrib_optimizer\.py 2300$/);
    const one = verdict(await megatronScript(`${flags} --finetune`), { virtualStages: 1 }, { ...layout, virtualStages: 2 });
    assert.deepEqual([one?.outcome, one?.source.endsWith('checkpointing.py 2944')], ['stops', true]);
  });

  it('initialise layers and experts of fewer ranks where no optimizer state and no arguments are compared', async () => {
    const file = await megatronScript(`${flags} --finetune`);
    for (const change of [{ pipeline: 2 }, { expert: 2 }, { stageLayers: [7, 9, 8, 8] }])
      assert.equal(verdict(file, change)?.outcome, 'initialises', JSON.stringify(change));
    const withState = await megatronScript(flags);
    for (const change of [{ expert: 2 }, { stageLayers: [7, 9, 8, 8] }])
      assert.equal(verdict(withState, change)?.outcome, 'stops', JSON.stringify(change));
  });

  it('load on other numbers of replicas, with a distributed optimizer too', async () => {
    for (const more of ['', ' --use-distributed-optimizer'])
      for (const change of [{ data: 4 }, { context: 2 }]) assert.equal(verdict(await megatronScript(flags + more), change)?.name, 'loads');
  });

  it('stop where the optimizer is distributed only before or only then', async () => {
    const file = await megatronScript(flags);
    assert.equal(verdict(file, { zeroStage: 1 }, { ...layout, zeroStage: 0 })?.outcome, 'stops');
    assert.equal(verdict(file, { zeroStage: 0 })?.outcome, 'stops');
  });
});

describe('checkpoints of FSDP in Megatron-LM', () => {
  it('load at other sizes with Megatron FSDP; PyTorch FSDP2 takes no tensor parallelism', async () => {
    const own = await megatronScript('--load ckpt --ckpt-format fsdp_dtensor --use-megatron-fsdp');
    assert.equal(verdict(own, { data: 4 })?.name, 'loads');
    assert.equal(verdict(own, { virtualStages: 2 })?.name, 'unknown');
    const torch = await megatronScript('--load ckpt --ckpt-format torch_dcp --use-torch-fsdp2');
    const alike = { ...layout, tensor: 1, pipeline: 1 };
    assert.equal(verdict(torch, { data: 4 }, alike)?.name, 'loads');
    assert.equal(verdict(torch, { tensor: 2 }, alike)?.name, 'does-not-load');
  });
});

describe('which checkpoints a launch script loads', () => {
  it('none without --load, with a format that is not known, or at the same layout', async () => {
    assert.equal(verdict(await megatronScript('--save ckpt'), { tensor: 8 }), null);
    assert.equal(verdict(await megatronScript('--load ckpt --ckpt-format zarr'), { tensor: 8 }), null);
    assert.equal(verdict(await megatronScript('--load ckpt'), {}), null);
  });

  it('those of a path that is only known when the script runs, and only the weights of --pretrained-checkpoint', async () => {
    const file = await megatronScript('--load $CKPT --use-distributed-optimizer');
    assert.equal(verdict(file, { tensor: 8 })?.optimizer, 'stops');
    assert.ok(file.remarks.every(({ code }) => code !== 'flag-unknown-value'));
    const pretrained = await megatronScript('--pretrained-checkpoint $CKPT --use-distributed-optimizer');
    assert.deepEqual([verdict(pretrained, { tensor: 8 })?.name, verdict(pretrained, { tensor: 8 })?.optimizer], ['loads', null]);
  });

  it('the files of ranks of Megatron-LM before Megatron Core', async () => {
    const old = await megatronScript('--load ckpt --checkpoint-activations --checkpoint-num-layers 1');
    assert.deepEqual([verdict(old, { tensor: 8 })?.format, verdict(old, { tensor: 8 })?.outcome], ['torch', 'stops']);
  });
});

describe('checkpoints of Megatron-Bridge', () => {
  const yaml = (checkpoint: string) =>
    launcherFile('megatron-bridge', `model:\n  tensor_model_parallel_size: 4\ntrain:\n  global_batch_size: 8\ncheckpoint:\n${checkpoint}`);

  it('follow the rules of Megatron Core; what a recipe leaves open shards the optimizer', async () => {
    const found = verdict(await yaml('  load: /ckpt\n'), { tensor: 8 }, { ...layout, zeroStage: null });
    assert.deepEqual([found?.name, found?.weights], ['loads-after-conversion', 'loads']);
    assert.match(found?.source ?? '', /Megatron-Bridge at 067f987d, .*checkpointing\.py 2889 to 2898$/);
    assert.equal(verdict(await yaml('  load: /ckpt\n  dist_ckpt_optim_fully_reshardable: true\n'), { tensor: 8 })?.name, 'loads');
    for (const weights of ['  load: /ckpt\n  load_optim: false\n', '  pretrained_checkpoint: /ckpt\n', '  load: /ckpt\n  finetune: true\n'])
      assert.deepEqual(verdict(await yaml(weights), { tensor: 8 })?.optimizer, null, weights);
    assert.equal(verdict(await yaml('  load: null\n'), { tensor: 8 }), null);
  });
});

describe('checkpoints of NeMo', () => {
  const yaml = (model: string) =>
    launcherFile('nemo', `trainer:\n  num_nodes: 1\n  devices: 8\nexp_manager:\n  resume_if_exists: true\nmodel:\n  tensor_model_parallel_size: 4\n${model}`); // prettier-ignore

  it("are Megatron Core's with mcore_gpt, which load at every size unless the optimizer is gathered", async () => {
    const core = '  mcore_gpt: true\n  optim:\n    name: mcore_distributed_optim\n';
    assert.deepEqual([verdict(await yaml(core), { tensor: 8 })?.name, verdict(await yaml(core), { tensor: 8 })?.format], ['loads', 'zarr']);
    const gathered = verdict(await yaml(`${core}  dist_ckpt_parallel_dist_opt: false\n`), { tensor: 8 });
    assert.deepEqual([gathered?.weights, gathered?.optimizer, gathered?.name], ['loads', 'stops', 'loads-after-conversion']);
  });

  it('are files of ranks without it, and are converted by a script', async () => {
    const found = verdict(await yaml('  micro_batch_size: 1\n'), { tensor: 8 });
    assert.deepEqual([found?.outcome, found?.format], ['stops', 'torch']);
    assert.match(found?.conversion ?? '', /megatron_change_num_partitions\.py .*--target_tensor_model_parallel_size=8 /);
    assert.equal(verdict(await yaml('  micro_batch_size: 1\n'), { data: 4 })?.name, 'loads');
  });

  it('are weights only in a .nemo', async () => {
    const file = await yaml('  restore_from_path: model.nemo\n  mcore_gpt: true\n');
    assert.deepEqual([verdict(file, { tensor: 8 })?.name, verdict(file, { tensor: 8 })?.optimizer], ['loads', null]);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { launcherFile, layout, verdict } from './files';

const everySize = [{ tensor: 8 }, { pipeline: 2 }, { virtualStages: 2 }, { context: 2 }, { expert: 8 }, { stageLayers: [7, 9, 8, 8] }];

describe('checkpoints of TorchTitan', () => {
  const toml = (checkpoint: string) =>
    launcherFile(
      'torchtitan',
      `[model]\nname = "llama3"\nflavor = "8B"\n[parallelism]\ntensor_parallel_degree = 4\n[checkpoint]\n${checkpoint}`,
    );

  it('load at every layout, except for the data loader of another number of replicas', async () => {
    const file = await toml('enable_checkpoint = true\n');
    for (const change of everySize) assert.equal(verdict(file, change)?.name, 'loads', JSON.stringify(change));
    const found = verdict(file, { data: 4 });
    assert.deepEqual([found?.name, found?.weights], ['loads-after-conversion', 'loads']);
    assert.match(found?.source ?? '', /data\/loader\.py 163 to 166$/);
  });

  it('load on any number of replicas without the data loader, or with the weights only of initial_load_path', async () => {
    for (const settings of [
      'enable = true\nexclude_from_loading = ["dataloader"]\n',
      'enable = true\ninitial_load_path = "/ckpt"\n',
      'enable_checkpoint = true\ninitial_load_path = "/ckpt"\ninitial_load_model_only = true\n',
    ])
      assert.equal(verdict(await toml(settings), { data: 4 })?.name, 'loads', settings);
    const whole = await toml('enable = true\ninitial_load_path = "/ckpt"\ninitial_load_model_only = false\n');
    assert.equal(verdict(whole, { data: 4 })?.outcome, 'stops');
  });

  it('are not loaded where they are switched off', async () => {
    assert.equal(verdict(await toml('enable_checkpoint = false\ninitial_load_path = "/ckpt"\n'), { data: 4 }), null);
    assert.equal(verdict(await toml('folder = "checkpoint"\n'), { data: 4 }), null);
  });
});

describe('checkpoints of DeepSpeed', () => {
  const script = (flags: string) =>
    launcherFile(
      'megatron-shell',
      `#!/bin/bash\ndeepspeed --num_gpus 8 Megatron-DeepSpeed/pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --zero-stage 1 --deepspeed ${flags}\n`,
    );

  it('take the number of replicas, tensor ranks and stages that they were written with; a universal one takes any', async () => {
    const plain = await script('--load ckpt');
    for (const change of [{ data: 4 }, { tensor: 8 }, { pipeline: 2 }, { context: 2 }, { expert: 8 }]) {
      const found = verdict(plain, change);
      assert.deepEqual([found?.name, found?.format], ['loads-after-conversion', 'plain'], JSON.stringify(change));
      assert.match(found?.conversion ?? '', /deepspeed\.checkpoint\.ds_to_universal --input_folder OLD /);
    }
    assert.match(verdict(plain, { data: 4 })?.source ?? '', /engine\.py 4628 to 4632$/);
    assert.equal(verdict(plain, { data: 4 })?.weights, 'loads');
    const universal = await script('--load ckpt --universal-checkpoint');
    for (const change of [{ data: 4 }, { tensor: 8 }, { pipeline: 2 }, { zeroStage: 2 }])
      assert.deepEqual([verdict(universal, change)?.name, verdict(universal, change)?.format], ['loads', 'universal']);
  });

  it('load on any number of replicas without ZeRO, or without the optimizer state', async () => {
    assert.equal(verdict(await script('--load ckpt'), { data: 4 }, { ...layout, zeroStage: 0 })?.name, 'loads');
    assert.equal(verdict(await script('--load ckpt --no-load-optim'), { data: 4 })?.name, 'loads');
  });

  it('are shards of the weights in stage 3 only, which a universal checkpoint does not cut by tensor ranks', async () => {
    assert.equal(verdict(await script('--load ckpt'), { zeroStage: 3 })?.weights, 'stops');
    assert.equal(verdict(await script('--load ckpt'), { zeroStage: 2 })?.name, 'unknown');
    const universal = await script('--load ckpt --universal-checkpoint');
    assert.equal(verdict(universal, { tensor: 8 }, { ...layout, zeroStage: 3 })?.name, 'unknown');
    assert.equal(verdict(universal, { data: 4 }, { ...layout, zeroStage: 3 })?.name, 'loads');
  });

  it('are those of GPT-NeoX too, and of a DeepSpeed JSON that loads universal ones', async () => {
    const sizes = '"num_layers": 24, "hidden_size": 1024, "num_attention_heads": 16, "pipe_parallel_size": 1, "model_parallel_size": 1';
    const neox = (more: string) => launcherFile('gpt-neox', `{ ${sizes}, "zero_optimization": { "stage": 1 }, "load": "ckpt"${more} }\n`);
    assert.equal(verdict(await neox(''), { data: 4 })?.outcome, 'stops');
    assert.equal(verdict(await neox(', "finetune": true'), { data: 4 })?.name, 'loads');
    assert.equal(verdict(await neox(', "checkpoint": { "load_universal": true }'), { data: 4 })?.format, 'universal');
    const json = await launcherFile('deepspeed', '{ "train_batch_size": 8, "zero_optimization": { "stage": 1 }, "checkpoint": { "load_universal": true } }'); // prettier-ignore
    assert.deepEqual([verdict(json, { data: 4 })?.name, verdict(json, { data: 4 })?.format], ['loads', 'universal']);
  });
});

describe('checkpoints of a Trainer', () => {
  const axolotl = (more: string) => launcherFile('hf-trainer', `base_model: meta-llama/Llama-3-8B\nresume_from_checkpoint: ckpt\n${more}`);

  it('load at any number of GPUs with FSDP, except for those of single ranks', async () => {
    for (const type of ['SHARDED_STATE_DICT', 'FULL_STATE_DICT'])
      assert.deepEqual(verdict(await axolotl(`fsdp_config:\n  fsdp_state_dict_type: ${type}\n`), { data: 4 })?.name, 'loads');
    const local = await axolotl('fsdp_config:\n  state_dict_type: LOCAL_STATE_DICT\n');
    assert.equal(verdict(local, { data: 4 })?.name, 'loads-after-conversion');
    assert.equal(verdict(local, { zeroStage: 2 }, { ...layout, zeroStage: 3 })?.name, 'loads');
    assert.equal(verdict(await axolotl('fsdp_config:\n  offload_params: true\n'), { data: 4 })?.format, 'FULL_STATE_DICT');
  });

  it('keep the shards of DeepSpeed, and whole files with DDP', async () => {
    const sharded = await axolotl('deepspeed: zero3.json\n');
    assert.match(verdict(sharded, { data: 4 }, { ...layout, zeroStage: 3 })?.source ?? '', /engine\.py 4628 to 4632$/);
    assert.equal(verdict(await axolotl(''), { data: 4 }, { ...layout, zeroStage: 0 })?.name, 'loads');
  });

  it('are known from a script and from its Accelerate YAML', async () => {
    const script = (flags: string) =>
      launcherFile('trainer-shell', `#!/bin/bash\naccelerate launch --num_processes 8 train.py --model_name_or_path m --per_device_train_batch_size 1 --output_dir out ${flags}\n`); // prettier-ignore
    const found = verdict(await script('--use_fsdp --fsdp_state_dict_type LOCAL_STATE_DICT --resume_from_checkpoint ckpt'), { data: 4 });
    assert.equal(found?.outcome, 'stops');
    assert.equal(verdict(await script('--use_fsdp'), { data: 4 }), null);
  });
});

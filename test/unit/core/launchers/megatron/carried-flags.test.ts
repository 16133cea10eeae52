import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { readDeepSpeed } from '../../../../../src/core/launchers/deepspeed/reader';
import { trainerFiles } from '../../../../../src/core/launchers/hf-trainer/hf-trainer';
import { carriedFlags, isDataFlag } from '../../../../../src/core/launchers/megatron/carried-flags';
import { readTorchTitan } from '../../../../../src/core/launchers/torchtitan/reader';
import type { Carried } from '../../../../../src/core/launchers/writing/editor';
import type { LauncherFile, LauncherReader } from '../../../../../src/core/run/facts';
import { shellReader } from '../shell/shell-reader';

const scripts = path.join(import.meta.dirname, '../../../../fixtures/launchers/shell');

function carried({ written, file }: LauncherFile, isOlder = false): Carried {
  const settings = written?.settings;
  assert.ok(written !== undefined && settings !== null && settings !== undefined);
  return carriedFlags({ ...written, settings, file }, isOlder);
}

describe('settings that a new Megatron-LM script takes over', () => {
  let shell: LauncherReader;
  before(async () => {
    shell = await shellReader();
  });
  const script = (flags: string): LauncherFile =>
    shell('run.sh', `torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 4 --hidden-size 512 --num-attention-heads 8 ${flags}\n`);

  it('keeps flags of Megatron-LM as they are spelled, and lists those that it does not take over', () => {
    const { values, left } = carried(
      script(
        '--lr 1.5e-4 --adam_beta2 0.95 --override-opt_param-scheduler --data-path 0.3 /a 0.7 "/b c" --wandb-project l70 --use-mcore-models',
      ),
    );
    assert.deepEqual(
      [...values.values()],
      ['--lr 1.5e-4', '--adam_beta2 0.95', '--override-opt_param-scheduler', '--data-path 0.3 /a 0.7 "/b c"', '--wandb-project l70'],
    );
    assert.deepEqual(left, ['--use-mcore-models']);
    assert.deepEqual([...values.keys()].filter(isDataFlag), ['data-path', 'wandb-project']);
  });

  it('lists a flag whose value only the run knows', () => {
    assert.deepEqual(carried(script('--save $1 --lr 1e-4')).left, ['--save (its value is known only to the run)']);
  });

  it('leaves out flags that a fork of an older release does not know', () => {
    const { values, left } = carried(script('--lr 1e-4 --async-save --ckpt-format torch_dist'), true);
    assert.deepEqual([[...values.keys()], left], [['lr'], ['--async-save', '--ckpt-format torch_dist']]);
  });

  it('takes over or lists each setting of a script that no plan has', () => {
    let checked = 0;
    for (const name of readdirSync(scripts)) {
      const launcher = shell(name, readFileSync(path.join(scripts, name), 'utf8'));
      const settings = launcher.written?.names === 'megatron' ? (launcher.written.settings ?? []) : [];
      if (settings.length === 0) continue;
      const { values, left } = carried(launcher);
      const names = new Set([...values.values(), ...left].map((line) => line.split(' ')[0]));
      for (const setting of settings.filter(({ isPlanned, words }) => !isPlanned && words?.[0] !== 'false')) {
        assert.ok(names.has(setting.name), `${name}: ${setting.name}`);
        checked += 1;
      }
    }
    assert.ok(checked >= 20, `${checked} settings`);
  });

  it("writes a Trainer's arguments, and its defaults where Megatron-LM has others", () => {
    const yaml = `model_name_or_path: meta-llama/Llama-3.1-8B
finetuning_type: full
learning_rate: 1.0e-5
lr_scheduler_type: constant_with_warmup
warmup_steps: 0
warmup_ratio: 0.1
num_train_epochs: 3.0
max_grad_norm: 0.5
logging_steps: 10
save_steps: 0.1
overwrite_output_dir: true
plot_loss: false
`;
    const { values, left } = carried(trainerFiles.read([{ file: 'lf.yaml', text: yaml }]));
    assert.deepEqual(
      [...values.values()],
      [
        '--weight-decay 0.0 # the default of the planned run',
        '--seed 42 # the default of the planned run',
        '--tokenizer-type HuggingFaceTokenizer',
        '--tokenizer-model meta-llama/Llama-3.1-8B',
        '--lr 1.0e-5',
        '--lr-decay-style constant',
        '--lr-warmup-fraction 0.1',
        '--clip-grad 0.5',
        '--log-interval 10',
      ],
    );
    assert.deepEqual(left, ['num_train_epochs 3.0', 'save_steps 0.1', 'overwrite_output_dir true']);
    const steps = carried(
      trainerFiles.read([{ file: 'lf.yaml', text: `${yaml}max_steps: 500\n`.replace('warmup_steps: 0', 'warmup_steps: 9') }]),
    );
    assert.equal(steps.values.get('train-iters'), '--train-iters 500');
    assert.equal(steps.values.get('lr-warmup-iters'), '--lr-warmup-iters 9');
    assert.equal(steps.values.has('lr-warmup-fraction'), false);
    assert.ok(!steps.left.includes('num_train_epochs 3.0'));
  });

  it("writes TorchTitan's optimizer and schedule, with its own defaults", () => {
    const toml = `[model]
name = "llama3"
flavor = "8B"
[optimizer]
lr = 3e-4
[lr_scheduler]
min_lr_factor = 0.1
[training]
seq_len = 8192
steps = 1000
dataset = "c4"
[checkpoint]
enable = true
folder = "checkpoint"
interval = 500
`;
    const { values, left } = carried(readTorchTitan('run.toml', toml));
    assert.deepEqual(
      [...values].map(([, line]) => line.replace(' # the default of the planned run', ' (default)')),
      [
        '--adam-beta2 0.95 (default)',
        '--weight-decay 0.1 (default)',
        '--lr-warmup-iters 200 (default)',
        '--lr-decay-style linear (default)',
        '--lr 0.0003',
        '--min-lr 0.00003',
        '--train-iters 1000',
        '--save checkpoint',
        '--save-interval 500',
      ],
    );
    assert.deepEqual(left, ['training.dataset c4']);
  });

  it("writes the optimizer of DeepSpeed's JSON", () => {
    const json = `{"train_micro_batch_size_per_gpu": 1, "gradient_clipping": 1.0, "wall_clock_breakdown": true,
      "optimizer": {"type": "AdamW", "params": {"lr": 3e-5, "betas": [0.8, 0.999], "weight_decay": 3e-7}},
      "scheduler": {"type": "WarmupLR", "params": {"warmup_num_steps": 500, "warmup_max_lr": 3e-5}}}`;
    const { values, left } = carried(readDeepSpeed('ds.json', json));
    assert.deepEqual(
      [...values.values()],
      ['--clip-grad 1', '--lr 0.00003', '--adam-beta1 0.8', '--adam-beta2 0.999', '--weight-decay 3e-7', '--lr-warmup-iters 500'],
    );
    assert.deepEqual(left, ['wall_clock_breakdown true', 'scheduler.type WarmupLR', 'scheduler.params.warmup_max_lr 0.00003']);
  });
});

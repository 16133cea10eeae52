import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { newLauncher } from '../../../../../src/core/export/launchers/new-launcher';
import { trainerFiles } from '../../../../../src/core/launchers/hf-trainer/hf-trainer';
import { readTorchTitan } from '../../../../../src/core/launchers/torchtitan/reader';
import type { LauncherFile, LauncherReader } from '../../../../../src/core/run/facts';
import { toText } from '../../../sentence-text';
import { writerOf, type WrittenFormat } from '../../export/launchers/editors';
import { planWith } from '../../export/launchers/plans';
import { shellReader } from '../shell/shell-reader';

const scripts = path.join(import.meta.dirname, '../../../../fixtures/launchers/shell');

/** Rows that a new file of the same plan lacks without this source, as `section.key: value`, and what the file lists as not taken over. */
function carried({ written, file }: LauncherFile, format: WrittenFormat) {
  const settings = written?.settings;
  assert.ok(written !== undefined && settings !== null && settings !== undefined);
  const writer = writerOf(format);
  const { text, gaps } = newLauncher(planWith({ source: { ...written, settings, file } }), writer);
  const planned = new Set(newLauncher(planWith(), writer).text.split('\n'));
  let section = '';
  const rows = text.split('\n').flatMap((line) => {
    section = /^\[?(\w+)[\]:]$/.exec(line)?.[1] ?? section;
    return planned.has(line) || /^(?:#|\[|\w+:$|$)/.test(line) ? [] : [`${section}.${line.trim().replace(' = ', ': ')}`];
  });
  const reason = gaps.map((gap) => [toText(gap.what), toText(gap.reason)]).find(([what]) => what?.startsWith('other settings'))?.[1];
  return { rows, left: reason?.replace(/: this launcher has no counterpart that is written$/, '').split(', ') ?? [] };
}

describe('settings of a run that a new file of another launcher takes over', () => {
  let shell: LauncherReader;
  before(async () => {
    shell = await shellReader();
  });
  const script = (flags: string): LauncherFile =>
    shell('run.sh', `torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 4 --hidden-size 512 --num-attention-heads 8 ${flags}\n`);

  const run =
    '--lr 1.5e-4 --min-lr 1.5e-5 --lr-decay-style cosine --lr-warmup-fraction 0.01 --train-iters 50000 --adam-beta2 0.95 --weight-decay 0.1 ' +
    '--clip-grad 1 --seed 7 --data-path 0.3 /a 0.7 /b --tokenizer-type HuggingFaceTokenizer --tokenizer-model meta-llama/Llama-3.1-8B ' +
    '--save /ckpt --load /ckpt --save-interval 1000 --log-interval 10 --no-load-rng --use-mcore-models --tensorboard-dir tb';

  it('are keys of TorchTitan, where it has them', () => {
    const { rows, left } = carried(script(run), 'torchtitan');
    assert.deepEqual(rows, [
      'model.hf_assets_path: "meta-llama/Llama-3.1-8B"',
      'optimizer.lr: 0.00015',
      'optimizer.beta2: 0.95',
      'optimizer.weight_decay: 0.1',
      'lr_scheduler.min_lr_factor: 0.1',
      'lr_scheduler.decay_type: "cosine"',
      'lr_scheduler.warmup_steps: 500',
      'training.steps: 50000',
      'training.max_norm: 1',
      'checkpoint.enable: true',
      'checkpoint.folder: "/ckpt"',
      'checkpoint.interval: 1000',
      'metrics.log_freq: 10',
      'metrics.enable_tensorboard: true',
      'metrics.save_tb_folder: "tb"',
      'debug.seed: 7',
    ]);
    assert.deepEqual(left, ['--data-path 0.3 /a 0.7 /b', '--no-load-rng', '--use-mcore-models']);
  });

  it('are keys of Megatron-Bridge, which also take out what a recipe may have instead', () => {
    const { rows, left } = carried(script(run), 'megatron-bridge');
    assert.deepEqual(rows, [
      'dataset.data_path: "0.3 /a 0.7 /b"',
      'tokenizer.tokenizer_type: "HuggingFaceTokenizer"',
      'tokenizer.tokenizer_model: "meta-llama/Llama-3.1-8B"',
      'train.train_iters: 50000',
      'optimizer.lr: 0.00015',
      'optimizer.min_lr: 0.000015',
      'optimizer.adam_beta2: 0.95',
      'optimizer.weight_decay: 0.1',
      'optimizer.clip_grad: 1',
      'scheduler.lr_decay_style: "cosine"',
      'scheduler.lr_warmup_fraction: 0.01',
      'scheduler.lr_warmup_iters: 0',
      'scheduler.lr_decay_iters: null',
      'scheduler.start_weight_decay: 0.1',
      'scheduler.end_weight_decay: 0.1',
      'rng.seed: 7',
      'checkpoint.save: "/ckpt"',
      'checkpoint.load: "/ckpt"',
      'checkpoint.save_interval: 1000',
      'checkpoint.load_rng: false',
      'logger.log_interval: 10',
      'logger.tensorboard_dir: "tb"',
    ]);
    assert.deepEqual(left, ['--use-mcore-models']);
    const samples = carried(script('--train-samples 640000 --lr-warmup-samples 6400 --lr 1e-7'), 'megatron-bridge').rows;
    for (const row of ['train.train_samples: 640000', 'train.train_iters: null', 'optimizer.lr: 1.0e-7', 'scheduler.lr_warmup_iters: 0'])
      assert.ok(samples.includes(row), row);
  });

  it("are the source's defaults where the other launcher has others", () => {
    const silent = carried(script('--lr 1e-4 --train-samples 640000'), 'torchtitan').rows;
    assert.deepEqual(silent, [
      'optimizer.beta2: 0.999',
      'optimizer.weight_decay: 0.01',
      'optimizer.lr: 0.0001',
      'lr_scheduler.warmup_steps: 0',
      'training.steps: 10000',
    ]);
    const yaml = 'model_name_or_path: meta-llama/Llama-3.1-8B\nfinetuning_type: full\nmax_steps: 300\nlr_scheduler_type: constant\n';
    assert.deepEqual(carried(trainerFiles.read([{ file: 'lf.yaml', text: yaml }]), 'torchtitan').rows, [
      'model.hf_assets_path: "meta-llama/Llama-3.1-8B"',
      'optimizer.beta2: 0.999',
      'optimizer.lr: 0.00005',
      'optimizer.weight_decay: 0.0',
      'lr_scheduler.warmup_steps: 0',
      'lr_scheduler.decay_ratio: 0.0',
      'training.steps: 300',
      'debug.seed: 42',
    ]);
    const toml = '[model]\nname = "llama3"\nflavor = "8B"\n[training]\nseq_len = 8192\nsteps = 900\n';
    const { rows } = carried(readTorchTitan('t.toml', toml), 'megatron-bridge');
    for (const row of ['optimizer.lr: 0.0008', 'optimizer.adam_beta2: 0.95', 'optimizer.min_lr: 0.0', 'train.train_iters: 900'])
      assert.ok(rows.includes(row), row);
  });

  it('lists what would train otherwise', () => {
    const flags = '--optimizer sgd --lr-decay-style inverse-square-root --lr-decay-iters 10 --train-iters 20 --clip-grad 0 --load /other';
    const { left } = carried(script(`${flags} --lr 1e-4 --tokenizer-type GPT2BPETokenizer --save $1`), 'torchtitan');
    const names = left.map((each) => each.split(' ')[0]).sort();
    assert.deepEqual(
      names,
      ['--clip-grad', '--load', '--lr-decay-iters', '--lr-decay-style', '--optimizer', '--save', '--tokenizer-type'],
    ); // prettier-ignore
  });

  it('are taken over or listed, each of every script', () => {
    let checked = 0;
    for (const name of readdirSync(scripts)) {
      const launcher = shell(name, readFileSync(path.join(scripts, name), 'utf8'));
      const settings = launcher.written?.names === 'megatron' ? (launcher.written.settings ?? []) : [];
      if (settings.length === 0) continue;
      for (const format of ['torchtitan', 'megatron-bridge'] as const) {
        const { rows, left } = carried(launcher, format);
        for (const setting of settings.filter(({ isPlanned, words }) => !isPlanned && words?.[0] !== 'false')) {
          const isCarried = rows.some((row) => hasWords(row, setting.words ?? []) || row.split(': ')[0]?.includes(plain(setting.name)));
          const isListed = left.some((each) => each.startsWith(setting.name));
          assert.ok(isCarried || isListed || isIdle(setting.name), `${name}, ${format}: ${setting.name}`);
          checked += 1;
        }
      }
    }
    assert.ok(checked >= 40, `${checked} settings`);
  });
});

function plain(name: string): string {
  return name.replace(/^--(?:no-)?/, '').replaceAll('-', '_');
}

function hasWords(row: string, words: readonly string[]): boolean {
  const value = row.slice(row.indexOf(': ') + 2);
  const written = words.join(' ');
  return written !== '' && (value === JSON.stringify(written) || Number(value) === Number(written));
}

/** What has no effect in the other launcher. */
function isIdle(name: string): boolean {
  return /^--(?:distributed[-_]backend|tokenizer[-_]type|load|optimizer|min[-_]lr|lr[-_]warmup\S*|lr[-_]decay[-_](?:iters|samples)|train[-_]samples)$/.test(
    name,
  );
}

import assert from 'node:assert/strict';
import { before, describe, it } from 'mocha';
import { ExpectedError } from '../../../../../src/core/errors';
import type { ComposingReader } from '../../../../../src/core/launchers/composition';
import { nemoFiles } from '../../../../../src/core/launchers/nemo/nemo';
import { fileStart } from '../../../../../src/core/languages/json/document';
import { loadConfig, type LoadedConfig } from '../../../../../src/core/config-files/load-config';
import { say, sentence } from '../../../../../src/core/sentence';
import { shellReader } from '../shell/shell-reader';

let shell: ComposingReader;

before(async () => {
  shell = await shellReader();
});

async function load(file: string, text: string, others: Readonly<Record<string, string>> = {}): Promise<LoadedConfig> {
  return loadConfig(file, text, {
    read: (_from, path) => {
      const found = others[path.replace(/^\.\//, '')];
      if (found !== undefined) return Promise.resolve({ file: path, text: found });
      return Promise.reject(new ExpectedError('config-not-found', sentence`not there`, sentence`look`, fileStart(path)));
    },
    shell: () => Promise.resolve(shell),
  });
}

/** Name, bytes of states, bytes of master weights and rank, as planning takes them. */
async function optimizerOf(file: string, text: string, others?: Readonly<Record<string, string>>): Promise<unknown> {
  const { run } = await load(file, text, others);
  const { optimizer, optimizerStateBytes, masterWeightBytes, optimizerRank } = run?.training ?? {};
  return [optimizer, optimizerStateBytes, masterWeightBytes, optimizerRank].map((one) => one?.value);
}

const none = undefined;
const axolotl = 'base_model: Qwen/Qwen2.5-32B\nsequence_len: 2048\nmicro_batch_size: 1\nbf16: auto\n';
const factory =
  'model_name_or_path: Qwen/Qwen2.5-7B\nfinetuning_type: full\ncutoff_len: 2048\nper_device_train_batch_size: 1\ndo_train: true\nbf16: true\n';
const megatron = 'torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --bf16 ';

describe('the optimizer of a launcher', () => {
  it('is the one that Axolotl, LLaMA-Factory and scripts of a Trainer name', async () => {
    for (const name of ['adamw_torch_fused', 'adamw_bnb_8bit', 'paged_adamw_32bit', 'adafactor', 'muon', 'ademamix'])
      assert.deepEqual(await optimizerOf('a.yaml', `${axolotl}optimizer: ${name}\n`), [name, none, 0, none]);
    assert.deepEqual(await optimizerOf('f.yaml', `${factory}optim: lion_8bit\n`), ['lion_8bit', none, none, none]);
    const script = 'torchrun train.py --model_name_or_path Qwen/Qwen2.5-7B --per_device_train_batch_size 1 --optim adamw_8bit';
    assert.deepEqual(await optimizerOf('run.sh', script), ['adamw_8bit', none, none, none]);
  });

  it('has no momentum where a Trainer takes SGD, and has where Megatron-LM does', async () => {
    assert.deepEqual(await optimizerOf('a.yaml', `${axolotl}optimizer: sgd\n`), ['sgd-no-momentum', none, 0, none]);
    assert.deepEqual(await optimizerOf('run.sh', `${megatron}--optimizer sgd`), ['sgd', none, none, none]);
  });

  it('is what a switch of LLaMA-Factory sets, with its rank', async () => {
    assert.deepEqual(await optimizerOf('f.yaml', `${factory}use_galore: true\ngalore_rank: 64\n`), ['galore_adamw', none, none, 64]);
    assert.deepEqual(await optimizerOf('f.yaml', `${factory}use_apollo: true\n`), ['apollo_adamw', none, none, 16]);
    assert.deepEqual(await optimizerOf('f.yaml', `${factory}optim: galore_adamw\noptim_args: rank=256, scale=2\n`), [
      'galore_adamw',
      none,
      none,
      256,
    ]);
  });

  it('is that of the DeepSpeed JSON where it gives one', async () => {
    const json = JSON.stringify({
      train_micro_batch_size_per_gpu: 1,
      zero_optimization: { stage: 2 },
      optimizer: { type: 'Lion' },
      bf16: { enabled: true, bf16_master_weights_and_grads: true, bf16_optimizer_states: true },
    });
    const text = `${factory}deepspeed: ds.json\noptim: adamw_torch\n`;
    assert.deepEqual(await optimizerOf('f.yaml', text, { 'ds.json': json }), ['lion', 4, 2, none]);
  });

  it('has the types that flags of Megatron-LM give it', async () => {
    const aware = `${megatron}--use-precision-aware-optimizer`;
    assert.deepEqual(await optimizerOf('run.sh', megatron), ['adam', none, none, none]);
    assert.deepEqual(await optimizerOf('run.sh', aware), ['adam', 8, 2, none]);
    assert.deepEqual(await optimizerOf('run.sh', `${aware} --exp-avg-dtype bf16 --exp-avg-sq-dtype fp8`), ['adam', 3, 2, none]);
    assert.deepEqual(await optimizerOf('run.sh', `${aware} --fp8-format hybrid --fp8-recipe tensorwise`), ['adam', 8, none, none]);
  });

  it('adds gradients up in the type of --main-grads-dtype', async () => {
    const fp32 = async (flags: string) => (await load('run.sh', `${megatron}${flags}`)).run?.training.gradAccumulationFp32?.value;
    assert.equal(await fp32('--use-precision-aware-optimizer --main-grads-dtype bf16'), false);
    assert.equal(await fp32('--use-precision-aware-optimizer --main-grads-dtype fp32'), undefined);
  });

  it('is shown where it is not known, and planned as Adam', async () => {
    const { run, findings } = await load('a.yaml', `${axolotl}optimizer: my_optimizer\n`);
    assert.equal(run?.training.optimizer, undefined);
    const found = findings.find(({ code }) => code === 'optimizer-unknown');
    assert.equal(found?.severity, 'warning');
    assert.match(say(found.message), /"my_optimizer" is not known/);
  });
});

describe("NeMo's tokenizer and its gradients' type", () => {
  const facts = (text: string) => nemoFiles.read([{ file: 'nemo.yaml', text }]).facts;

  it('give the vocabulary by class, by name and by file', () => {
    const vocab = (lines: string) => facts(`model:\n  num_layers: 4\n  tokenizer:\n${lines}`).vocab?.value;
    assert.equal(vocab('    library: megatron\n    type: GPT2BPETokenizer\n'), 50257);
    assert.equal(vocab('    library: huggingface\n    type: meta-llama/Meta-Llama-3-70B\n'), 128256);
    assert.equal(vocab('    library: sentencepiece\n    type: null\n    model: /data/own.model\n'), undefined);
  });

  it('show whether gradients add up in fp32', () => {
    const isFp32 = (type: string) => facts(`model:\n  optim:\n    name: adamw\n    grad_sync_dtype: ${type}\n`).gradAccumulationFp32?.value;
    assert.deepEqual(['bf16', 'fp32', 'torch.bfloat16'].map(isFp32), [false, true, false]);
  });
});

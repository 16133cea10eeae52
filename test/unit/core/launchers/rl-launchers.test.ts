import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'mocha';
import { readLingua } from '../../../../src/core/launchers/lingua/lingua';
import { readPrimeRl } from '../../../../src/core/launchers/prime-rl/prime-rl';
import { readRoll } from '../../../../src/core/launchers/roll/roll';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { say } from '../../../../src/core/sentence';
import type { LauncherFile } from '../../../../src/core/run/facts';
import { load } from '../config-files/files';
import { launchFindings } from '../../../../src/core/rules/launch-findings';
import { parameterCount } from '../../../../src/core/model/parameters';

const fixture = (name: string): string => readFileSync(path.join(import.meta.dirname, '../../../fixtures/launchers', name), 'utf8');
const values = ({ facts }: LauncherFile, ...names: readonly string[]): unknown[] =>
  names.map((name) => (facts as Record<string, { readonly value: unknown } | undefined>)[name]?.value);
const policyText = ({ remarks }: LauncherFile): string => remarks.filter(({ code }) => code === 'policy-alone').map(({ message }) => say(message)).join(); // prettier-ignore
const node = { gpu: 'H100-80GB', nodes: 2, gpusPerNode: 8 } as const;

describe('a ROLL YAML', () => {
  const text = fixture('roll.yaml');

  it('gives the training step of the actor on its devices', () => {
    assert.deepEqual(values(readRoll('a.yaml', text), 'tensor', 'pipeline', 'microBatch', 'gradientAccumulation', 'world', 'nodes'), [2, 2, 1, 64, 16, 2]); // prettier-ignore
    assert.deepEqual(values(readRoll('a.yaml', text), 'flavor', 'sequenceLength', 'recomputeGranularity'), ['Qwen/Qwen2.5-7B', 10_240, 'full']); // prettier-ignore
  });

  it('names rollout, reference and rewards with their GPUs and memory', () => {
    assert.ok(policyText(readRoll('a.yaml', text)).includes('rollout (12 GPUs, 80 % of their memory), reference (16 GPUs), reward llm_judge (4 GPUs)')); // prettier-ignore
  });

  it('under FSDP2 shards weights, and checkpoints unless that is disabled', () => {
    const fsdp = readRoll('a.yaml', text.replace('megatron_train', 'fsdp2_train'));
    assert.equal(fsdp.program?.traits.runtime, 'fsdp1');
    assert.deepEqual(values(fsdp, 'zeroStage', 'recomputeGranularity', 'tensor'), [3, 'full', undefined]);
  });

  it('is planned with the published model', async () => {
    const { layout, training, model } = resolveRun(await load({ 'rlvr.yaml': text }), node);
    assert.deepEqual([model.layers, layout.tensor, layout.pipeline, layout.data, training.globalBatch], [28, 2, 2, 4, 256]);
  });
});

describe('a prime-rl TOML', () => {
  const text = fixture('prime-rl.toml');

  it('gives the step of the trainer on the GPUs that train', () => {
    assert.deepEqual(values(readPrimeRl('a.toml', text), 'flavor', 'sequenceLength', 'globalBatch', 'expert', 'nodes', 'gpusPerNode', 'offloadOptimizer'), ['Qwen/Qwen3-30B-A3B-Thinking-2507', 32768, 512, 8, 2, 8, 'cpu']); // prettier-ignore
    assert.ok(policyText(readPrimeRl('a.toml', text)).includes('rollout (16 GPUs, 90 % of their memory)'));
  });

  it('is planned with checkpointing and FSDP2, which it takes by itself', async () => {
    const { layout, training } = resolveRun(await load({ 'math.toml': text }), node);
    assert.deepEqual([layout.data, layout.expert, training.zeroStage, training.recompute, training.microBatch], [16, 8, 3, 'full', 1]);
  });

  // examples/basic/reverse-text/sft.toml, configs/basic/wiki-search/rl.toml
  it('of fine-tuning has batch and length under data; LoRA has a section', () => {
    const sft = '[model]\nname = "Qwen/Qwen3-0.6B"\n[model.lora]\nrank = 8\n[data]\nseq_len = 4096\nbatch_size = 32\n[deployment]\nnum_train_gpus = 1\n'; // prettier-ignore
    const read = readPrimeRl('sft.toml', sft);
    assert.deepEqual(values(read, 'sequenceLength', 'globalBatch', 'gpusPerNode', 'fusedCrossEntropy'), [4096, 32, 1, false]);
    assert.equal(read.adapters?.rank?.value, 8);
    assert.equal(policyText(read), '');
  });
});

describe('a lingua YAML', () => {
  const text = fixture('lingua.yaml');

  it('gives sizes, the width that its code computes, batch and sharding', () => {
    assert.deepEqual(values(readLingua('a.yaml', text), 'layers', 'hidden', 'heads', 'ffn', 'microBatch', 'sequenceLength', 'zeroStage'), [32, 4096, 32, 11008, 2, 4096, 3]); // prettier-ignore
  });

  it('is planned with FSDP over all GPUs', async () => {
    const { layout, training, model } = resolveRun(await load({ 'llama_7B.yaml': text }), node);
    assert.deepEqual([layout.data, training.zeroStage, training.recompute, training.globalBatch, model.layers], [16, 3, 'none', 32, 32]);
  });

  // apps/aunet/configs/2B_1level.yaml
  it('takes no sizes of a model other than those of its own apps', () => {
    const read = readLingua('a.yaml', text.replace('  n_layers: 32', '  n_layers: 32\n  pooling_type: simple_indexed_matmul'));
    assert.deepEqual(values(read, 'layers', 'hidden'), [undefined, undefined]);
    assert.deepEqual(read.leftOut, ['model.pooling_type']);
    assert.deepEqual(readLingua('a.yaml', `model_type: xlstm\n${text}`).leftOut, ['model_type: xlstm']);
  });

  // apps/fastRNN: hawk_1b.yaml, minGRU_1b.yaml, minLSTM_1b.yaml
  it('is planned as the recurrent network that the model is', async () => {
    const rest = 'distributed:\n  fsdp_type: full_shard\ndata:\n  root_dir: data\n  batch_size: 8\n  seq_len: 2048\n';
    const model = async (type: string, dim: number, layers: number, heads: number) =>
      resolveRun(await load({ 'a.yaml': `model_type: ${type}\nmodel:\n  dim: ${dim}\n  n_layers: ${layers}\n  n_heads: ${heads}\n  conv_size: 4\n  vocab_size: 32000\n${rest}` }), node).model; // prettier-ignore
    const ends = (dim: number): number => 2 * 32_000 * dim + dim;
    // wx and wy, two gates, wo, the convolution and the decay, with a feed-forward network and two norms
    const hawk = await model('hawk', 2048, 25, 22);
    const [v, ffn] = [2816, 5632];
    assert.equal(parameterCount(hawk), ends(2048) + 25 * (3 * 2048 * v + 2 * v * v + 4 * v + 128 + 3 * 2048 * ffn + 2 * 2048));
    assert.equal(parameterCount(await model('minGRU', 2048, 50, 32)), ends(2048) + 50 * (4 * 2048 * 4096 + 4 * 4096 + 2048));
    assert.equal(parameterCount(await model('minLSTM', 1920, 50, 30)), ends(1920) + 50 * (5 * 1920 * 3840 + 8 * 3840 + 1920));
  });

  const hawk = (heads: number, more = ''): string =>
    `model_type: hawk\nmodel:\n  dim: 512\n  n_layers: 4\n  n_heads: ${heads}\n  vocab_size: 32000\ndistributed:\n  fsdp_type: full_shard\n${more}data:\n  root_dir: data\n  batch_size: 8\n  seq_len: 2048\n`; // prettier-ignore

  // `tp_parallelize=None` in apps/fastRNN/train.py
  it('of a recurrent network is not divided over a tensor size', () => {
    const found = (more: string): unknown[] =>
      launchFindings(readLingua('a.yaml', hawk(4, more))).flatMap(({ code, severity, message }) =>
        code === 'state-tp' ? [[severity, say(message)]] : [],
      );
    assert.deepEqual(found('  tp_size: 2\n'), [['error', 'A recurrent network is not divided over GPUs, and the tensor size is 2']]);
    assert.deepEqual(found(''), []);
  });

  // `tp_parallelize=None` in apps/mamba/train.py
  it('of Mamba-2 is not divided over a tensor size either', () => {
    const mamba = (tensor: number): string =>
      `model:\n  dim: 512\n  n_layers: 4\n  n_heads: 8\n  n_groups: 2\n  state_dim: 64\n  vocab_size: 32000\ndistributed:\n  fsdp_type: full_shard\n  tp_size: ${tensor}\ndata:\n  root_dir: data\n  batch_size: 8\n  seq_len: 2048\n`; // prettier-ignore
    const found = (tensor: number): string[] =>
      launchFindings(readLingua('a.yaml', mamba(tensor))).flatMap(({ code, message }) => (code === 'state-tp' ? [say(message)] : []));
    assert.deepEqual(found(2), ['The state-space model of this launcher is not divided over GPUs, and the tensor size is 2']);
    assert.deepEqual(found(1), []);
  });

  // `assert hidden_dim % n_heads == 0` (apps/fastRNN/hawk/core_hawk.py)
  it('takes no sizes of a recurrent network whose heads do not divide its width, and names them', () => {
    const read = readLingua('a.yaml', hawk(5));
    assert.deepEqual(values(read, 'layers', 'hidden', 'stateHeads'), [undefined, undefined, undefined]);
    assert.deepEqual(read.leftOut, ['model.n_heads: 5 (does not divide a width of 768)']);
    assert.equal(readLingua('a.yaml', hawk(4)).leftOut, undefined);
  });

  // apps/mamba/configs/mamba_1b.yaml: 50 layers of 2 x 4,096 + 2 x 128 + 32 columns in, 4,096 rows out
  it('is planned as Mamba-2 where the model has a state', async () => {
    const model = 'model:\n  dim: 2048\n  n_heads: 32\n  n_groups: 1\n  state_dim: 128\n  conv_size: 4\n  n_layers: 50\n  dt_bias: false\n';
    const rest = 'distributed:\n  fsdp_type: full_shard\ndata:\n  root_dir: data\n  batch_size: 4\n  seq_len: 4096\n';
    const { model: planned } = resolveRun(await load({ 'mamba_1b.yaml': model + rest }), node);
    assert.deepEqual([planned.layers, planned.state?.heads, planned.state?.headDim, planned.state?.groups], [50, 32, 128, 1]);
    assert.equal(
      planned.layerKinds?.every(({ mixer, feedForward }) => mixer === 'state' && feedForward === 'none'),
      true,
    );
  });

  // apps/mtp/configs/debug.yaml
  it('leaves out heads for further tokens, with the layers planned', () => {
    const read = readLingua('a.yaml', text.replace('  n_layers: 32', '  n_layers: 32\n  n_future_head: 3'));
    assert.deepEqual([read.facts.layers?.value, read.leftOut], [32, ['model.n_future_head']]);
  });

  // bytelatent/configs/entropy_model.yaml of facebookresearch/blt
  it('of blt has the model over bytes where that is trained', () => {
    const blt = 'train_entropy_model: true\nmodel: null\nentropy_model:\n  dim: 768\n  n_layers: 14\n  n_heads: 12\n  vocab_size: 260\n  ffn_dim_multiplier: 1.0\n  sliding_window: 512\n'; // prettier-ignore
    assert.deepEqual(values(readLingua('a.yaml', blt), 'layers', 'hidden', 'ffn', 'vocab', 'slidingWindow'), [14, 768, 2048, 260, 512]);
  });
});

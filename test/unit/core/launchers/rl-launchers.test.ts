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

  // apps/mamba/configs/mamba_1b.yaml
  it('takes no sizes of a model other than the plain Transformer', () => {
    const read = readLingua('a.yaml', text.replace('  n_layers: 32', '  n_layers: 32\n  state_dim: 128'));
    assert.deepEqual(values(read, 'layers', 'hidden'), [undefined, undefined]);
    assert.deepEqual(read.leftOut, ['model.state_dim']);
  });
});

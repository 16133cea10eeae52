import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { before, describe, it } from 'mocha';
import { loadConfig } from '../../../../src/core/config-files/load-config';
import type { PlanRequest } from '../../../../src/core/domain/request';
import { parameterCount } from '../../../../src/core/model/parameters';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import type { LauncherFile, LauncherReader } from '../../../../src/core/run/facts';
import { readerOf } from '../config-files/files';
import { shellReader } from './shell/shell-reader';

const fixture = (name: string): string => readFileSync(path.join(import.meta.dirname, '../../../fixtures/launchers', name), 'utf8');

let shell: LauncherReader;

async function read(file: string, text: string): Promise<{ launcher: LauncherFile; request: () => PlanRequest }> {
  const { launcher, run } = await loadConfig(file, text, { read: readerOf({}), shell: () => Promise.resolve(shell) });
  assert.ok(launcher !== null && run !== null);
  return { launcher, request: () => resolveRun(run, { gpu: 'H100-80GB', nodes: null, gpusPerNode: null }) };
}

const values = ({ facts }: LauncherFile, ...names: readonly string[]): unknown[] =>
  names.map((name) => (facts as Record<string, { readonly value: unknown } | undefined>)[name]?.value);

describe('picotron', () => {
  before(async () => {
    shell = await shellReader();
  });

  it('splits a model of the hub in four dimensions, with layers of its own', async () => {
    const { request } = await read('config.json', fixture('picotron.json'));
    const { model, layout, training } = request();
    assert.deepEqual([model.layers, model.hidden, model.ffn, model.tiedEmbeddings], [20, 2048, 8192, false]);
    assert.deepEqual([layout.tensor, layout.pipeline, layout.data, layout.order], [2, 2, 4, 'tp-cp-ep-pp-dp']);
    assert.deepEqual([training.microBatch, training.globalBatch, training.zeroStage, training.masterWeightBytes], [4, 256, 0, 0]);
  });

  it('divides the width by the heads that the file sets', async () => {
    const text = fixture('picotron.json').replaceAll('_heads": 32', '_heads": 16');
    const { launcher } = await read('config.json', text);
    assert.deepEqual(values(launcher, 'heads', 'headDim'), [16, 128]);
  });
});

describe('nanochat', () => {
  before(async () => {
    shell = await shellReader();
  });

  const script = (flags: string): string => `# nanochat\ntorchrun --nproc_per_node=8 -m scripts.base_train -- ${flags}\n`;

  it('starts one process without torchrun', async () => {
    const { launcher } = await read('runcpu.sh', '# nanochat\npython -m scripts.base_train --depth=6 --total-batch-size=16384\n');
    assert.equal(launcher.facts.world?.value, 1);
  });

  it('starts processes that another program is asked for', async () => {
    const world = async (script: string): Promise<unknown> => (await read('run.sh', script)).launcher.facts.world?.value;
    const program = '-m scripts.base_train --depth=6 --total-batch-size=16384\n';
    assert.equal(await world(`# nanochat\naccelerate launch --num_processes 8 ${program}`), undefined);
    assert.equal(await world(`# nanochat\naccelerate launch ${program}`), undefined);
    assert.equal(await world(`#!/bin/bash\n#SBATCH --ntasks=16\n# nanochat\nsrun python ${program}`), undefined);
    assert.equal(await world(`# nanochat\ntorchrun ${program}`), 1);
    assert.equal(await world(`# nanochat\ntorchrun $PROCESSES ${program}`), undefined);
  });

  it('makes a model of the depth', async () => {
    const { request, launcher } = await read('speedrun.sh', fixture('nanochat.sh'));
    const { model, training, layout } = request();
    assert.deepEqual([model.layers, model.hidden, model.heads, model.ffn, model.vocab], [16, 1024, 8, 4096, 32768]);
    assert.deepEqual([layout.data, training.microBatch, training.zeroStage], [8, 16, 1]);
    assert.deepEqual(launcher.leftOut, ['value_embeds']);
    // layers of 12 x 1024², embedding and head
    assert.ok(Math.abs(parameterCount(model) / (16 * 12 * 1024 ** 2 + 2 * 32768 * 1024) - 1) < 0.001);
  });

  // dev/LOG.md of 2026-02-05, "Auto Batch Size Scaling"; the vocabulary and the exponent are the same
  for (const [depth, log] of [
    [8, 18],
    [12, 19],
    [16, 19],
    [18, 20],
    [26, 20],
    [32, 21],
    [50, 21],
  ] as const)
    // prettier-ignore
    it(`takes 2^${log} tokens a step at depth ${depth}, as its log has it`, async () => {
      const { launcher } = await read('run.sh', script(`--depth=${depth}`));
      assert.deepEqual(values(launcher, 'globalBatch'), [2 ** log / 2048]);
    });

  it('sees a quarter of the context in layers of S, and all of it in the last', async () => {
    const { launcher } = await read('run.sh', script('--depth=6 --window-pattern=SSL --max-seq-len=4096'));
    const [window, kinds] = values(launcher, 'slidingWindow', 'attentionKinds');
    assert.equal(window, 1024);
    assert.deepEqual((kinds as string[]).map(([first]) => first), ['s', 's', 'f', 's', 's', 'f']); // prettier-ignore
  });

  it('takes the tokens of the batch that a script gives', async () => {
    const { launcher } = await read('run.sh', script('--depth=12 --total-batch-size=65536 --device-batch-size=4 --fp8'));
    assert.deepEqual(values(launcher, 'globalBatch', 'microBatch', 'precision'), [32, 4, 'fp8']);
  });
});

describe('Megatron-MoE-ModelZoo', () => {
  before(async () => {
    shell = await shellReader();
  });

  it('plans the first run of a script, by the variables that only it gets', async () => {
    const { request, launcher } = await read('run.sh', fixture('moe-modelzoo.sh'));
    const { model, layout, training } = request();
    assert.deepEqual([model.layers, model.hidden, layout.pipeline, layout.virtualStages, layout.expert], [48, 2048, 2, 4, 8]);
    assert.deepEqual([layout.data, training.microBatch, training.globalBatch, training.precision], [16, 2, 512, 'bf16']);
    assert.deepEqual(values(launcher, 'nodes', 'gpusPerNode', 'expertDispatcher'), [4, 8, 'deepep']);
  });

  it('takes the sizes of its table for what a script leaves open', async () => {
    const { launcher } = await read(
      'run.sh',
      'export MODEL=DeepSeek-V3 GBS=2048 PR=mxfp8\nGB200_CLUSTER=1 TP=2 bash sbatch_benchmarking.sh\n',
    );
    assert.deepEqual(values(launcher, 'tensor', 'pipeline', 'expert', 'nodes', 'gpusPerNode'), [2, 16, 64, 128, 4]);
    assert.deepEqual(values(launcher, 'firstStageLayers', 'lastStageLayers', 'fp8Recipe', 'secondMomentBytes'), [4, 1, 'mxfp8', 2]);
  });

  it('counts embedding and loss of Qwen3-235B as layers, as its config does', async () => {
    const { launcher } = await read('run.sh', 'MODEL=Qwen3-235B-A22B PP=8 TP=2 GBS=256 bash ./sbatch_benchmarking.sh\n');
    assert.deepEqual(values(launcher, 'embeddingAsLayer', 'lossAsLayer', 'virtualStages'), [true, true, 4]);
  });
});

/** After models/nlp/t5/configs/t5_3B.yaml of Cerebras' Model Zoo. */
describe("a T5 of Cerebras' Model Zoo", () => {
  const text = 'trainer:\n  init:\n    backend:\n      backend_type: CSX\n    model:\n      name: "t5"\n      src_vocab_size: 32001\n      encoder_num_hidden_layers: 24\n      decoder_num_hidden_layers: 24\n      d_kv: 128\n      num_heads: 32\n      d_ff: 16384\n      d_model: 1024\n      encoder_nonlinearity: relu\n      norm_type: layernorm\n  fit:\n    train_dataloader:\n      src_max_sequence_length: 512\n      tgt_max_sequence_length: 114\n      batch_size: 558\n'; // prettier-ignore

  it('has both stacks and both lengths', async () => {
    const { facts, leftOut } = (await import('../../../../src/core/launchers/cerebras/cerebras')).readCerebras('t5_3B.yaml', text);
    const { encoderLayers, decoderLayers, hidden, headDim, ffn, encoderSequenceLength, decoderSequenceLength, globalBatch } = facts;
    const values = [encoderLayers, decoderLayers, hidden, headDim, ffn, encoderSequenceLength, decoderSequenceLength, globalBatch];
    assert.deepEqual(values.map((fact) => fact?.value), [24, 24, 1024, 128, 16384, 512, 114, 558]); // prettier-ignore
    assert.deepEqual(leftOut, ['trainer.init.model.position_embedding_type']);
  });
});

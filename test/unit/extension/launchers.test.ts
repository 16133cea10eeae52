import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { inlayTexts } from '../../../src/extension/inlay-text';
import { lensTexts } from '../../../src/extension/lens-text';
import type { SessionState } from '../../../src/extension/plan-sessions';
import { english } from '../../../src/extension/translate';
import { shellReader } from '../core/config/shell/shell-reader';
import { smallModel, testWorld, uri } from './world';

const shell = `#!/bin/bash
GPUS_PER_NODE=8
NUM_NODES=2
TP=2
torchrun --nproc_per_node $GPUS_PER_NODE --nnodes $NUM_NODES pretrain_gpt.py \\
  --tensor-model-parallel-size $TP \\
  --pipeline-model-parallel-size 4 \\
  --num-layers 8 --hidden-size 256 --num-attention-heads 4 \\
  --seq-length 256 --max-position-embeddings 256 \\
  --micro-batch-size 1 --global-batch-size 24 \\
  --vocab-size 50257
`;

const toml = `[model]
name = "llama3"
flavor = "8B"
hf_assets_path = "./hf"

[training]
local_batch_size = 8
seq_len = 256

[parallelism]
data_parallel_shard_degree = -1
tensor_parallel_degree = 2
pipeline_parallel_degree = 2
pipeline_parallel_microbatch_size = 2
pipeline_parallel_layers_per_stage = 2
`;

let reader: ReturnType<typeof shellReader> | undefined;
const sharedReader: typeof shellReader = () => (reader ??= shellReader());

async function read(name: string, text: string, more: Readonly<Record<string, string>> = {}, planned = true): Promise<SessionState> {
  const { sessions, finish } = testWorld({ [name]: text, ...more }, 1, sharedReader);
  const state = sessions.ensure(uri(name), name.endsWith('.sh') ? 'megatron-shell' : 'torchtitan');
  if (planned) await finish();
  return state;
}

describe('lenses over a launcher', () => {
  it('say the totals of the run beside its plan', async () => {
    const { run, plan } = lensTexts(await read('pretrain.sh', shell), english);
    assert.equal(run, '16 GPUs: tensor 2 x pipeline 4 x data 2, 12 micro-batches');
    assert.match(plan, /^Plan: [\d.]+ (µs|ms|s) \/ step/);
  });

  it('say the GPUs of a replica where those in all are not told, and stay with the totals where the sizes of the model are not', async () => {
    const state = await read('train.toml', toml, {}, false);
    assert.equal(state.run, null);
    assert.equal(lensTexts(state, english).run, '4 GPUs a replica: tensor 2 x pipeline 2, 4 micro-batches');
  });
});

describe('inlay hints', () => {
  function withHints(state: SessionState, text: string): string {
    return [...inlayTexts(state, state.file, text, english)]
      .reverse()
      .reduce((all, { offset, text: hint }) => `${all.slice(0, offset)}<${hint}>${all.slice(offset)}`, text);
  }

  it('say what follows from a value, where the value is written', async () => {
    const text = withHints(await read('pretrain.sh', shell), shell);
    assert.match(text, /^TP=2<2 replicas>$/m);
    assert.match(text, /--pipeline-model-parallel-size 4<2 replicas> /);
    assert.match(text, /--num-layers 8<2 layers a stage> /);
    assert.match(text, /--micro-batch-size 1<12 micro-batches> --global-batch-size 24<12 micro-batches> /);
    assert.match(text, /--vocab-size 50257<padded to 50,432>$/m);
  });

  it('count with the model config that a launcher names', async () => {
    const text = withHints(await read('train.toml', toml, { 'hf/config.json': smallModel }), toml);
    assert.match(text, /local_batch_size = 8<4 micro-batches>$/m);
    assert.match(text, /pipeline_parallel_layers_per_stage = 2<3 stages>$/m);
  });

  it('are silent while the text is newer than what was read', async () => {
    assert.deepEqual(inlayTexts(await read('pretrain.sh', shell), uri('pretrain.sh'), `${shell}#`, english), []);
  });
});

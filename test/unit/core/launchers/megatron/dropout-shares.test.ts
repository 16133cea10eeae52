import assert from 'node:assert/strict';
import { dropoutShares } from '../../../../../src/core/launchers/megatron/dropout-shares';
import { readReferenced } from '../../../../../src/cli/read-file';
import type { ReadReferenced } from '../../../../../src/core/run/run';
import { loadConfig } from '../../../../../src/core/config-files/load-config';
import { resolveRun } from '../../../../../src/core/plan-request/resolve';
import { shellReader } from '../shell/shell-reader';
import { planWith } from '../../export/launchers/plans';

const { model } = planWith();

function shares(dropout: boolean, hiddenDropoutShare?: number, attentionDropoutShare?: number) {
  const { attention, hidden } = dropoutShares({
    dropout,
    model: {
      ...model,
      details: {
        ...model.details,
        ...(hiddenDropoutShare !== undefined && { hiddenDropoutShare }),
        ...(attentionDropoutShare !== undefined && { attentionDropoutShare }),
      },
    },
  });
  return [hidden, attention];
}

describe('dropoutShares', () => {
  it('are those of the model, of which one is 0 where its reader has only the other', () => {
    assert.deepEqual(shares(true, 0.05, 0.2), [0.05, 0.2]);
    assert.deepEqual(shares(true, 0.05), [0.05, 0]);
    assert.deepEqual(shares(false, undefined, 0.2), [0, 0.2]);
    assert.deepEqual(shares(false), [0, 0]);
  });

  it('follow the plan where it has dropout that the config has not, or none', () => {
    assert.deepEqual(shares(true), [0.1, 0.1]);
    assert.deepEqual(shares(true, undefined, 0.2), [0.1, 0.2]);
    assert.deepEqual(shares(false, 0.05, 0.2), [0, 0]);
  });
});

/** Hidden and attention's, of a run as its file is read. */
async function sharesRead(file: string, text: string, read: ReadReferenced = readReferenced) {
  const { run } = await loadConfig(file, text, { read, shell: shellReader });
  assert.ok(run !== null);
  const { model, training } = resolveRun(run, { gpu: 'H100-80GB', nodes: null, gpusPerNode: null });
  const { attention, hidden } = dropoutShares({ model, dropout: training.dropout });
  return [hidden, attention];
}

describe('dropoutShares of a file', () => {
  it('take the default of the class for what a config leaves out', async () => {
    const gpt2 = { model_type: 'gpt2', n_embd: 256, n_layer: 4, n_head: 4, n_positions: 128, vocab_size: 1000 };
    const shares = (config: object) => sharesRead('config.json', JSON.stringify({ ...gpt2, ...config }));
    assert.deepEqual(await shares({ resid_pdrop: 0.1 }), [0.1, 0.1]);
    assert.deepEqual(await shares({ resid_pdrop: 0 }), [0, 0.1]);
    assert.deepEqual(await shares({ resid_pdrop: 0.1, attn_pdrop: 0 }), [0.1, 0]);
  });

  it('are one and the same in T5, whose attention drops out by the share of its hidden states', async () => {
    const t5 = { model_type: 't5', d_model: 256, d_kv: 64, d_ff: 512, num_layers: 2, num_heads: 4, vocab_size: 1000 };
    const shares = (config: object) => sharesRead('config.json', JSON.stringify({ ...t5, ...config }));
    assert.deepEqual(await shares({ dropout_rate: 0.05 }), [0.05, 0.05]);
    assert.deepEqual(await shares({ dropout_rate: 0 }), [0, 0]);
  });

  it('are those of a script where the config.json in its folder has others', async () => {
    const config = {
      model_type: 'gpt2',
      n_embd: 256,
      n_layer: 4,
      n_head: 4,
      n_positions: 128,
      vocab_size: 1000,
      resid_pdrop: 0.3,
      attn_pdrop: 0.4,
    };
    const read = (_: string, path: string) =>
      path === 'config.json' ? Promise.resolve({ file: path, text: JSON.stringify(config) }) : readReferenced('run.sh', path);
    const shares = (flags: string) =>
      sharesRead(
        'run.sh',
        `torchrun --nproc_per_node 8 pretrain_gpt.py --seq-length 128 --micro-batch-size 1 --global-batch-size 8 --bf16 ${flags}\n`,
        read,
      );
    assert.deepEqual(await shares('--hidden-dropout 0.2 --attention-dropout 0.0'), [0.2, 0]);
    assert.deepEqual(await shares('--hidden-dropout 0.0 --attention-dropout 0.05'), [0, 0.05]);
    assert.deepEqual(await shares(''), [0.1, 0.1]);
  });

  it('take those of Megatron-LM for flags that a script leaves out, and a flag of 0 as none', async () => {
    const sizes =
      '--num-layers 4 --hidden-size 256 --num-attention-heads 4 --seq-length 128 --max-position-embeddings 128 --vocab-size 1000';
    const shares = (flags: string) =>
      sharesRead(
        'run.sh',
        `torchrun --nproc_per_node 8 pretrain_gpt.py ${sizes} --micro-batch-size 1 --global-batch-size 8 --bf16 ${flags}\n`,
      );
    assert.deepEqual(await shares('--hidden-dropout 0.2'), [0.2, 0.1]);
    assert.deepEqual(await shares('--attention-dropout 0.0'), [0.1, 0]);
    assert.deepEqual(await shares('--hidden-dropout 0.0'), [0, 0.1]);
    assert.deepEqual(await shares(''), [0.1, 0.1]);
    assert.deepEqual(await shares('--hidden-dropout 0.0 --attention-dropout 0.0'), [0, 0]);
  });
});

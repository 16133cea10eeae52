import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { loadConfig } from '../../../../src/core/config-files/load-config';
import { ExpectedError } from '../../../../src/core/errors';
import type { Run } from '../../../../src/core/run/run';
import { toText } from '../../sentence-text';
import { shellReader } from '../launchers/shell/shell-reader';
import { readerOf } from './files';

const yaml = ['distributed_type: FSDP', 'fsdp_config:\n  fsdp_version: 2', 'mixed_precision: bf16', 'num_processes: 8'].join('\n');
const config = { model_type: 'llama', num_hidden_layers: 3, hidden_size: 512, num_attention_heads: 8, intermediate_size: 1024, vocab_size: 1000 }; // prettier-ignore
const files = { 'other/config.json': JSON.stringify({ ...config, num_hidden_layers: 5 }), 'config.json': JSON.stringify(config) };

async function loaded(text: string, others: Readonly<Record<string, string>> = {}, model?: string): Promise<Run | null> {
  const host = { read: readerOf(others), shell: shellReader };
  return (await loadConfig('fsdp.yaml', text, model === undefined ? host : { ...host, model })).run;
}

describe("the model of a launcher's file that has none", () => {
  it('is of the hub by the name in a comment', async () => {
    assert.equal((await loaded(`# terapipe-model: Qwen/Qwen2.5-7B\n${yaml}`))?.model.layers.value, 28);
  });

  it('is what is asked for, before the comment and the config.json next to the file', async () => {
    const text = `# terapipe-model: Qwen/Qwen2.5-7B\n${yaml}`;
    assert.equal((await loaded(text, files, 'meta-llama/Llama-3.1-8B'))?.model.layers.value, 32);
    assert.equal((await loaded(yaml, files, 'other'))?.model.layers.value, 5);
    assert.equal((await loaded(yaml, files))?.model.layers.value, 3);
  });

  it('is an error at its name where neither the hub nor a file has it', async () => {
    const text = `# terapipe-model: nobody/nothing\n${yaml}`;
    await assert.rejects(loaded(text), (error: unknown) => {
      assert.ok(error instanceof ExpectedError);
      const { code, place } = error;
      assert.deepEqual([code, place?.file], ['config-not-found', 'fsdp.yaml']);
      assert.equal(text.slice(place?.range.start, place?.range.end), 'nobody/nothing');
      return true;
    });
  });

  it('is refused where the file itself gives the sizes', async () => {
    const text = 'torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 4 --hidden-size 512 --num-attention-heads 8 --seq-length 512 --max-position-embeddings 512 --micro-batch-size 1 --global-batch-size 8\n'; // prettier-ignore
    const host = { read: readerOf({}), shell: shellReader };
    assert.equal((await loadConfig('train.sh', text, host)).run?.model.layers.value, 4);
    const asked = loadConfig('train.sh', text, { ...host, model: 'Qwen/Qwen2.5-7B' });
    await assert.rejects(asked, { code: 'config-inconsistent' });
  });

  it('is named as only the language model of one that sees', async () => {
    const { findings } = await loadConfig('fsdp.yaml', `# terapipe-model: Qwen/Qwen2.5-VL-7B-Instruct\n${yaml}`, { read: readerOf({}), shell: shellReader }); // prettier-ignore
    assert.match(
      findings.map(({ message }) => toText(message)).join('\n'),
      /Only the language model of "Qwen\/Qwen2.5-VL-7B-Instruct" is planned/,
    );
  });

  it('is not read from inside a value', async () => {
    assert.equal(await loaded(`${yaml}\nmain_training_function: "a # terapipe-model: Qwen/Qwen2.5-7B"`), null);
  });
});

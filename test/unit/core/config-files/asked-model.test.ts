import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { loadConfig } from '../../../../src/core/config-files/load-config';
import type { Run } from '../../../../src/core/run/run';
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

  it('is an error where neither the hub nor a file has it', async () => {
    await assert.rejects(loaded(`# terapipe-model: nobody/nothing\n${yaml}`), { code: 'config-not-found' });
  });

  it('is not read from inside a value', async () => {
    assert.equal(await loaded(`${yaml}\nmain_training_function: "a # terapipe-model: Qwen/Qwen2.5-7B"`), null);
  });
});

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'mocha';
import { loadConfig, type LoadedConfig } from '../../../../src/core/config-files/load-config';
import { gpuPresets } from '../../../../src/core/cluster/presets';
import { ExpectedError } from '../../../../src/core/errors';
import { fileStart } from '../../../../src/core/languages/json/document';
import { readNxdt } from '../../../../src/core/launchers/nxdt/nxdt';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { say, sentence } from '../../../../src/core/sentence';

const text = readFileSync(path.join(import.meta.dirname, '../../../fixtures/launchers/nxdt.yaml'), 'utf8');
const face = { gpu: 'H100-80GB', nodes: null, gpusPerNode: null } as const;

function load(): Promise<LoadedConfig> {
  const read = (_from: string, file: string): Promise<never> =>
    Promise.reject(new ExpectedError('config-not-found', sentence`not there`, sentence`look`, fileStart(file)));
  return loadConfig('nxdt.yaml', text, { read, shell: () => Promise.reject(new Error('no script')) });
}

describe('an NxDT YAML', () => {
  it("is read with the launcher's own sections, and held to none of Megatron-LM's rules", async () => {
    const { format, findings } = await load();
    const { facts } = readNxdt('nxdt.yaml', text);
    assert.equal(format, 'nxdt');
    assert.deepEqual([facts.tensor?.value, facts.pipeline?.value, facts.microBatch?.value, facts.globalBatch?.value], [32, 4, 1, 128]);
    assert.deepEqual([facts.experts?.value, facts.activeExperts?.value, facts.precision?.value], [8, 2, 'bf16']);
    assert.deepEqual([facts.recomputeGranularity?.value, facts.optimizer?.value, facts.sequenceLength?.value], ['full', 'adamw', 4096]);
    assert.deepEqual(findings, []);
  });

  it('is planned only where a GPU is named', async () => {
    const { run } = await load();
    assert.ok(run);
    assert.throws(
      () => resolveRun(run, face),
      (error) => error instanceof ExpectedError && error.code === 'model-not-planned' && say(error.what).includes('AWS Trainium'),
    );
    const named = { ...run, gpu: { value: gpuPresets['H100-80GB'].gpu, source: { kind: 'override' } } } as const;
    assert.equal(resolveRun(named, face).layout.tensor, 32);
  });

  // examples/conf/hf_llama3_8B_SFT_lora_config.yaml
  it('names modules of LoRA its own way', () => {
    const lora =
      'model_alignment_strategy:\n  peft:\n    lora_rank: 16\n    lora_dropout: 0.05\n    target_modules: ["qkv_proj", "down_proj"]\n';
    const { adapters } = readNxdt('lora.yaml', `${text}${lora}`);
    assert.deepEqual([adapters?.rank?.value, adapters?.targets?.value], [16, ['linear_qkv', 'linear_fc2']]);
  });

  // examples/conf/hf_mixtral_8x7b_config.yaml
  it('knows a Mixtral by its layers and width where its config.json is not here', () => {
    const mixtral = (layers: number): string => `name: hf_mixtral\ntrainer:\n  devices: 32\ndistributed_strategy:\n  tensor_model_parallel_size: 32\nmodel:\n  model_config: /home/ubuntu/config.json\n  num_layers: ${layers}\n  hidden_size: 4096\n`; // prettier-ignore
    assert.equal(readNxdt('hf.yaml', mixtral(32)).facts.flavor?.value, 'mixtral_8x7b');
    assert.equal(readNxdt('hf.yaml', mixtral(30)).facts.flavor, undefined);
  });

  // examples/conf/hf_llama_7B_config.yaml
  it('has the model that its data were tokenized for, where nothing else names one', () => {
    const hf = 'name: hf_llama\ntrainer:\n  devices: 32\ndistributed_strategy:\n  tensor_model_parallel_size: 8\ndata:\n  train_dir: /home/ubuntu/wikicorpus_llama2_7B_tokenized_4k\nmodel:\n  num_layers: 4\n  hidden_size: 4096\n'; // prettier-ignore
    assert.equal(readNxdt('hf.yaml', hf).facts.flavor?.value, 'llama2_7B');
  });

  // examples/conf/hf_llama3.1_8B_config.yaml, whose model_config is a config.json somewhere else
  it('has the model that its checkpoints are called after, where its config.json is not here', async () => {
    const hf = `name: hf_llama\nmodel_source: hf\ntrainer:\n  devices: 32\n  num_nodes: 4\nexp_manager:\n  checkpoint_callback_params:\n    filename: 'hf_llama3.1_8B--{step}-{consumed_samples}'\ndistributed_strategy:\n  tensor_model_parallel_size: 32\ndata:\n  micro_batch_size: 1\n  global_batch_size: 1024\n  seq_length: 8192\nmodel:\n  model_config: /home/ubuntu/config.json\n  num_layers: 32\n  hidden_size: 4096\n`; // prettier-ignore
    const { facts } = readNxdt('hf.yaml', hf);
    assert.equal(facts.flavor?.value, 'llama3.1_8B');
    const read = (): Promise<never> =>
      Promise.reject(new ExpectedError('config-not-found', sentence`none`, sentence`none`, fileStart('hf.yaml')));
    const { run } = await loadConfig('hf.yaml', hf, { read, shell: () => Promise.reject(new Error('no script')) });
    assert.deepEqual([run?.model.heads.value, run?.model.kvHeads.value, run?.model.layers.value], [32, 8, 32]);
  });
});

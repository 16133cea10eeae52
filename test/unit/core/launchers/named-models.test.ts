import assert from 'node:assert/strict';
import { load } from '../config-files/files';

interface Positions {
  readonly base: number | undefined;
  readonly epsilon: number | undefined;
  readonly scaling: number | undefined;
}

async function positionsFor(name: string): Promise<Positions> {
  const text = `model_name_or_path: ${name}\nstage: sft\nfinetuning_type: full\ncutoff_len: 4096\nper_device_train_batch_size: 1\n`;

  const run = await load({ 'train.yaml': text });
  const { rotary, normEpsilon } = run.traits ?? {};
  return { base: rotary?.base, epsilon: normEpsilon, scaling: rotary?.scaling?.factor };
}

/** Values of each model's config.json on Hugging Face's hub. */
describe('a model that a file only names', () => {
  it('has the rotary base, scaling and epsilon of its own config.json', async () => {
    assert.deepEqual(await positionsFor('meta-llama/Llama-3.1-8B'), { base: 500_000, epsilon: 1e-5, scaling: 8 });
    assert.deepEqual(await positionsFor('meta-llama/Llama-3.2-1B-Instruct'), { base: 500_000, epsilon: 1e-5, scaling: 32 });
    assert.deepEqual(await positionsFor('meta-llama/Meta-Llama-3-8B'), { base: 500_000, epsilon: 1e-5, scaling: undefined });
    assert.deepEqual(await positionsFor('meta-llama/Llama-2-7b-hf'), { base: 10_000, epsilon: 1e-5, scaling: undefined });
    assert.deepEqual(await positionsFor('Qwen/Qwen2.5-7B-Instruct'), { base: 1_000_000, epsilon: 1e-6, scaling: undefined });
    assert.deepEqual(await positionsFor('Qwen/Qwen2.5-Math-7B'), { base: 10_000, epsilon: 1e-6, scaling: undefined });
    assert.deepEqual(await positionsFor('mistralai/Mistral-7B-v0.3'), { base: 1_000_000, epsilon: 1e-5, scaling: undefined });
  });

  it('has those of its own variant, not of the model with the same sizes', async () => {
    assert.deepEqual(await positionsFor('Qwen/Qwen3-8B'), { base: 1_000_000, epsilon: 1e-6, scaling: undefined });
    assert.deepEqual(await positionsFor('Qwen/Qwen3-30B-A3B'), { base: 1_000_000, epsilon: 1e-6, scaling: undefined });
    assert.deepEqual(await positionsFor('Qwen/Qwen3-30B-A3B-Instruct-2507'), { base: 10_000_000, epsilon: 1e-6, scaling: undefined });
    assert.deepEqual(await positionsFor('Qwen/Qwen3-235B-A22B-Thinking-2507'), { base: 5_000_000, epsilon: 1e-6, scaling: undefined });
    assert.deepEqual(await positionsFor('Qwen/Qwen3-VL-4B-Instruct'), { base: 5_000_000, epsilon: 1e-6, scaling: undefined });
    assert.deepEqual(await positionsFor('deepseek-ai/DeepSeek-V2-Lite'), { base: 10_000, epsilon: 1e-6, scaling: 40 });
    assert.deepEqual(await positionsFor('moonshotai/Kimi-K2-Instruct'), { base: 50_000, epsilon: 1e-6, scaling: 32 });
    assert.deepEqual(await positionsFor('Qwen/Qwen2.5-32B'), { base: 1_000_000, epsilon: 1e-5, scaling: undefined });
    assert.deepEqual(await positionsFor('Qwen/Qwen2.5-32B-Instruct'), { base: 1_000_000, epsilon: 1e-6, scaling: undefined });
    assert.deepEqual(await positionsFor('zai-org/glm-4-9b-chat-hf'), { base: 5_000_000, epsilon: 1.5625e-7, scaling: undefined });
    assert.deepEqual(await positionsFor('google/gemma-2-9b'), { base: 10_000, epsilon: 1e-6, scaling: undefined });
  });

  it('leaves open what only its class in transformers would give', async () => {
    assert.deepEqual(await positionsFor('mistralai/Ministral-3-14B-Base-2512'), { base: undefined, epsilon: undefined, scaling: undefined }); // prettier-ignore
  });

  it('has what the config.json of DeepSeek-V3 has', async () => {
    assert.deepEqual(await positionsFor('deepseek-ai/DeepSeek-V3'), { base: 10_000, epsilon: 1e-6, scaling: 40 });
  });
});

import assert from 'node:assert/strict';
import { modelOfHub } from '../../../../src/core/huggingface/hub-models';

describe('the name of a model that somebody trained further', () => {
  it('has the sizes of the published model that it contains, and neither its positions nor its rotary base', () => {
    const { home, config } = modelOfHub('princeton-nlp/Llama-3-8B-ProLong-512k-Base');
    const { num_hidden_layers: layers, rope_theta: base, max_position_embeddings: positions } = JSON.parse(config ?? '{}') as Record<string, unknown>; // prettier-ignore
    assert.deepEqual([home, layers, base, positions], [{ base: 'llama-3-8b' }, 32, null, undefined]);
    for (const [name, contained] of [
      ['Skywork/Skywork-Reward-V2-Qwen3-8B', 'qwen3-8b'],
      ['dphn/dolphin-2.9-llama3-8b', 'llama-3-8b'],
      ['/data/team/my_qwen3_8b_run', 'qwen3-8b'],
      ['somebody/my-mixtral-8x7b-dpo2', 'mixtral-8x7b'],
      ['huihui-ai/Qwen2.5-7B-Instruct-1M', 'qwen2.5-7b'],
      ['NousResearch/Hermes-3-Llama-3.1-8B', 'llama-3.1-8b'],
      ['/data/qwen3_8b_tp4_pp2_iter2000_20251128_bf16', 'qwen3-8b'],
      ['somebody/tuned-Mistral-7B-v0.1', 'mistral-7b-of-2023'],
      ['somebody/tuned-Mistral-7B-v0.3', 'mistral-7b'],
    ] as const)
      assert.deepEqual(modelOfHub(name).home, { base: contained }, name);
  });

  it('means no published model where something in it may change sizes, or leaves open of which version it is', () => {
    for (const name of [
      'somebody/Qwen3-8B-eagle3',
      'z-lab/Qwen3-4B-DFlash-b16',
      'somebody/Llama-3-8B-to-1B',
      'somebody/Llama-3-8B-pruned',
      'Qwen/Qwen2.5-7B-Instruct-AWQ',
      'hugging-quants/Meta-Llama-3.1-405B-BNB-NF4-BF16',
      'my-Qwen2.5-32B-run',
      'RedHatAI/Qwen3-32B-speculator.eagle3',
      'RedHatAI/Qwen3-32B-quantized.w4a16',
      'ibm-ai-platform/llama3-8b-accelerator',
      'somebody/llama3-8b-speculator',
      'somebody/Qwen3-30B-A3B-5layer',
      'somebody/Qwen3-8B-2layers',
      'AIDC-AI/Ovis1.6-Llama3.2-3B',
      'AIDC-AI/Ovis-Clip-Llama3-8B',
      'BAAI/Bunny-v1_1-Llama-3-8B-V',
      'fixie-ai/ultravox-v0_5-llama-3_1-8b',
      'hazyresearch/lolcats-llama-3.1-8b-distill',
      'somebody/Qwen3-30B-A3B-REAM',
      'somebody/Qwen3-30B-A3B-REAP',
      'somebody/RWKV7-Qwen3-8B',
      'fla-hub/gla-llama-3-8b',
      'somebody/Qwen3-30B-A3B-64-Experts',
      'hfl/chinese-llama-2-7b',
      'elyza/ELYZA-japanese-Llama-2-7b-fast',
      'intfloat/e5-mistral-7b-instruct',
      'Open-Orca/Mistral-7B-OpenOrca',
      'teknium/OpenHermes-2-Mistral-7B',
      'NousResearch/Yarn-Mistral-7b-128k',
      'somebody/Qwen3-8B-6bit',
      'somebody/Qwen3-8B-3bit',
      'somebody/Qwen3-8B-exl3',
      'somebody/Meta-Llama-3-8B-Instruct-AQLM-2Bit-1x16',
      'mlc-ai/Qwen3-8B-q4f16_1-MLC',
      'somebody/Qwen3-8B-MLX-6bit',
      'somebody/Qwen3-8B-sft-eagle3',
    ])
      assert.equal(modelOfHub(name).config, null, name);
  });
});

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
    ] as const)
      assert.deepEqual(modelOfHub(name).home, { base: contained }, name);
  });

  it('means no published model where it has another size, other layers or weights in few bits', () => {
    for (const name of [
      'somebody/Qwen3-8B-eagle3',
      'z-lab/Qwen3-4B-DFlash-b16',
      'somebody/Llama-3-8B-to-1B',
      'somebody/Llama-3-8B-pruned',
      'Qwen/Qwen2.5-7B-Instruct-AWQ',
      'hugging-quants/Meta-Llama-3.1-405B-BNB-NF4-BF16',
      'my-Qwen2.5-32B-run',
    ])
      assert.equal(modelOfHub(name).config, null, name);
  });
});

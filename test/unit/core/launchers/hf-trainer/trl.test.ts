import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { recogniseConfig } from '../../../../../src/core/config-files/readers';
import { trainerFiles } from '../../../../../src/core/launchers/hf-trainer/hf-trainer';
import { resolveRun } from '../../../../../src/core/plan-request/resolve';
import { load } from '../../config-files/files';

const read = (text: string) => trainerFiles.read([{ file: 'config.yaml', text }]);

/** Reduced from huggingface/open-r1 at 1416fa0c, recipes/Qwen2.5-Coder-7B-Instruct/grpo/config_codeforces.yaml (Apache-2.0). */
const grpo = `model_name_or_path: Qwen/Qwen2.5-Coder-7B-Instruct
torch_dtype: bfloat16
attn_implementation: flash_attention_2
bf16: true
gradient_accumulation_steps: 32
gradient_checkpointing: true
learning_rate: 1.0e-06
max_prompt_length: 2000
max_completion_length: 8192
num_generations: 16
per_device_train_batch_size: 4
`;

/** Reduced from allenai/open-instruct at e6c3044a, configs/train_configs/sft/.../llama3.1_8b_preview_mix_v3.5.3.yaml (Apache-2.0). */
const openInstruct = `model_name_or_path: meta-llama/Llama-3.1-8B
use_flash_attn: true
tokenizer_name: meta-llama/Llama-3.1-8B
use_slow_tokenizer: true
max_seq_length: 4096
per_device_train_batch_size: 1
gradient_accumulation_steps: 4
learning_rate: 5.0e-06
`;

describe('YAML of the Trainer that TRL and open-instruct take', () => {
  it('is known by the model and the batch of a device', () => {
    assert.equal(recogniseConfig('config.yaml', grpo), 'hf-trainer');
    assert.equal(recogniseConfig('config.yaml', openInstruct), 'hf-trainer');
    assert.equal(recogniseConfig('config.yaml', 'model_name_or_path: a/b\nlearning_rate: 1.0e-06\n'), null);
  });

  it('of a run that generates is planned as the update of its policy', () => {
    const { facts, program, remarks } = read(grpo);
    assert.deepEqual([facts.microBatch?.value, facts.gradientAccumulation?.value, facts.recomputeGranularity?.value], [4, 32, 'full']);
    assert.equal(program?.name, 'TRL');
    assert.deepEqual(remarks.map(({ code }) => code), ['policy-alone']); // prettier-ignore
  });

  it('of open-instruct recomputes nothing unless it is asked to', async () => {
    const { facts, program, remarks } = read(openInstruct);
    assert.deepEqual([program?.name, facts.sequenceLength?.value, remarks.length], ['open-instruct', 4096, 0]);
    const { training } = resolveRun(await load({ 'sft.yaml': openInstruct }), { gpu: 'H100-80GB', nodes: 1, gpusPerNode: 8 });
    assert.deepEqual([training.recompute, training.sequenceLength, training.globalBatch], ['none', 4096, 32]);
  });
});

import assert from 'node:assert/strict';
import { writtenInto, type EditedLauncher } from '../../../../../src/core/export/launchers/edit-launcher';
import type { LaunchSettings } from '../../../../../src/core/launchers/writing/launch-settings';
import { loadReader } from '../../../../../src/core/config-files/readers';
import { editable } from './editors';
import { planWith } from './plans';
import { toText } from '../../../sentence-text';

/** Axolotl: micro-batches of 3, 6 of them. */
const axolotl = `base_model: Qwen/Qwen2.5-7B
datasets:
  - path: ours/instructions # 40,000 of them
sequence_len: 4096
gradient_accumulation_steps: 6
micro_batch_size: 3
gradient_checkpointing: true
`;

/** LLaMA-Factory, which checkpoints unless it is turned off. */
const factory = `model_name_or_path: meta-llama/Llama-3.1-8B
stage: sft
finetuning_type: full
cutoff_len: 4096
template: llama3
per_device_train_batch_size: 1
`;

describe("a plan written into a trainer's YAML", () => {
  const written = async (text: string, plan: LaunchSettings): Promise<EditedLauncher> => {
    const read = await loadReader('hf-trainer', () => Promise.reject(new Error('no script')));
    return writtenInto(plan, editable(read('train.yaml', text), read));
  };

  it('sets micro-batch, accumulation and checkpointing, and leaves the GPUs to what launches it', async () => {
    const { text, gaps } = await written(axolotl, planWith({ data: 8, microBatch: 2, globalBatch: 64 }));
    assert.match(text, /- path: ours\/instructions # 40,000 of them\n/);
    assert.match(text, /^gradient_accumulation_steps: 4\nmicro_batch_size: 2\ngradient_checkpointing: false$/m);
    assert.deepEqual(
      gaps.map(({ what }) => toText(what)),
      ['8 GPUs, so that data parallelism is 8'],
    );
  });

  it("turns checkpointing off by LLaMA-Factory's own switch, and back on by what it does by default", async () => {
    const off = await written(factory, planWith({ data: 8, microBatch: 4, globalBatch: 64 }));
    assert.match(off.text, /^disable_gradient_checkpointing: true$/m);
    assert.match(off.text, /^per_device_train_batch_size: 4$/m);
    assert.match(off.text, /^gradient_accumulation_steps: 2$/m);
    const on = await written(off.text, planWith({ data: 8, microBatch: 4, globalBatch: 64, recompute: { granularity: 'full' } }));
    assert.match(on.text, /^disable_gradient_checkpointing: false$/m);
  });

  it('refuses a pipeline and other kinds of recompute in words', async () => {
    const { gaps } = await written(
      axolotl,
      planWith({ pipeline: 2, data: 4, globalBatch: 64, recompute: { granularity: 'selective', modules: ['layernorm'] } }),
    );
    const words = gaps.map(({ what, reason }) => `${toText(what)}: ${toText(reason)}`);
    assert.ok(words.includes('pipeline parallel size 2: trainers have no pipeline'), words.join('; '));
    assert.ok(words.includes('recompute selective: trainers recompute all layers, whole, or none'), words.join('; '));
  });
});

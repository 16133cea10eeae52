import { own } from '../../records';
import { findHubSizes, type ModelOfLauncher } from '../../huggingface/hub-models';

/** Minor versions of families: other numbers are of the size, as in `qwen2_1_5b`. */
const minors: Readonly<Record<string, string>> = { llama3: '123', qwen2: '5' };

/** Builders whose names differ from those of the hub by more than punctuation, or that differ in sizes. */
const names: Readonly<Record<string, string>> = {
  phi3_mini: 'phi-3-mini-4k',
  phi4_14b: 'phi-4',
  gemma2_2b: 'gemma-2-2b',
  gemma2_9b: 'gemma-2-9b',
  gemma2_27b: 'gemma-2-27b',
  mistral_7b: 'mistral-7b-of-2023',
  mistral_reward_7b: 'mistral-7b-of-2023',
  mistral_classifier_7b: 'mistral-7b-of-2023',
  code_llama2_7b: 'codellama-7b',
  code_llama2_13b: 'codellama-13b',
};

/**
 * The model of a builder (`torchtune.models.llama3_1.lora_llama3_1_70b`): torchtune's sizes are those of the published model of that name.
 * Source: meta-pytorch/torchtune at bd2a0fc7, torchtune/models, `_model_builders.py` of each family.
 */
export function modelOfTorchtune(builder: string): ModelOfLauncher {
  const plain = plainBuilder(builder);
  const name =
    own(names, plain) ??
    plain
      .replace(/^(llama3|qwen2)_([1235])_(?=\d)/, (whole, family: string, minor: string) =>
        own(minors, family)?.includes(minor) ? `${family}.${minor}-` : whole,
      )
      .replace(/[-_](\d)_(\d)b$/, '-$1.$2b')
      .replace(/^(llama)(\d)/, '$1-$2')
      .replaceAll('_', '-');
  return { name: builder, home: { launcher: 'torchtune' }, config: findHubSizes(name) };
}

/** A builder without what it adds to the model, or means for its weights: `lora_`, `_instruct`. */
function plainBuilder(builder: string): string {
  return builder
    .slice(0, 200)
    .toLowerCase()
    .replace(/^q?lora_/, '')
    .replace(/_(?:instruct|base)$/, '');
}

import { composing } from '../composition';
import { modelOfHub } from '../../huggingface/hub-models';
import type { Launcher } from '../launcher';
import { megatronTraits } from '../traits';
import { trainer } from './programs';
import { hasAny, type YamlHead } from '../../languages/yaml/head';
import { sentence } from '../../sentence';

/** YAML of Axolotl, LLaMA-Factory, TRL and open-instruct, which set up a Trainer of Hugging Face under DeepSpeed or FSDP. */
export const hfTrainer: Launcher = {
  file: sentence`an Axolotl, LLaMA-Factory or TRL YAML`,
  endings: ['yaml', 'yml'],
  isIts: ({ yaml }) => isTrainer(yaml()),
  reader: async () => composing((await import('./hf-trainer')).trainerFiles),
  editor: async () => (await import('./write')).trainerEditor,
  traits: { ...megatronTraits, runtime: 'deepspeed', padsVocabulary: false, batchOfReplica: 'accumulated', namesShardingOnly: true },
  capabilities: trainer,
  modelNamed: modelOfHub,
};

function isTrainer({ sections }: YamlHead): boolean {
  const names = new Set(sections.keys());
  if (names.has('base_model')) return hasAny(names, ['micro_batch_size', 'sequence_len', 'datasets']);
  return (
    names.has('model_name_or_path') &&
    hasAny(names, ['per_device_train_batch_size', 'do_train']) &&
    hasAny(names, ['finetuning_type', 'cutoff_len', 'learning_rate', 'gradient_accumulation_steps', 'max_length', 'max_seq_length'])
  );
}

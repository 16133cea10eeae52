import { hasAny, type YamlHead } from '../../languages/yaml/head';
import { findMentions } from '../shell/recognise';

/** Tokens of a sequence that no file gives (`max_target_length` of src/maxtext/configs/base.yml). */
export const baseLength = 2048;

// bounded: the text may be `maxtext/` a hundred thousand times
const program = /\bmaxtext[./][\w./${}]{0,100}train\w*|\bmaxtext[./][\w./]{0,100}\$\{?\w+/gi;
const overrides =
  /(?<![\w.])(?:per_device_batch_size|max_target_length|model_name|remat_policy|(?:ici|dcn)_\w+_parallelism|global_parameter_scale)=/g;

/** Whether a script starts MaxText's trainer with settings as it takes them: a scan of its text. */
export function isMaxtextScript(text: string): boolean {
  return findMentions(text, program, 1).size === 1 && findMentions(text, overrides, 2).size === 2;
}

/** Whether a YAML is one of MaxText's models, or a run's settings over its `base.yml`. */
export function isMaxtext({ sections }: YamlHead): boolean {
  const names = new Set(sections.keys());
  if (hasAny(names, ['base_emb_dim']) && hasAny(names, ['base_num_decoder_layers', 'decoder_block'])) return true;
  return names.has('base_config') && hasAny(names, ['model_name', 'per_device_batch_size', 'max_target_length', 'hardware']);
}

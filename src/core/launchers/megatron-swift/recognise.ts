import { hasAny, type YamlHead } from '../../languages/yaml/head';
import { findMentions } from '../shell/recognise';

const command = /\bmegatron[ \t]+(?:sft|pt|rlhf)\b/g;
const sizes = /--(?:(?:tensor|pipeline|expert)_model_parallel_size|micro_batch_size|global_batch_size|max_length)(?=[\s=\\"']|$)/g;

/** Whether a script calls ms-swift's Megatron: a scan of its text. */
export function isMegatronSwiftScript(text: string): boolean {
  return findMentions(text, command, 1).size === 1 && findMentions(text, sizes, 1).size === 1;
}

/** Whether a YAML holds its arguments: those of Megatron Core, with ms-swift's `model`, `dataset` and `max_length`. */
export function isMegatronSwift({ sections }: YamlHead): boolean {
  const names = new Set(sections.keys());
  const isOfCore = hasAny(names, ['micro_batch_size', 'global_batch_size']) && hasAny(names, ['lr', 'min_lr']);
  return names.has('model') && (sections.get('model')?.size ?? 0) === 0 && hasAny(names, ['dataset', 'cached_dataset']) && isOfCore;
}

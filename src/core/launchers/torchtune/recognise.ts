import { hasAny, type YamlHead } from '../../languages/yaml/head';

/** Whether a YAML is a training recipe of torchtune: objects by `_component_`, and a batch, which generation has not. */
export function isTorchtune({ sections }: YamlHead): boolean {
  const names = new Set(sections.keys());
  const builds = ['model', 'policy_model', 'tokenizer', 'optimizer'].some((name) => sections.get(name)?.has('_component_') === true);
  return builds && hasAny(names, ['optimizer']) && hasAny(names, ['batch_size', 'micro_batch_size', 'ppo_batch_size']);
}

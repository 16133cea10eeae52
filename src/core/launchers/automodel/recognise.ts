import { hasAny, type YamlHead } from '../../languages/yaml/head';

/** Whether a YAML is a recipe of NeMo AutoModel: its `step_scheduler`, or the arguments of a named recipe. */
export function isAutomodel({ sections }: YamlHead): boolean {
  const [batch, own] = [sections.get('step_scheduler'), sections.get('recipe_args')];
  if (hasAny(batch, ['global_batch_size', 'local_batch_size'])) return sections.has('model');
  return sections.has('recipe') && hasAny(own, ['micro_batch_size']) && hasAny(own, ['target_model_name_or_path']);
}

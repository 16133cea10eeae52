import type { YamlHead } from '../../languages/yaml/head';

/** Whether a YAML is one of Accelerate's. */
export function isAccelerate({ sections }: YamlHead): boolean {
  const own = ['num_processes', 'mixed_precision', 'compute_environment', 'machine_rank', 'main_training_function'];
  return sections.has('distributed_type') && own.some((name) => sections.has(name));
}

import type { Facts, Program } from '../../run/facts';
import { llamaFactory } from './programs';
import { counted, sentence } from '../../sentence';
import { never, removed, sizeSettings, unsupported, unsupportedGroups, type DesiredSetting } from '../writing/desired-setting';
import { gpusSetting } from '../writing/common-settings';
import type { Editor, Started } from '../writing/editor';
import type { KeyNames } from '../writing/key-names';
import { yamlSyntax } from '../writing/yaml-syntax';
import type { YamlMap } from '../../languages/yaml/document';
import { accumulationSteps, type LaunchSettings } from '../writing/launch-settings';

/** YAML of LLaMA-Factory, Axolotl and TRL. */
export const trainerEditor: Editor = { settings: trainerSettings, syntax: yamlSyntax({ keys: ({ root }) => trainerKeys(root) }) };

/** Axolotl's names, or those of the Trainer, which LLaMA-Factory and TRL take. */
function trainerKeys({ entries }: YamlMap): KeyNames {
  return {
    microBatch: [entries.has('base_model') ? 'micro_batch_size' : 'per_device_train_batch_size'],
    gradientAccumulation: ['gradient_accumulation_steps'],
    tensor: ['tensor_parallel_size'],
    context: ['context_parallel_size'],
  };
}

/**
 * What a YAML of LLaMA-Factory, Axolotl or TRL needs for a plan: micro-batch, accumulation and checkpointing. The rest is in what launches
 * it: the number of GPUs, and how they shard.
 */
function trainerSettings(plan: LaunchSettings, { program }: Started): readonly DesiredSetting[] {
  const { pipeline, expert } = plan;
  const elsewhere = sentence`that is up to what launches the file`;
  return [
    ...sizeSettings(plan, { microBatch: program?.capabilities?.silent.microBatch ?? null }),
    accumulationSetting(plan),
    checkpointingSetting(plan, program),
    ...sizeSettings(plan, { tensor: 1, context: 1 }),
    ...unsupported('pipeline', sentence`pipeline parallel size ${pipeline}`, sentence`trainers have no pipeline`, pipeline > 1),
    ...unsupportedGroups(plan, elsewhere).map((groups) => ({
      ...groups,
      carries: [],
      isMet: ({ hybridShard, dataReplicate }: Facts) => hybridShard?.value === true || dataReplicate?.value === plan.dataReplicate,
    })),
    ...unsupported('expert', sentence`expert parallel size ${expert}`, elsewhere, expert > 1),
    gpusSetting(plan, { isMet: () => false, alternatives: () => [] }, elsewhere),
  ];
}

function accumulationSetting(plan: LaunchSettings): DesiredSetting {
  const steps = accumulationSteps(plan);
  return {
    what: counted(steps, 'gradient accumulation step'),
    facts: ['gradientAccumulation'],
    carries: ['globalBatch'],
    isMet: ({ gradientAccumulation }) => (gradientAccumulation?.value ?? 1) === steps,
    alternatives: () => [[{ fact: 'gradientAccumulation', value: steps }]],
    reason: never,
  };
}

/** Checkpointing of all layers, by the switch that the file has: LLaMA-Factory's turns it off. */
function checkpointingSetting({ recompute: { granularity } }: LaunchSettings, program: Program | undefined): DesiredSetting {
  const silent = program?.capabilities?.silent.recomputeGranularity ?? 'none';
  const isOn = granularity === 'full';
  const isSupported = isOn || granularity === 'none';
  const edit = (flag: string) => [{ fact: 'recomputeGranularity' as const, flag, value: flag.startsWith('disable') ? !isOn : isOn }];
  return {
    what: sentence`recompute ${granularity}`,
    facts: ['recomputeGranularity'],
    isMet: ({ recomputeGranularity }) => (recomputeGranularity?.value ?? silent) === granularity,
    alternatives: ({ recomputeGranularity }) => {
      if (!isSupported) return [];
      const usual = program?.name === llamaFactory.name ? 'disable_gradient_checkpointing' : 'gradient_checkpointing';
      const back = granularity === silent ? [removed('recomputeGranularity')] : [];
      return [edit(recomputeGranularity?.name ?? usual), ...back];
    },
    reason: isSupported ? never : sentence`trainers recompute all layers, whole, or none`,
  };
}

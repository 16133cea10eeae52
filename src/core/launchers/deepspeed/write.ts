import type { ModelSpec } from '../../domain/model';
import { modelFields } from '../../model/fields';
import type { Facts, FactName, LauncherFile } from '../../run/facts';
import { formatCount } from '../../format';
import { countOf } from '../counts';
import { runtimeSchedules } from '../../schedules/registry';
import { accumulationSteps, type LaunchSettings } from '../writing/launch-settings';
import type { ModelGap } from '../writing/remarks';
import {
  never,
  countSetting,
  removed,
  isGiven,
  unsupported,
  unsupportedGroups,
  narrowFormatSettings,
  newFile,
  optimizerOffloadSetting,
  sizeSettings,
  type SettingEdit,
  type DesiredSetting,
} from '../writing/desired-setting';
import { counted, sentence, type Sentence } from '../../sentence';
import { gpusUsed } from '../../domain/request';
import type { Editor, Syntax } from '../writing/editor';
import { namesIn, settingsByPath, type KeyNames } from '../writing/key-names';
import { deepspeedKeys } from './settings';
import { own } from '../../records';
import { changeJson, type JsonChange } from '../../terapipe/change-json';
import { readEmbeddedDeepSpeed } from './reader';
import { fillTemplate } from '../../languages/json/template';
import { spliced } from '../../languages/text-edits';

/** DeepSpeed JSON and its templates, comments and layout kept. */
const jsonSyntax = (keys: KeyNames): Syntax => ({
  open: openSettings,
  edit: (launcher, edit) => {
    // What fills the template would no longer find its place.
    const changes = openSettings(launcher).has(edit.fact) ? null : changesFor(keys, launcher, edit);
    return changes === null ? [] : [changed(launcher.text, changes)];
  },
});

function openSettings({ file, text }: LauncherFile): ReadonlyMap<FactName, string> {
  return new Map(
    readEmbeddedDeepSpeed(text, file, 0).open.flatMap(({ fact, written }) => (fact === undefined ? [] : [[fact, written] as const])),
  );
}

function changesFor(known: KeyNames, { facts }: LauncherFile, { fact, value }: SettingEdit): readonly JsonChange[] | null {
  if (fact === 'precision') return precisionChanges(facts.precision?.name, value);
  const path = facts[fact]?.name ?? known[fact]?.[0];
  if (path === undefined || typeof value === 'object') return null;
  // The form before stages existed was "zero_optimization": true.
  const keys = path === 'zero_optimization' ? ['zero_optimization', 'stage'] : path.split('.');
  return [{ path: keys, value }];
}

/** One precision is on at a time. */
function precisionChanges(given: string | undefined, value: SettingEdit['value']): readonly JsonChange[] {
  const old = given === undefined ? [] : [{ path: given.split('.'), value: false }];
  return value === 'fp32' || typeof value !== 'string' ? old : [...old, { path: [value, 'enabled'], value: true }];
}

/** Placeholders are filled with strings of their own length while the text is changed, so that offsets stay. */
function changed(text: string, changes: readonly JsonChange[]): string {
  return changes.reduce((before, change) => {
    const replacement = changeJson(fillTemplate(before).text, [change]);
    return replacement === null ? before : spliced(before, replacement, replacement.newText);
  }, text);
}

/** A precision has an object of its own. */
const names: KeyNames = namesIn(deepspeedKeys, [
  ...(['globalBatch', 'microBatch', 'gradientAccumulation', 'zeroStage', 'tensor', 'pipeline', 'recomputeGranularity'] as const),
  ...(['offloadOptimizer', 'offloadBuffers', 'optimizerSubGroup'] as const),
]);

/** DeepSpeed's JSON. */
export const deepspeedEditor: Editor = {
  settings: deepspeedSettings,
  syntax: jsonSyntax(names),
  newFile: { fileName: 'ds_config.json', keys: names, lacks: ({ model }) => [modelOfScript(model)], write: deepspeedJson },
};

/** The file has no key of a model. */
function modelOfScript(model: ModelSpec): ModelGap {
  const { modelType, layers, hidden } = model;
  const sizes = sentence`${modelType}, ${counted(layers, 'layer')}, hidden size ${formatCount(hidden)}`;
  return {
    fields: [...modelFields(model).keys()],
    severity: 'warning',
    what: sentence`its model`,
    reason: sentence`DeepSpeed's JSON has no model: the training script builds it (${sizes})`,
  };
}

/**
 * What a DeepSpeed JSON needs for a plan. The model, its pipeline and its attention are the script's: most of a layout is not in this file.
 */
function deepspeedSettings(plan: LaunchSettings): readonly DesiredSetting[] {
  const { tensor, pipeline, context, expert, virtualStages, sequenceLength, zeroStage, stageLayers } = plan;
  const script = sentence`that is up to the training script, not to this file`;
  return [
    ...batchSettings(plan),
    zeroSetting(plan),
    precisionSetting(plan),
    ...narrowFormatSettings(plan.gemmPrecision, [], sentence`that is up to the model's code, not to this file`),
    ...zeroWithTensor(plan),
    sizeSetting(sentence`tensor parallel size`, 'tensor', tensor),
    sizeSetting(sentence`pipeline stages`, 'pipeline', pipeline),
    recomputeSetting(plan),
    offloadSetting(plan),
    ...ofTheHost(plan),
    ...unsupported(
      'activationOffloadLayers',
      sentence`activations on the host`,
      sentence`that depends on the model's code: activation_checkpointing.cpu_checkpointing`,
      (plan.activationOffloadLayers ?? 0) > 0,
    ),
    ...unsupported(
      'zeroStage',
      sentence`ZeRO ${zeroStage} with a pipeline`,
      sentence`DeepSpeed refuses ZeRO 2 and 3 in its pipeline engine`,
      pipeline > 1 && zeroStage > 1,
    ),
    ...unsupportedGroups(plan, sentence`ZeRO shards over all replicas, except for MiCS and hpZ, which you set yourself`),
    ...unsupported('context', sentence`context parallel size ${context}`, script, context > 1),
    ...unsupported(['expert', 'expertTensor'], sentence`expert parallel size ${expert}`, script, expert > 1),
    ...unsupported(
      ['virtualStages', 'stageLayers'],
      counted(virtualStages, 'virtual stage'),
      sentence`DeepSpeed has one stage on each GPU`,
      virtualStages > 1,
    ),
    ...unsupported(
      'stageLayers',
      sentence`layers of each stage`,
      sentence`DeepSpeed cuts stages by pipeline.partition_method`,
      new Set(stageLayers).size > 1,
    ),
    ...unsupported(
      'schedule',
      sentence`schedule ${plan.schedule}`,
      sentence`DeepSpeed's pipeline engine runs 1F1B`,
      pipeline > 1 && !runtimeSchedules('deepspeed').includes(plan.schedule),
    ),
    ...unsupported('sequenceLength', sentence`sequence length ${formatCount(sequenceLength)}`, script),
    ...unsupported(
      'data',
      counted(gpusUsed(plan), 'GPU'),
      sentence`the launcher decides how many; start it on ${counted(plan.nodes, 'node')} of ${counted(plan.gpusPerNode, 'GPU')}`,
    ),
  ];
}

/**
 * `train_batch_size` = `train_micro_batch_size_per_gpu` x `gradient_accumulation_steps` x data parallel size; DeepSpeed works out one that
 * is left out.
 */
function batchSettings(plan: LaunchSettings): readonly DesiredSetting[] {
  const steps = accumulationSteps(plan);
  const accumulation: DesiredSetting = {
    what: counted(steps, 'gradient accumulation step'),
    facts: ['gradientAccumulation'],
    isMet: (facts) => (facts.gradientAccumulation?.value ?? steps) === steps,
    alternatives: () => [[{ fact: 'gradientAccumulation', value: steps }]],
    reason: never,
  };
  return [...sizeSettings(plan, { globalBatch: null, microBatch: null }), accumulation];
}

/**
 * Scripts that split the model themselves, such as Megatron-DeepSpeed's, must not get the sizes from this file as well: sizes are written
 * only where they already are, or into a new file.
 */
function sizeSetting(what: Sentence, fact: 'tensor' | 'pipeline', value: number): DesiredSetting {
  const setting = countSetting(what, fact, value, 1);
  const alternatives: DesiredSetting['alternatives'] = (facts) => (hasPlaceFor(facts, fact) ? setting.alternatives(facts) : []);
  return { ...setting, alternatives, reason: sentence`the file does not split the model; the training script does` };
}

/** Whether a size goes into the file, so that DeepSpeed splits the model by it. */
function hasPlaceFor(facts: Facts, size: 'tensor' | 'pipeline'): boolean {
  return isGiven(facts, size) || facts === newFile;
}

/** With a pipeline, or a tensor size in the file, no more than DeepSpeed's engines take. */
function zeroSetting({ zeroStage: planned, pipeline, tensor }: LaunchSettings): DesiredSetting {
  const zeroStage = pipeline > 1 ? Math.min(1, planned) : planned;
  const stageIn = (facts: Facts): number => (tensor > 1 && hasPlaceFor(facts, 'tensor') ? Math.min(2, zeroStage) : zeroStage);
  return {
    what: sentence`ZeRO ${zeroStage}`,
    facts: ['zeroStage'],
    isMet: (facts) => (countOf(facts, 'zeroStage') ?? facts.zeroStage?.value ?? 0) === stageIn(facts),
    alternatives: (facts) => [[{ fact: 'zeroStage', value: stageIn(facts) }]],
    reason: never,
  };
}

/** ZeRO 3 of a plan whose tensor size goes into the file. */
function zeroWithTensor({ zeroStage, pipeline, tensor }: LaunchSettings): readonly DesiredSetting[] {
  if (zeroStage < 3 || tensor === 1 || pipeline > 1) return [];
  const what = sentence`ZeRO ${zeroStage} with a tensor parallel size of ${tensor}`;
  const reason = sentence`DeepSpeed's AutoTP supports ZeRO stages up to 2`;
  return [{ what, carries: ['zeroStage'], facts: [], isMet: (facts) => !hasPlaceFor(facts, 'tensor'), alternatives: () => [], reason }];
}

function precisionSetting({ precision }: LaunchSettings): DesiredSetting {
  return {
    what: sentence`precision ${precision}`,
    facts: ['precision'],
    isMet: (facts) => (facts.precision?.value ?? 'fp32') === precision,
    alternatives: () => [[{ fact: 'precision', value: precision }]],
    reason: never,
  };
}

/** On the host only in a new file: NVMe needs a path that no plan has, and a file in use may have tuned its offload. */
function offloadSetting({ offloadOptimizer = false, offloadDevice = 'cpu', zeroStage }: LaunchSettings): DesiredSetting {
  const setting = optimizerOffloadSetting(offloadOptimizer);
  if (!offloadOptimizer || offloadDevice !== 'cpu' || zeroStage === 0) return setting;
  const device: readonly SettingEdit[] = [{ fact: 'offloadOptimizer', value: offloadDevice }];
  return { ...setting, alternatives: (facts) => (facts === newFile ? [device] : setting.alternatives(facts)) };
}

/** What DeepSpeed copies at a time, where the plan does not leave it to DeepSpeed. */
function ofTheHost({ zeroStage, optimizerSubGroup, offloadOptimizer, offloadBuffers }: LaunchSettings): readonly DesiredSetting[] {
  const title = (fact: 'optimizerSubGroup' | 'offloadBuffers'): Sentence =>
    fact === 'optimizerSubGroup' ? sentence`elements that are updated at a time` : sentence`buffers on the host`;
  const given = [
    ['optimizerSubGroup', zeroStage === 3 ? optimizerSubGroup : undefined],
    ['offloadBuffers', offloadOptimizer === true ? offloadBuffers : undefined],
  ] as const;
  return given.flatMap(([fact, value]) => (value === undefined ? [] : [countSetting(title(fact), fact, value, null)]));
}

function recomputeSetting({ pipeline, recompute: { granularity, group = 1 } }: LaunchSettings): DesiredSetting {
  const current = (facts: Facts): string => facts.recomputeGranularity?.value ?? 'none';
  return {
    what: sentence`recompute ${granularity}${group > 1 ? `, ${formatCount(group)} layers together` : ''}`,
    facts: ['recomputeGranularity', 'recomputeLayers'],
    isMet: (facts) => current(facts) === granularity && (granularity !== 'full' || (countOf(facts, 'recomputeLayers') ?? 1) === group),
    alternatives: (facts): readonly (readonly SettingEdit[])[] =>
      granularity === 'none'
        ? isGiven(facts, 'recomputeGranularity')
          ? [removed('recomputeGranularity')]
          : []
        : granularity === 'full' && pipeline > 1 && hasPlaceFor(facts, 'pipeline')
          ? [[{ fact: 'recomputeGranularity', value: group }]]
          : [],
    reason: sentence`the model's code decides what is recomputed; this file only sets how it is kept`,
  };
}

/** Strict JSON has no remarks: Transformers and Accelerate refuse them. */
function deepspeedJson({ precision }: LaunchSettings, edits: readonly SettingEdit[]): string {
  const root: Record<string, unknown> = {};
  for (const [path, value] of settingsByPath(edits, names)) {
    const sections = path.split('.');
    const key = sections.pop() ?? '';
    const parent = sections.reduce((map, name) => (map[name] = { ...(own(map, name) as object | undefined) }), root);
    parent[key] = value;
  }
  if (precision !== 'fp32') root[precision] = { enabled: true };
  return `${JSON.stringify(root, null, 2)}\n`;
}

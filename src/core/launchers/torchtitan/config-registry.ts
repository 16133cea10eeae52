import { sentence } from '../../sentence';
import { byDefault } from '../../domain/located';
import type { Composition } from '../composition';
import { configError } from '../../errors';
import type { Setting, Settings } from '../tables/values';
import type { Facts } from '../../run/facts';
import { fileStart } from '../../languages/json/document';
import { toYamlDocument } from '../../languages/python/as-settings';
import { importedConfigs, pickedConfig, type PickedConfig } from '../../languages/python/configs';
import { evaluateFunction } from '../../languages/python/evaluate';
import type { PythonObject, PythonValue } from '../../languages/python/values';
import { environmentOnly } from '../../languages/yaml/references';
import { readSettings } from '../tables/settings';
import { titanFile } from './reader';

const selectiveByDefault: Pick<Facts, 'recomputeGranularity' | 'recomputeOption'> = {
  recomputeGranularity: byDefault('selective', sentence`TorchTitan default: SelectiveAC`),
  recomputeOption: byDefault('op', sentence`TorchTitan default: SelectiveAC`),
};

/** Whether a function's header is that of a config. */
const makesTrainer = (header: string): boolean => /->\s*"?(?:\w+\.)*Trainer\.Config\b/.test(header);

/**
 * TorchTitan's configs since 2026: functions of a `config_registry.py` that return a `Trainer.Config`, some over another one. They are
 * followed, not run.
 * @throws ExpectedError as `parsePython`; `config-unknown-format` for a module without a config that can be followed.
 */
export const registryFiles: Composition = {
  findBases: (layer) => importedConfigs(layer, (module) => /(^|\.)config_registry$/.test(module)),
  read: (layers) => {
    const picked = pickedConfig(layers, makesTrainer);
    const result = picked === null ? null : evaluateFunction([...picked.modules, picked.own], picked.own, picked.name);
    if (picked === null || result === null)
      throw configError(
        'config-unknown-format',
        sentence`No config of this module can be followed`,
        sentence`name a config_registry.py whose functions return a Trainer.Config`,
        fileStart(layers.at(-1)?.file ?? ''),
      );
    const { file, text } = picked.own;
    const launcher = titanFile(file, text, withModel(picked, result));
    const facts = result.fields.has('activation_checkpoint') ? launcher.facts : { ...launcher.facts, ...selectiveByDefault };
    return { ...launcher, facts, format: 'torchtitan-python', remarks: [...launcher.remarks, ...picked.remarks] };
  },
};

/** The settings by the names of TOML's sections, with those translated that newer versions write in another form. */
function withModel({ own, modules }: PickedConfig, result: PythonObject): Settings {
  const settings = new Map(readSettings(toYamlDocument(own, modules, result), environmentOnly));
  const add = (name: string, value: unknown, from: Pick<Setting, 'place'>): void => {
    const whole = from.place.range;
    settings.set(name, { name, value, described: String(value), place: from.place, whole });
  };
  const settingNamed = (name: string): Setting | null => settings.get(name) ?? null;
  addModel(result, own.file, add);
  addBatches(settings, add);
  const assets = settingNamed('hf_assets_path');
  if (assets !== null) add('model.hf_assets_path', assets.value, assets);
  addRecompute(result, add);
  return settings;
}

/** Newer versions give batches in tokens: of a micro-batch of each replica, and of a step. */
function addBatches(settings: Settings, add: Add): void {
  const context = settings.get('training.max_context_length');
  if (context === undefined) return;
  add('training.seq_len', context.value, context);
  const sequences = (name: string): readonly [Setting, number] | null => {
    const tokens = settings.get(name);
    const count = Number(tokens?.value) / Number(context.value);
    return tokens !== undefined && Number.isInteger(count) && count > 0 ? [tokens, count] : null;
  };
  const [step, inStep] = sequences('training.num_tokens_per_train_step') ?? [];
  if (step !== undefined) add('training.global_batch_size', inStep, step);
  const [tokens, inPass = 0] = sequences('training.num_tokens_per_microbatch_per_dp_rank') ?? [];
  if (tokens === undefined) return;
  const isPipelined = Number(settings.get('parallelism.pipeline_parallel_degree')?.value ?? 1) > 1;
  const passes = isPipelined ? Number(settings.get('parallelism.num_pp_microbatches')?.value ?? 1) : 1;
  add('parallelism.pipeline_parallel_microbatch_size', inPass, tokens);
  add('training.local_batch_size', inPass * passes, tokens);
}

type Add = (name: string, value: unknown, from: Pick<Setting, 'place'>) => void;

/** `model_registry("8B", converters=[...])` of the package that the file lies in. */
function addModel(result: PythonObject, file: string, add: Add): void {
  const model = result.fields.get('model_spec')?.value;
  if (model?.kind !== 'object') return;
  const [flavor] = model.positional;
  const name = /([\w-]+)[/\\][^/\\]*$/.exec(file)?.[1];
  if (name !== undefined) add('model.name', name, model);
  if (flavor?.kind === 'plain' && typeof flavor.value === 'string') add('model.flavor', flavor.value, flavor);
  const converters = model.fields.get('converters')?.value;
  if (converters?.kind === 'list') add('model.converters', converters.items.map(className), converters);
}

/** Classes say how: `FullAC.Config()`, `SelectiveAC.Config()`; none means that nothing is recomputed. */
function addRecompute(result: PythonObject, add: Add): void {
  const given = result.fields.get('activation_checkpoint')?.value;
  if (given === undefined) return;
  const mode = className(given).includes('FullAC') ? 'full' : className(given).includes('SelectiveAC') ? 'selective' : null;
  if (mode !== null) add('activation_checkpoint.mode', mode, given);
  if (mode === 'selective') add('activation_checkpoint.selective_ac_option', 'op', given);
  if (given.kind === 'plain' && given.value === null) add('activation_checkpoint.mode', 'none', given);
}

function className(value: PythonValue): string {
  return value.kind === 'object' ? value.callee : '';
}

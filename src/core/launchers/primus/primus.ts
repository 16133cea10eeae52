import type { Composition } from '../composition';
import type { Layer } from '../../languages/layers';
import type { LauncherFile } from '../../run/facts';
import { addArguments, fileOfArguments, noArguments, splitAsLayout, withEnvironment, type Arguments } from '../megatron/yaml-arguments';
import { readPrimusAdapters, mergedSettings, namedWithoutSizes, parsed, findPresets, settingsIn } from './presets';
import { own } from '../../records';

/**
 * AMD's Primus: an experiment names a preset of its trainer and one of its model, which lie in `primus/configs` and build on others by
 * `extends`, and overrides them (`primus/core/config/preset_loader.py`). Read here are runs of its Megatron backend: all of these are
 * arguments of Megatron-LM.
 */
export const primusFiles: Composition = { findBases: (layer) => findPresets(layer, 'megatron'), read: readPrimus };

function readPrimus(layers: readonly Layer[]): LauncherFile {
  const all = noArguments();
  const documents = layers.map(parsed);
  for (const document of documents) {
    const settings = settingsIn(document, 'megatron');
    if (settings !== null) addArguments(all, document, settings, withEnvironment);
  }
  settle(all);
  const own = documents.at(-1) ?? parsed({ file: '', text: '' });
  const launcher = fileOfArguments('primus', layers, own, all);
  const { facts } = launcher;
  return {
    ...launcher,
    facts: { ...facts, ...namedWithoutSizes(own, 'megatron', facts) },
    ...readPrimusAdapters(mergedSettings(layers, 'megatron')),
  };
}

/** Where Primus differs from Megatron-LM (`primus/backends/megatron/patches`). */
function settle(all: Arguments): void {
  const { flags } = all;
  const isGiven = (name: string): boolean => flags.has(name);
  const drop = (...names: readonly string[]): void => names.forEach((name) => flags.delete(name));
  // a list of layers to recompute replaces the method and the number; 0 of them is none
  if (isGiven('recompute-layer-ids') || flags.get('recompute-num-layers')?.words[0]?.text === '0')
    drop('recompute-granularity', 'recompute-method', 'recompute-num-layers');
  // a pattern replaces the shares that the preset of the model has
  if (isGiven('hybrid-layer-pattern') || isGiven('hybrid-override-pattern')) drop('hybrid-attention-ratio', 'hybrid-mlp-ratio');
  splitAsLayout(all, 'decoder-pipeline-manual-split-list');
  settleSchedule(all);
}

/** Schedules of Primus's own pipeline runtime; the others are those that Megatron-LM has. */
const algorithms: Readonly<Record<string, readonly [flag: string, setup?: string]>> = {
  'zero-bubble': ['enable-zero-bubble'],
  'zero-bubble-heuristic': ['enable-zero-bubble'],
  'zbv-formatted': ['zero-bubble-v-schedule', 'zb'],
  'v-half': ['zero-bubble-v-schedule', 'half'],
  'v-min': ['zero-bubble-v-schedule', 'min'],
};

/** Presets name zero-bubble schedules that take effect only once a runtime is patched in that runs them (`patches/parallelism`). */
function settleSchedule({ flags }: Arguments): void {
  const isOn = (name: string): boolean => flags.get(name)?.words[0]?.text?.toLowerCase() === 'true';
  if (isOn('patch-zero-bubble')) return;
  for (const name of ['enable-zero-bubble', 'zero-bubble-v-schedule', 'zero-bubble-v-schedule-mem-setup']) flags.delete(name);
  const written = flags.get('pp-algorithm');
  const [word] = written?.words ?? [];
  const [flag, setup] = (isOn('patch-primus-pipeline') ? own(algorithms, word?.text ?? '') : undefined) ?? [];
  if (written === undefined || word === undefined || flag === undefined) return;
  flags.set(flag, { ...written, words: [{ ...word, text: 'true' }] });
  if (setup !== undefined) flags.set('zero-bubble-v-schedule-mem-setup', { ...written, words: [{ ...word, text: setup }] });
}

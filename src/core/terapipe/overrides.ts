import { parseAmount, parseBandwidth } from '../amounts';
import { instances } from '../cluster/instances';
import { gpuPresets, type GpuPresetName } from '../cluster/presets';
import type { GpuSpec, LinkSpec } from '../domain/cluster';
import { overridden, type Located } from '../domain/located';
import { quoted } from '../text';
import { gpuWith, linksWith, presetLinks, presetNamed } from './cluster-section';
import { configError } from '../errors';
import {
  calibrationFields,
  clusterFields,
  constantFields,
  gpuFields,
  latencyFields,
  layoutFields,
  instanceFields,
  linkFields,
  intraNodeBusFields,
  peakTflopsFields,
  keepFreeRule,
  schedulesRule,
  slicingFields,
  trainingFields,
  type Fields,
} from './fields';
import { elasticFields } from './elastic-section';
import { overrideModel } from './inline-model';
import { namedSchedules } from '../domain/schedule-names';
import { sameWord, type Rule } from '../domain/settings/rules';
import { settings } from '../domain/settings/table';
import { checkByRule } from '../languages/json/read-by-rule';
import type { Run } from '../run/run';
import { findKey } from './setting-keys';
import { fromWrittenScheme } from './terapipe';
import { modelFields, type WrittenModel } from '../run/written-model';
import { anyOf, sentence } from '../sentence';

/** Puts one value into a run; `written` is as the user gave it, for messages; `assumed` is the GPU where no file names one. */
type Setter = (run: Run, written: string, assumed: GpuPresetName | null) => Run;

/**
 * Applies `key=value` settings (`training.microBatch=1`, `cluster.gpu=H200`) over those of the files, in order. Keys are those of
 * terapipe.json (or names that `findKey` knows), values are judged by its rules and may be amounts (`8k`, `100Gb/s`); what a model's files
 * left to defaults follows the new numbers.
 * @param assumed the GPU where nothing names one: figures of the GPU and of links are changed from its own.
 * @throws ExpectedError without a place: `override-syntax`, `override-unknown-key`, `config-unknown-preset`, `config-wrong-type`,
 * `config-out-of-range`.
 */
export function applyOverrides(run: Run, sets: readonly string[], assumed: GpuPresetName | null = null): Run {
  return sets.reduce((current, set) => {
    const parts = splitAssignment(set);
    if (parts === null)
      throw configError('override-syntax', sentence`${quoted(set)} is not key=value`, sentence`write it as training.microBatch=1`);
    const setter = setters.get(requireKey(parts.name));
    return setter === undefined ? current : setter(current, parts.value, assumed);
  }, run);
}

/** Settings as `applyOverrides` takes them: `layout.tensor=4`, `layout.stageLayers=[3,5]`. */
export function settingTexts(sets: readonly (readonly [key: string, value: unknown])[]): readonly string[] {
  return sets.map(([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
}

/** The name and the value of `name=value`, as written; null where it is not that. */
function splitAssignment(set: string): { readonly name: string; readonly value: string } | null {
  const separator = set.indexOf('=');
  return separator < 1 ? null : { name: set.slice(0, separator).trim(), value: set.slice(separator + 1).trim() };
}

/** Every key that can be set. */
export function overrideKeys(): readonly string[] {
  return [...setters.keys()];
}

/** The key that a setting is of: `layout.tensor` for `tp`; null for a name that no key has. */
export function settingKey(written: string): string | null {
  const found = findKey(written, overrideKeys());
  return 'key' in found ? found.key : null;
}

/** The key that `tp=8` sets, and the value as written; null where `applyOverrides` refuses it. */
export function parseSetting(set: string): { readonly key: string; readonly value: string } | null {
  const parts = splitAssignment(set);
  const key = parts === null ? null : settingKey(parts.name);
  return parts === null || key === null ? null : { key, value: parts.value };
}

const setters: ReadonlyMap<string, Setter> = new Map<string, Setter>([
  ...sectionSetters('training', trainingFields, (run, given) => ({ ...run, training: { ...run.training, ...given } })),
  ...sectionSetters('layout', layoutFields, (run, given) => ({ ...run, layout: { ...followed(run.layout, given), ...given } })),
  ...sectionSetters('cost', constantFields, (run, given) => ({ ...run, constants: { ...run.constants, ...given } })),
  ...sectionSetters('elastic', elasticFields, (run, given) => ({ ...run, elastic: { ...run.elastic, ...given } })),
  ...sectionSetters('cluster', clusterFields, (run, given) => ({ ...withoutGroups(run), ...given })),
  ...sectionSetters<Omit<WrittenModel, 'modelType'>>('model', modelFields, (run, given) => ({
    ...run,
    // What a graph sets counts as a default here, and stays: there is no family to fill in what is dropped.
    model: run.format === 'onnx' ? { ...run.model, ...given } : overrideModel(run.model, given),
  })),
  ...sectionSetters('calibration', calibrationFields, (run, given) => ({ ...run, calibration: { ...run.calibration, ...given } })),
  ['schedule', (run, written) => ({ ...run, schedule: overridden(parsed('schedule', written, settings.training.schedule.key)) })],
  ['schedules', withSchedules],
  ['keepFree', (run, written) => ({ ...run, keepFree: overridden(parsed('keepFree', written, keepFreeRule)) })],
  ['slicing.unit', (run, written) => ({ ...run, unit: overridden(parsed('slicing.unit', written, slicingFields.unit)) })],
  [
    'slicing.scheme',
    (run, written) => ({ ...run, scheme: overridden(fromWrittenScheme(parsed('slicing.scheme', written, slicingFields.scheme))) }),
  ],
  ['cost.profile', withoutProfile],
  ['cluster.instance', withInstance],
  [
    'cluster.pricePerGpuHour',
    (run, written) => ({ ...run, pricePerGpuHour: overridden(parsed('cluster.pricePerGpuHour', written, clusterFields.pricePerGpuHour)) }),
  ],
  ['cluster.gpu', (run, written) => withPreset(run, written)],
  ['cluster.gpu.preset', (run, written) => withPreset(run, written)],
  ...figureSetters('cluster.gpu', gpuFields, (run, figure, assumed) => ({
    ...run,
    gpu: overridden(gpuWith(changeableGpu(run, assumed), figure)),
  })),
  ...figureSetters('cluster.gpu.peakTflops', peakTflopsFields, (run, peakTflops, assumed) => ({
    ...run,
    gpu: overridden(gpuWith(changeableGpu(run, assumed), { peakTflops })),
  })),
  ...figureSetters('cluster.links', linkFields, (run, figure, assumed) => ({
    ...run,
    links: overridden(linksWith(changeableLinks(run, assumed), figure)),
  })),
  ...figureSetters('cluster.links.intraNodeBusGBps', intraNodeBusFields, (run, intraNodeBusGBps, assumed) => ({
    ...run,
    links: overridden(linksWith(changeableLinks(run, assumed), { intraNodeBusGBps })),
  })),
  ...figureSetters('cluster.links.allReduceLatencyUs', latencyFields, (run, allReduceLatencyUs, assumed) => ({
    ...run,
    links: overridden(linksWith(changeableLinks(run, assumed), { allReduceLatencyUs })),
  })),
]);

/** A layout with what a launcher derives from a size that is set: the experts' tensor size is tensor's where no file gives it. */
function followed(layout: Run['layout'], given: Run['layout']): Run['layout'] {
  if (given.tensor === undefined || layout.expertTensor?.source.kind !== 'default') return layout;
  return { ...layout, expertTensor: { value: given.tensor.value, source: layout.expertTensor.source } };
}

function sectionSetters<T extends object>(
  prefix: string,
  fields: { readonly [K in keyof T]-?: Rule<T[K]> },
  put: (run: Run, given: { readonly [K in keyof T]?: Located<T[K]> }) => Run,
): [string, Setter][] {
  return Object.entries<Rule<unknown>>(fields).map(([name, rule]) => {
    const key = `${prefix}.${name}`;
    return [
      key,
      (run, written) => put(run, { [name]: overridden(parsed(key, written, rule)) } as { readonly [K in keyof T]?: Located<T[K]> }),
    ];
  });
}

function figureSetters<T extends object>(
  prefix: string,
  fields: Fields<T>,
  put: (run: Run, figure: Partial<T>, assumed: GpuPresetName | null) => Run,
): [string, Setter][] {
  return Object.entries<Rule<unknown>>(fields).map(([name, rule]) => {
    const key = `${prefix}.${name}`;
    return [key, (run, written, assumed) => put(run, { [name]: parsed(key, written, rule) } as Partial<T>, assumed)];
  });
}

function parsed<T>(key: string, written: string, rule: Rule<T>): T {
  return checkByRule(valueOf(key, written, rule), quoted(written), key, rule);
}

/** Words are taken as they are, amounts as their numbers, everything else as JSON; what is none of these fails the rule. */
function valueOf(key: string, written: string, rule: Rule<unknown>): unknown {
  try {
    const value: unknown = JSON.parse(written);
    return rule.type === 'string' && typeof value !== 'string' && value !== null ? written : value;
  } catch {
    if (rule.type !== 'number') return written;
    return (key.includes('GBps') ? parseBandwidth(written) : null) ?? parseAmount(written, 'binary') ?? written;
  }
}

/** Files are read before overrides are applied: here a profile can only be left out. */
function withoutProfile(run: Run, written: string): Run {
  if (written === 'none') return { ...run, profile: overridden(null) };
  throw configError(
    'config-wrong-type',
    sentence`cost.profile can only be set to none here`,
    sentence`name the profile in terapipe.json, or with --profile`,
  );
}

/** A list of schedules, which may be written `1F1B,GPipe`, as the JSON that the rule judges; names in any case. */
function scheduleListJson(written: string): string {
  const names = written.replaceAll(/[[\]"]/g, '').split(',').map((name) => name.trim()); // prettier-ignore
  if (names.length === 1 && names[0]?.toLowerCase() === 'all') return '"all"';
  return JSON.stringify(names.map((name) => namedSchedules.find((other) => sameWord(other, name)) ?? name));
}

/** A schedule that the files name stays where it is one of those. */
function withSchedules(run: Run, written: string): Run {
  const schedules = parsed('schedules', scheduleListJson(written), schedulesRule);
  const { schedule, ...rest } = run;
  const isAmong = schedule !== undefined && (schedules === 'all' || schedules.includes(schedule.value));
  return { ...rest, schedules: overridden(schedules), ...(isAmong ? { schedule } : {}) };
}

function withPreset(run: Run, name: string): Run {
  const preset = presetNamed(name);
  if (typeof preset !== 'string') throw preset;
  const { gpu } = gpuPresets[preset];
  const { instance, ...rest } = withoutGroups(run);
  const isOfInstance = instance !== undefined && instances[instance.value].gpu === preset;
  return isOfInstance ? { ...run, gpu: overridden(gpu) } : { ...rest, gpu: overridden(gpu), links: presetLinks(preset) };
}

function withInstance(run: Run, written: string): Run {
  const name = parsed('cluster.instance', written, instanceFields.instance);
  const { gpu, links, gpusPerNode } = instances[name];
  return {
    ...withoutGroups(run),
    instance: overridden(name),
    gpu: overridden(gpuPresets[gpu].gpu),
    links: overridden(links),
    gpusPerNode: overridden(gpusPerNode),
  };
}

/** @throws ExpectedError `config-inconsistent` where the cluster has groups: an override does not name one. */
function withoutGroups(run: Run): Run {
  if (run.groups === undefined) return run;
  throw configError(
    'config-inconsistent',
    sentence`cluster.groups is given, so nothing else of the cluster can be set`,
    sentence`change the groups in terapipe.json`,
  );
}

function changeableGpu(run: Run, assumed: GpuPresetName | null): GpuSpec {
  const { gpu } = withoutGroups(run);
  if (gpu !== undefined) return gpu.value;
  if (assumed !== null) return gpuPresets[assumed].gpu;
  throw configError('config-inconsistent', sentence`There is no GPU whose figures could be changed`, sentence`set cluster.gpu first`);
}

function changeableLinks(run: Run, assumed: GpuPresetName | null): LinkSpec {
  const { links } = withoutGroups(run);
  if (links !== undefined) return links.value;
  if (assumed !== null) return gpuPresets[assumed].links;
  throw configError('config-inconsistent', sentence`There are no links whose figures could be changed`, sentence`set cluster.gpu first`);
}

/** @throws ExpectedError `override-unknown-key`, with the keys that may be meant. */
function requireKey(written: string): string {
  const found = findKey(written, overrideKeys());
  if ('key' in found) return found.key;
  throw configError(
    'override-unknown-key',
    sentence`${quoted(written)} cannot be set`,
    found.meant.length === 0
      ? sentence`use a key of terapipe.json, as training.microBatch`
      : sentence`did you mean ${anyOf(found.meant.slice(0, 4))}?`,
  );
}

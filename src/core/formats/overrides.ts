import { instances } from '../cluster/instances';
import { gpuPresets } from '../cluster/presets';
import type { GpuSpec, LinkSpec } from '../spec/cluster';
import type { Located } from '../spec/located';
import { quoted } from '../text';
import { gpuWith, linksWith, presetNamed } from './terapipe/cluster-section';
import { configError } from './errors';
import {
  calibrationFields,
  clusterFields,
  constantFields,
  gpuFields,
  latencyFields,
  layoutFields,
  instanceFields,
  linkFields,
  modelFields,
  intraNodeBusFields,
  peakTflopsFields,
  scheduleRule,
  keepFreeRule,
  schedulesRule,
  slicingFields,
  trainingFields,
  type Fields,
} from './terapipe/fields';
import { elasticFields } from './terapipe/elastic-section';
import { overrideModel } from './terapipe/inline-model';
import { checkByRule, type Rule } from './rules';
import type { Run } from './run';
import { closest } from './suggest';
import { currentKey } from './terapipe/renamed-keys';
import { schemeOf } from './terapipe/terapipe';
import type { WrittenModel } from './written-model';
import { sentence } from '../sentence';

/** Puts one value into a run; `written` is as the user gave it, for messages. */
type Setter = (run: Run, written: string) => Run;

/**
 * Applies `key=value` settings (`training.microBatch=1`, `cluster.gpu=H200`) over what the files say, in order. Keys, by their names of
 * today or
 * their old ones, and rules are those of terapipe.json; what a model's files left to defaults follows the new numbers.
 * @throws ExpectedError without a place: `override-syntax`, `override-unknown-key`, `config-unknown-preset`, `config-wrong-type`,
 * `config-out-of-range`.
 */
export function applyOverrides(run: Run, sets: readonly string[]): Run {
  return sets.reduce((current, set) => {
    const separator = set.indexOf('=');
    if (separator < 1)
      throw configError('override-syntax', sentence`${quoted(set)} is not key=value`, sentence`write it as training.microBatch=1`);
    const key = set.slice(0, separator).trim();
    const setter = setters.get(currentKey(key));
    if (setter === undefined) throw unknownOverride(key);
    return setter(current, set.slice(separator + 1).trim());
  }, run);
}

/** Every key that can be set. */
export function overrideKeys(): readonly string[] {
  return [...setters.keys()];
}

const setters: ReadonlyMap<string, Setter> = new Map<string, Setter>([
  ...sectionSetters('training', trainingFields, (run, given) => ({ ...run, training: { ...run.training, ...given } })),
  ...sectionSetters('layout', layoutFields, (run, given) => ({ ...run, layout: { ...followed(run.layout, given), ...given } })),
  ...sectionSetters('cost', constantFields, (run, given) => ({ ...run, constants: { ...run.constants, ...given } })),
  ...sectionSetters('elastic', elasticFields, (run, given) => ({ ...run, elastic: { ...run.elastic, ...given } })),
  ...sectionSetters('cluster', clusterFields, (run, given) => ({ ...withoutGroups(run), ...given })),
  ...sectionSetters<Omit<WrittenModel, 'modelType'>>('model', modelFields, (run, given) => ({
    ...run,
    // What a graph says counts as a default here, and stays: there is no family to fill in what is dropped.
    model: run.format === 'onnx' ? { ...run.model, ...given } : overrideModel(run.model, given),
  })),
  ...sectionSetters('calibration', calibrationFields, (run, given) => ({ ...run, calibration: { ...run.calibration, ...given } })),
  ['schedule', (run, written) => ({ ...run, schedule: overridden(parsed('schedule', written, scheduleRule)) })],
  ['schedules', withSchedules],
  ['keepFree', (run, written) => ({ ...run, keepFree: overridden(parsed('keepFree', written, keepFreeRule)) })],
  ['slicing.unit', (run, written) => ({ ...run, unit: overridden(parsed('slicing.unit', written, slicingFields.unit)) })],
  ['slicing.scheme', (run, written) => ({ ...run, scheme: overridden(schemeOf(parsed('slicing.scheme', written, slicingFields.scheme))) })],
  ['cost.profile', withoutProfile],
  ['cluster.instance', withInstance],
  ['cluster.gpu', (run, written) => withPreset(run, written)],
  ['cluster.gpu.preset', (run, written) => withPreset(run, written)],
  ...figureSetters('cluster.gpu', gpuFields, (run, figure) => ({ ...run, gpu: overridden(gpuWith(gpuOf(run), figure)) })),
  ...figureSetters('cluster.gpu.peakTflops', peakTflopsFields, (run, peakTflops) => ({
    ...run,
    gpu: overridden(gpuWith(gpuOf(run), { peakTflops })),
  })),
  ...figureSetters('cluster.links', linkFields, (run, figure) => ({ ...run, links: overridden(linksWith(linksOf(run), figure)) })),
  ...figureSetters('cluster.links.intraNodeBusGBps', intraNodeBusFields, (run, intraNodeBusGBps) => ({
    ...run,
    links: overridden(linksWith(linksOf(run), { intraNodeBusGBps })),
  })),
  ...figureSetters('cluster.links.allReduceLatencyUs', latencyFields, (run, allReduceLatencyUs) => ({
    ...run,
    links: overridden(linksWith(linksOf(run), { allReduceLatencyUs })),
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
  put: (run: Run, figure: Partial<T>) => Run,
): [string, Setter][] {
  return Object.entries<Rule<unknown>>(fields).map(([name, rule]) => {
    const key = `${prefix}.${name}`;
    return [key, (run, written) => put(run, { [name]: parsed(key, written, rule) } as Partial<T>)];
  });
}

function parsed<T>(key: string, written: string, rule: Rule<T>): T {
  return checkByRule(valueOf(written, rule), quoted(written), key, rule);
}

/** Words are taken as they stand, everything else as JSON; what is neither fails the rule. */
function valueOf(written: string, rule: Rule<unknown>): unknown {
  try {
    const value: unknown = JSON.parse(written);
    return rule.type === 'string' && typeof value !== 'string' && value !== null ? written : value;
  } catch {
    return written;
  }
}

function overridden<T>(value: T): Located<T> {
  return { value, source: { kind: 'override' } };
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

/** A schedule that the files name stays where it is one of those. */
function withSchedules(run: Run, written: string): Run {
  const schedules = parsed('schedules', written, schedulesRule);
  const { schedule, ...rest } = run;
  const isAmong = schedule !== undefined && schedules.includes(schedule.value);
  return { ...rest, schedules: overridden(schedules), ...(isAmong ? { schedule } : {}) };
}

function withPreset(run: Run, name: string): Run {
  const preset = presetNamed(name);
  if (typeof preset !== 'string') throw preset;
  const { gpu, links } = gpuPresets[preset];
  const { instance, ...rest } = withoutGroups(run);
  const isOfInstance = instance !== undefined && instances[instance.value].gpu === preset;
  return isOfInstance ? { ...run, gpu: overridden(gpu) } : { ...rest, gpu: overridden(gpu), links: overridden(links) };
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

/** @throws ExpectedError `config-inconsistent` where the cluster has groups: which of them is meant is not said. */
function withoutGroups(run: Run): Run {
  if (run.groups === undefined) return run;
  throw configError(
    'config-inconsistent',
    sentence`cluster.groups is given, so nothing else of the cluster can be set`,
    sentence`change the groups in terapipe.json`,
  );
}

function gpuOf(run: Run): GpuSpec {
  const { gpu } = withoutGroups(run);
  if (gpu !== undefined) return gpu.value;
  throw configError('config-inconsistent', sentence`There is no GPU whose figures could be changed`, sentence`set cluster.gpu first`);
}

function linksOf(run: Run): LinkSpec {
  const { links } = withoutGroups(run);
  if (links !== undefined) return links.value;
  throw configError('config-inconsistent', sentence`There are no links whose figures could be changed`, sentence`set cluster.gpu first`);
}

function unknownOverride(key: string): Error {
  const meant = closest(key, setters.keys());
  return configError(
    'override-unknown-key',
    sentence`${quoted(key)} cannot be set`,
    meant === null ? sentence`use a key of terapipe.json, as training.microBatch` : sentence`did you mean ${meant}?`,
  );
}

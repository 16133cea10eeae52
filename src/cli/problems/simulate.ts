import { integer, list, nonNegative, path, type Rule } from '../../core/domain/settings/rules';
import { openChild, readField, type Section } from '../../core/terapipe/section';
import { nodePlace } from '../../core/languages/json/document';
import { closest } from '../../core/suggest';
import { ExpectedError, configError } from '../../core/errors';
import type { PassMemory, PassTimes } from '../../core/schedules/kind';
import { scheduleKinds, scheduleNames } from '../../core/schedules/registry';
import { missing, openProblem, placeIn, refuseUnknown, required } from './section';
import { formatNumber } from '../../core/format';
import type { Place } from '../../core/domain/located';
import * as v from 'valibot';
import { sentence } from '../../core/sentence';

const problemKeys = [
  'schedule',
  'stages',
  'microBatches',
  'slices',
  'virtualStages',
  'groupedMicroBatches',
  'times',
  'memory',
  'memoryLimit',
] as const;

const size = integer(1, 1_000_000);
const duration = nonNegative(1e9);
const memory: Rule<number> = { schema: v.pipe(v.number(), v.minValue(-1e15), v.maxValue(1e15)), type: 'number', expects: 'a number' };

/** Operations that one answer may have: their order is printed. */
const maximumOperations = 8_000_000;

/** What `terapipe simulate` is asked. */
export interface SimulationProblem {
  /** A schedule of ours by name, or the CSV file of another. */
  readonly schedule: { readonly name: string } | { readonly csv: string; readonly place: Place | undefined };
  /** Null where a CSV sets it. */
  readonly stages: number | null;
  readonly microBatches: number | null;
  readonly slices: number;
  readonly chunksPerStage: number;
  /** Micro-batches that kFkB runs forward one after another. */
  readonly groupedMicroBatches: number;
  /** Of one micro-batch (slice) on one whole stage, ms, one entry for each of this many stages. */
  readonly times: (stages: number) => PassTimes;
  /** Null when the problem has nothing on memory. */
  readonly memory: PassMemory | null;
  /** Where the schedule is named, for what cannot run. */
  readonly place: Place | undefined;
}

/**
 * Reads a problem for `terapipe simulate`: `{schedule, stages, microBatches, slices?, virtualStages?, groupedMicroBatches?, times:
 * {forwardMs, backwardInputMs, backwardWeightMs, sendMs?}, memory?: {forward, backwardInput, backwardWeight}, memoryLimit?}`. `schedule` is
 * a name or `{"csv": "path"}`, which sets stages, micro-batches and virtual stages itself. Each time is one number or one per stage.
 * @throws ExpectedError at its place: `config-*` for what is malformed, `unknown-key`, `schedule-unknown`, `simulate-too-large`.
 */
export function readSimulationProblem(text: string, file: string): SimulationProblem {
  const section = openProblem(text, file, problemKeys);
  const schedule = readSchedule(section);
  const named = 'name' in schedule;
  const count = (name: string): number | null =>
    named ? required(section, name, size).value : (readField(section, name, size)?.value ?? null);
  const stages = count('stages');
  const microBatches = count('microBatches');
  const slices = readField(section, 'slices', size)?.value ?? 1;
  const fixed = named ? scheduleKinds.find(({ name }) => name === schedule.name)?.chunksPerStage : undefined;
  const chunksPerStage = readField(section, 'virtualStages', integer(1, 1000))?.value ?? (typeof fixed === 'number' ? fixed : 2);
  const groupedMicroBatches = readField(section, 'groupedMicroBatches', size)?.value ?? 1;
  const operations = 3 * (stages ?? 1) * (microBatches ?? 1) * slices * chunksPerStage;
  const place = section.members.has('schedule')
    ? nodePlace(section.document, section.members.get('schedule')?.value ?? section.node)
    : undefined;
  if (operations > maximumOperations)
    throw new ExpectedError(
      'simulate-too-large',
      sentence`The schedule has about ${formatNumber(operations)} operations, more than ${formatNumber(maximumOperations)}`,
      sentence`use fewer stages, micro-batches or slices`,
      place,
    );
  const [times, taken] = [readTimes(section), readMemory(section)];
  return { schedule, stages, microBatches, slices, chunksPerStage, groupedMicroBatches, times, memory: taken, place };
}

function readSchedule(section: Section): SimulationProblem['schedule'] {
  const member = section.members.get('schedule');
  if (member === undefined) throw missing(section, 'schedule', `one of ${scheduleNames.join(', ')}, or { "csv": "path" }`);
  if (member.value.type === 'object') {
    const child = openChild(section, 'schedule', ['csv']);
    if (child === undefined) throw missing(section, 'schedule', 'a path');
    refuseUnknown(child, ['csv'], 'a schedule from a file');
    const csv = required(child, 'csv', path);
    return { csv: csv.value, place: placeIn(csv) };
  }
  const name = required(section, 'schedule', { ...path, expects: `one of ${scheduleNames.join(', ')}, or { "csv": "path" }` });
  if (scheduleNames.includes(name.value)) return { name: name.value };
  const meant = closest(name.value, scheduleNames);
  throw new ExpectedError(
    'schedule-unknown',
    sentence`There is no schedule "${name.value.slice(0, 60)}"`,
    meant === null ? sentence`use one of ${scheduleNames.join(', ')}` : sentence`did you mean ${meant}?`,
    placeIn(name),
  );
}

function readTimes(section: Section): SimulationProblem['times'] {
  const keys = ['forwardMs', 'backwardInputMs', 'backwardWeightMs', 'sendMs'] as const;
  const child = openChild(section, 'times', keys);
  if (child === undefined) throw missing(section, 'times', '{ "forwardMs": 1, "backwardInputMs": 1, "backwardWeightMs": 1 }');
  refuseUnknown(child, keys, 'times');
  const passes = keys.slice(0, 3).map((key) => readPerStage(child, key));
  const sendMs = readField(child, 'sendMs', duration)?.value ?? 0;
  return (stages) => {
    const [forwardMs, backwardInputMs, backwardWeightMs] = passes.map((pass) => pass(stages));
    const none = new Float64Array(stages);
    return {
      forwardMs: forwardMs ?? none,
      backwardInputMs: backwardInputMs ?? none,
      backwardWeightMs: backwardWeightMs ?? none,
      sendMs,
    };
  };
}

/** One number for all stages, or one for each. */
function readPerStage(section: Section, name: string): (stages: number) => Float64Array {
  if (section.members.get(name)?.value.type !== 'array') {
    const { value } = required(section, name, duration);
    return (stages) => new Float64Array(stages).fill(value);
  }
  const given = required(section, name, list(duration.schema, 1, 1_000_000, 'a time, or a list of them, one for each stage'));
  return (stages) => {
    if (given.value.length === stages) return Float64Array.from(given.value);
    throw configError(
      'config-inconsistent',
      sentence`times.${name} has ${given.value.length} entries for ${stages} stages`,
      sentence`give one for each stage, or one number for all`,
      placeIn(given),
    );
  };
}

function readMemory(section: Section): PassMemory | null {
  const keys = ['forward', 'backwardInput', 'backwardWeight'] as const;
  const limit = readField(section, 'memoryLimit', nonNegative(1e15));
  const child = openChild(section, 'memory', keys);
  if (child === undefined) {
    if (limit !== undefined)
      throw missing(section, 'memory', 'what a pass takes: { "forward": 34, "backwardInput": -2, "backwardWeight": -32 }');
    return null;
  }
  refuseUnknown(child, keys, 'memory');
  const [forward = 0, backwardInput = 0, backwardWeight = 0] = keys.map((key) => required(child, key, memory).value);
  return { forward, backwardInput, backwardWeight, limit: limit?.value ?? Infinity };
}

import { callCommand } from './call';
import type * as types from './types';

/*
 * What programs call. Each function is a command of the terminal: the same code on a thread of its own, so that nothing blocks the
 * caller's.
 */

export { TerapipeError } from './call';
export type * from './question-types';
export type * from './types';

/** Options of a command by name; `true` is a flag, and what is undefined or false is left out. */
type Words = Readonly<Record<string, string | number | boolean | undefined>>;

async function call<Answer>(command: string, source: types.Source, options: types.ConfigOptions, words: Words = {}): Promise<Answer> {
  const isLoaded = typeof source === 'object' && 'source' in source;
  const from = isLoaded ? source.source : source;
  const { signal, onProgress, set, gpu, gpus, nodes, gpusPerNode, network, profile } = isLoaded ? merged(source.options, options) : options;
  const machine = { gpu, gpus, nodes, 'gpus-per-node': gpusPerNode, network, profile };
  const sets = Object.entries(set ?? {}).map(([key, value]) => `--set=${key}=${String(value)}`);
  const args = [command, '--json', ...optionWords({ ...machine, ...words }), ...sets, '--', typeof from === 'string' ? from : '-'];
  return (await callCommand(args, { signal, onProgress }, typeof from === 'string' ? null : from.text)) as Answer;
}

/** Options of a call over those that its config was loaded with. */
function merged(loaded: types.ConfigOptions, options: types.ConfigOptions): types.ConfigOptions {
  return { ...loaded, ...options, set: { ...loaded.set, ...options.set } };
}

function optionWords(words: Words): string[] {
  return Object.entries(words).flatMap(([name, value]) => {
    if (value === undefined || value === false) return [];
    return [value === true ? `--${name}` : `--${name}=${String(value)}`];
  });
}

/** What is read of a config or launcher's file. @throws TerapipeError, as every call here. */
export async function load(source: string | { readonly text: string }, options: types.ConfigOptions = {}): Promise<types.Config> {
  const kept: types.ConfigOptions = { ...options, signal: undefined, onProgress: undefined };
  return { ...(await call<types.InspectAnswer>('inspect', source, options)), source, options: kept };
}

/** How a plan is limited and priced. */
export interface PlanOptions extends types.ConfigOptions {
  readonly schedule?: string;
  /** Schedules that may be chosen, as `['1F1B', 'TeraPipe']`. */
  readonly schedules?: readonly string[];
  /** Tokens of the whole run, as `15T`. */
  readonly tokens?: string | number;
  /** Of a GPU hour. */
  readonly price?: number;
  /** A step that was measured, as `9.2s`, or the path of a log. */
  readonly measured?: string;
}

function planWords({ schedule, schedules, tokens, price, measured }: PlanOptions): Words {
  return { schedule, schedules: schedules?.join(','), tokens, price, measured };
}

/** The best schedule that fits, with its step, bubble and memory. */
export function plan(source: types.Source, options: PlanOptions = {}): Promise<types.PlanAnswer> {
  return call('plan', source, options, planWords(options));
}

/** Limits of a search. */
export interface SearchOptions extends Omit<PlanOptions, 'schedule'> {
  /** Keys that may change though the files set them. */
  readonly free?: readonly string[];
  /** Without what else would help. */
  readonly quick?: boolean;
}

/** The best layout. */
export function search(source: types.Source, options: SearchOptions = {}): Promise<types.SearchAnswer> {
  const { free, quick } = options;
  return call('plan', source, options, { ...planWords(options), search: true, free: free?.join(','), quick });
}

/** Which findings are looked for. */
export interface CheckOptions extends types.ConfigOptions {
  readonly ignore?: readonly string[];
  readonly severity?: types.Severity;
}

/** Everything wrong in the configs of files and folders. */
export async function check(paths: string | readonly string[], options: CheckOptions = {}): Promise<types.CheckAnswer> {
  return callOnPaths('check', typeof paths === 'string' ? [paths] : paths, options, {
    ignore: options.ignore?.join(','),
    severity: options.severity,
  });
}

/** What a change does: two files, folders or git revisions. */
export async function diff(base: string, head: string, options: CheckOptions = {}): Promise<types.DiffAnswer> {
  return callOnPaths('diff', [base, head], options, { ignore: options.ignore?.join(',') });
}

async function callOnPaths<Answer>(command: string, paths: readonly string[], options: CheckOptions, words: Words): Promise<Answer> {
  const { signal, onProgress, set, gpu, gpus, nodes, gpusPerNode, network, profile } = options;
  const machine = { gpu, gpus, nodes, 'gpus-per-node': gpusPerNode, network, profile };
  const sets = Object.entries(set ?? {}).map(([key, value]) => `--set=${key}=${String(value)}`);
  return (await callCommand([command, '--json', ...optionWords({ ...machine, ...words }), ...sets, '--', ...paths], {
    signal,
    onProgress,
  })) as Answer;
}

/** Peak memory of every stage and what it is made of. */
export function memory(source: types.Source, options: PlanOptions = {}): Promise<types.MemoryAnswer> {
  return call('memory', source, options, { schedule: options.schedule, measured: options.measured });
}

/** The optimal slicing of a raw problem. */
export function solve(problem: object, options: types.CallOptions = {}): Promise<types.SolveAnswer> {
  return call('solve', { text: JSON.stringify(problem) }, options);
}

/** A schedule of a raw problem: times, bubble, order. */
export function simulate(problem: object, options: types.CallOptions = {}): Promise<types.SimulateAnswer> {
  return call('simulate', { text: JSON.stringify(problem) }, options);
}

/** What is served. */
export interface PrefillOptions extends types.ConfigOptions {
  /** Tokens of the prompt. */
  readonly prompt?: number;
  /** Longest that a chunk may take on a stage. */
  readonly chunkCapMs?: number;
}

/** Prefill chunks that minimize the time to the first token. */
export function prefill(source: types.Source, options: PrefillOptions = {}): Promise<types.PrefillAnswer> {
  return call('prefill', source, options, { prompt: options.prompt, 'chunk-cap': options.chunkCapMs });
}

/** A run that freezes layers, epoch by epoch. */
export function elastic(source: types.Source, options: types.ConfigOptions = {}): Promise<types.ElasticAnswer> {
  return call('elastic', source, options);
}

/** What is written. */
export interface ExportOptions extends PlanOptions {
  /** A launcher or format, as `torchtitan` or `pytorch-csv`. */
  readonly to: string;
  /** A new file or folder; left out: the text is in the answer. */
  readonly out?: string;
}

/** The plan as a launcher's file, as a report or as its schedule. */
function exportPlan(source: types.Source, options: ExportOptions): Promise<types.ExportAnswer> {
  const { to, out, schedule, schedules } = options;
  return call('export', source, options, { to, out, schedule, schedules: schedules?.join(',') });
}

export { exportPlan as export };

import { column, formatBytes, formatDuration, formatPercent, formatTokens, plural } from '../../../core/format';
import { engineLaunch, gpuNames, relativeRegret, type ServedEngine, servedRequest } from '../core/answer';
import { decodeTexts } from '../core/decode';
import { prefillRemedy, type Prefill, planPrefill, servedPrefill, timesOfLengths } from '../core/prefill';
import { servedModel, usualPrompt } from '../core/served-model';
import type { ServedCut, ServingRuntime } from '../core/serving';
import { slowdownText } from '../../../core/planner/explain/slower';
import { say } from '../../../core/sentence';
import type { PlanRequest } from '../../../core/domain/request';
import { printable } from '../../../core/text';
import type { Answer } from '../../../cli/answer';
import { indented, table } from '../../../cli/table';
import type { Line } from '../../../cli/command';
import { readLengths } from '../../../cli/problems/lengths';
import { namedConfig, readInto, runConfig } from '../../../cli/read-config';
import type { Terminal } from '../../../cli/terminal';
import { maximum } from '../../../core/numbers';

/** What `terapipe prefill` found. */
interface PrefillReport {
  readonly request: PlanRequest;
  /** Folder of the model, for the engines; null: not known. */
  readonly model: string | null;
  readonly prefill: Prefill;
  /** Of the prompts given; of one prompt all are its own. */
  readonly times: { readonly meanMs: number; readonly p50Ms: number; readonly p99Ms: number };
  readonly prompts: number;
  readonly served: readonly ServedCut[];
  /** The only thing that is printed without `--json`; null: the whole answer. */
  readonly to: PrefillExport | null;
}

/** What `--to` names: an engine's launch, or the lengths. */
export type PrefillExport = ServingRuntime | 'list';

/** Chunks that are shown one by one. */
const mostShown = 12;

/** `terapipe prefill`: the chunks, what proves them, and what others' rules lose. */
function prefillAnswer(found: PrefillReport): Answer {
  const { request, prefill, times, prompts, served } = found;
  const { chunks, timeToFirstTokenMs, lowerBoundMs, exact, unit, rules, memory, decode, chunkMs, stageMs } = prefill;
  const { layout } = request;
  const engines = served.map((cut) => ({
    ...cut,
    ...engineLaunch(request, found.model, cut),
    regret: prompts === 1 ? relativeRegret(cut.timeToFirstTokenMs, timeToFirstTokenMs) : relativeRegret(cut.meanMs, times.meanMs),
  }));
  const remedy = prefillRemedy(memory);
  const json = {
    version: 1,
    prefill: {
      chunks,
      chunkMs,
      ...(stageMs === undefined ? {} : { stageMs }),
      timeToFirstTokenMs,
      lowerBoundMs,
      exact,
      unit,
      rules: rules.map((rule) => ({ ...rule, name: say(rule.name), regret: relativeRegret(rule.timeToFirstTokenMs, timeToFirstTokenMs) })),
      ...times,
      memory: { ...memory, remedy: remedy === null ? null : say(remedy) },
      decode,
      engines: engines.map(({ notes, ...engine }) => ({ ...engine, notes: notes.map((note) => say(note)) })),
    },
    layout,
  };
  return { json, text: prefillText(found, engines), exitCode: memory.fits ? 0 : 1 };
}

function prefillText(found: PrefillReport, engines: readonly ServedEngine[]): string {
  const { to, prefill } = found;
  if (to === 'list') return prefill.chunks.join('\n');
  const asked = engines.find(({ runtime }) => runtime === to);
  if (asked !== undefined) return [...engineComments(asked, found), asked.command].join('\n');
  return [
    ...prefillHead(found),
    '',
    indented(table(ruleRows(prefill), [0, 2, 3])),
    '',
    ...engines.map((engine) => `${engine.title}: ${regretText(engine, found)} (--to ${engine.runtime})`),
    '',
    ...timesText(found),
    memoryText(prefill),
    ...decodeTexts(prefill.decode).map((line) => say(line)),
  ].join('\n');
}

function prefillHead({ request, prefill }: PrefillReport): string[] {
  const { chunks, timeToFirstTokenMs, lowerBoundMs, exact, unit } = prefill;
  const { layout, training, cluster, title } = request;
  const proof = exact ? 'proved optimal' : `at most ${formatPercent(timeToFirstTokenMs / lowerBoundMs - 1)} above the best possible`;
  return [
    printable(
      `${title}: prompt of ${formatTokens(training.sequenceLength)}, ${plural(layout.pipeline, 'stage')} of ${layout.tensor} x ${gpuNames(cluster)}`,
    ),
    '',
    `Time to first token ${formatDuration(timeToFirstTokenMs)} with ${plural(chunks.length, 'chunk')}, in multiples of ${unit} tokens: ${proof}`,
    `Chunks: ${shown(chunks)}`,
    `Times: ${provenance(request)}`,
  ];
}

function provenance({ profile, costTable }: PlanRequest): string {
  if (costTable !== null) return 'from the table given';
  return profile === null ? 'from the roofline model' : `measured on ${printable(profile.profile.device.name)}, forward only`;
}

function ruleRows({ rules, timeToFirstTokenMs }: Prefill): string[][] {
  return rules.map((rule) => [
    say(rule.name),
    column.duration(rule.timeToFirstTokenMs),
    plural(rule.chunks.length, 'chunk'),
    say(slowdownText(relativeRegret(rule.timeToFirstTokenMs, timeToFirstTokenMs))),
  ]);
}

/** What an engine's own chunks lose, or gain where they are not multiples of the unit that chunks are looked for in. */
function regretText({ chunks, timeToFirstTokenMs, meanMs, regret }: ServedEngine, { prompts, prefill }: PrefillReport): string {
  const slower = `${say(slowdownText(regret))}${regret < 0 ? ` than the best in multiples of ${prefill.unit} tokens` : ''}`;
  if (prompts === 1) return `${formatDuration(timeToFirstTokenMs)} with its own ${plural(chunks.length, 'chunk')}, ${slower}`;
  return `${formatDuration(meanMs)} on average with its own chunks, ${slower}`;
}

/** What a launch is, as comments above it. */
function engineComments(engine: ServedEngine, found: PrefillReport): string[] {
  return [
    `# ${engine.title}: ${regretText(engine, found)}; best chunks: ${shown(found.prefill.chunks)}`,
    `# Its chunks: ${shown(engine.chunks)}`,
    ...engine.notes.map((note) => `# ${say(note)}`),
  ];
}

function shown(chunks: readonly number[]): string {
  return `${chunks.slice(0, mostShown).join(', ')}${chunks.length > mostShown ? `, ... ${chunks.at(-1) ?? 0}` : ''}`;
}

function timesText({ prompts, times }: PrefillReport): string[] {
  if (prompts === 1) return [];
  const { meanMs, p50Ms, p99Ms } = times;
  return [
    `${plural(prompts, 'prompt')}: ${formatDuration(meanMs)} on average, ${formatDuration(p50Ms)} in the median, ${formatDuration(p99Ms)} for 99 of 100`,
  ];
}

function memoryText({ memory }: Prefill): string {
  const { weightsBytes, keyValueBytes, capacityBytes, usableBytes } = memory;
  const remedy = prefillRemedy(memory);
  const held = `Memory: ${formatBytes(weightsBytes)} of weights and ${formatBytes(keyValueBytes)} of keys and values in the ${formatBytes(usableBytes)} that engines use of a GPU of ${formatBytes(capacityBytes)}`;
  return remedy === null ? held : `${held}: does not fit; ${say(remedy)}`;
}

/** What `prefill` is asked for, as its options say. */
interface AskedPrefill {
  /** Tokens; null: those of `lengths`, else as many as the model has positions for. */
  readonly prompt: number | null;
  /** A file of lengths of prompts. */
  readonly lengths: string | undefined;
  /** Longest that a chunk may take. */
  readonly capMs: number;
  readonly to: PrefillExport | null;
}

/** `terapipe prefill` of the config that the line names. @throws ExpectedError as `readLengths`, `namedConfig` and the planner. */
export async function prefillNamed(line: Line, wanted: AskedPrefill, terminal: Terminal, texts: Map<string, string>): Promise<Answer> {
  const { prompt, capMs, to } = wanted;
  const lengths = wanted.lengths === undefined ? null : readLengths(await readInto(texts, wanted.lengths));
  const { run } = await runConfig(await namedConfig(line, terminal, texts), line, texts);
  const tokens = prompt ?? (lengths === null ? usualPrompt(run) : maximum(lengths.map((each) => each.tokens)));
  const request = servedRequest(run, { tokens, stages: null }, line.defaults);
  const prefill = planPrefill(request, capMs, terminal.signal);
  const { timeToFirstTokenMs: ms } = prefill;
  const times = lengths === null ? { meanMs: ms, p50Ms: ms, p99Ms: ms } : timesOfLengths(request, lengths, capMs, terminal.signal);
  const prompts = lengths?.reduce((sum, { count }) => sum + count, 0) ?? 1;
  const served = servedPrefill(request, lengths, capMs);
  return prefillAnswer({ request, model: servedModel(run), prefill, times, prompts, served, to });
}

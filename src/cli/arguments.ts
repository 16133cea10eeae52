import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { presetNamed } from '../core/formats/terapipe/cluster-section';
import { closest } from '../core/formats/suggest';
import { ExpectedError } from '../core/errors';
import { parseDuration } from '../core/format';
import { assumedGpuName, type ResolveDefaults } from '../core/resolve/defaults';
import { freeNames } from '../core/layout-search/problem';
import { searchKeys, type SearchKey } from '../core/layout-search/search-problem';
import { providerNames, type ProviderName } from '../core/spec/profile';
import { orList, quoted } from '../core/text';
import type { ExportOptions } from './commands/export';
import { exportFormats, exportNames, type ExportName } from './export-formats';

const commandNames = ['plan', 'memory', 'check', 'inspect', 'profile', 'elastic', 'solve', 'simulate', 'export'] as const;
export type CommandName = (typeof commandNames)[number];

/** A command line, understood. */
export interface Command {
  readonly name: CommandName;
  readonly paths: readonly string[];
  readonly json: boolean;
  /** `key=value` settings over what the files say, in order. */
  readonly sets: readonly string[];
  /** For what no file says. */
  readonly defaults: ResolveDefaults;
  /** A profile to plan with, over what the files say; `none`: none. */
  readonly profile: string | null;
  readonly profiling: ProfilingOptions;
  readonly exporting: ExportOptions;
  /** What `plan` sets beside the plan: another config, a trace or measured times; null for nothing. */
  readonly comparing: string | null;
  /** A measured step to rescale the GPU's efficiency to, in ms, or the file that tells it; null: none. */
  readonly measured: number | string | null;
  /** How `plan` searches the layout; null: it plans the one there is. */
  readonly searching: SearchingOptions | null;
}

/** What `plan --search` takes besides. */
export interface SearchingOptions {
  /** Tokens to train on, for GPU hours. */
  readonly tokens: number | null;
  /** Leave out what would help. */
  readonly quick: boolean;
  /** Searched though FILE sets them. */
  readonly free: readonly SearchKey[];
}

/** What `profile` takes besides a file. */
export interface ProfilingOptions {
  /** Null: the first that loads, in the order of `providerNames`. */
  readonly provider: ProviderName | null;
  readonly budgetMs: number;
  /** File (`.json`) or folder; null: where profiles of the config lie. */
  readonly out: string | null;
  /** CPU threads inside an operator. */
  readonly threads: number;
  /** A CSV of measured times to take instead of measuring, and the device it was measured on. */
  readonly importFrom: string | null;
  readonly device: string | null;
  /** A profile to compare FILE, another one, with. */
  readonly compareWith: string | null;
}

/** What `--compare` may name instead of a file: sides of a search. */
const searchedSides = ['launched', 'best'] as const;
export type SearchedSide = (typeof searchedSides)[number];

/** Whether `--compare` asks for a search; a file of that name is `./best`. */
export function isSearchedSide(name: string): name is SearchedSide {
  return (searchedSides as readonly string[]).includes(name);
}

const exportHelp = exportNames
  .map((name, index) => `  ${(index === 0 ? '--to FORMAT' : '').padEnd(20)}${`${name}:`.padEnd(19)}${exportFormats[name].about}`)
  .join('\n');

export const helpText = `Usage: terapipe COMMAND FILE [options]

Plans how to train a Transformer over a pipeline of GPUs: how to cut the layers into
stages, the batch into micro-batches, and the sequence into token slices (TeraPipe).

Commands
  plan FILE       the best schedule that fits, with its step time, bubble and memory
  memory FILE     peak memory of every stage and what it is made of
  check PATH...   everything wrong in the configs of files and folders
  inspect FILE    what a config says, with the defaults of its format
  profile FILE    measure the config's layer on this machine with ONNX Runtime
  elastic FILE    a run that freezes layers: pipelines, replicas and time of every epoch
  solve FILE      the optimal slicing of a raw problem (batch, tokens, unit, stages, cost)
  simulate FILE   a schedule, ours or PyTorch's CSV, of a raw problem: times, bubble, order
  export FILE     the plan as a launcher's file, as changes to yours, as a report, or its
                  schedule: PyTorch's CSV, a trace, a picture

FILE is a HuggingFace config.json, a terapipe.json, or - for standard input; for
profile and inspect also an ONNX model.

Options
  --json              print one JSON object and nothing else
  --set KEY=VALUE     override a key of terapipe.json, as training.microBatch=1; repeatable
  --gpu NAME          GPU where no file names one (${assumedGpuName})
  --nodes N           nodes where no file says (enough for the layout)
  --gpus-per-node N   GPUs per node where no file says (as the GPU is usually built in)
  --profile PATH      plan with this profile; none: with none, though one is found
  --measured STEP     calibrate: the step of FILE takes this long (9.2s, 870ms), or as long as
                      in this file of times or log of Megatron-LM; other layouts follow
  -h, --help          this text

Options of plan
  --search            choose the layout too: tensor, pipeline, data, context and expert sizes,
                      stages, micro-batch, schedule, recompute; what FILE sets stays, and
                      with measured times what they were measured for
  --free KEY,...      with --search, choose these though FILE sets them: layout (sizes of groups,
                      micro-batch, stages, schedule), all (recompute, ZeRO and offload too),
                      or keys as tensor,pipeline,data; and say where FILE's own layout stands
  --tokens N          with --search, tokens to train on (15.6e12), for GPU hours
  --quick             with --search, without what would help most
  --compare OTHER     set FILE beside another config, or beside a measured run: a Chrome trace
                      (PyTorch's, Megatron-LM's timers, our export), step times as CSV or
                      JSON, or a log of Megatron-LM
  --compare best      set the layout of FILE beside the best one, as --search finds it (of a
                      launcher's file with --free all); launched: the other way round

Options of profile
  --provider NAME     cuda, dml, coreml, webgpu or cpu (the first that loads)
  --budget SECONDS    stop after so long (300); sooner when the error is under 2 %
  --out PATH          a .json file, or a folder (.terapipe/profiles near FILE)
  --threads N         CPU threads inside an operator (1, the steadiest)
  --import TIMES.csv  take times measured elsewhere: tokens, context, forward_ms, backward_ms
  --device NAME       the device of imported times (A100-80GB)
  --compare PROFILE   compare FILE, a profile, with another one

Options of export
${exportHelp}
  --schedule NAME     plan this schedule, as --set schedule=NAME
  --candidate NAME    write this candidate of the plan, not the one it chose
  --into EXISTING     change this launcher's file instead: prints the difference, which
                      patch -p0 takes; comments and layout of the file are kept
  --out PATH          write to a file that is not there yet, instead of printing
  --write             with --into, change EXISTING itself; with --out, replace PATH

A problem of solve is JSON: batch, tokens, unit, stages and cost, which is a formula
({"fixed": ms, "perToken": ms, "tile", "perTokenSquared", "perContext",
"perTokenContext"}) or a table. It may also hold
  minimumTokens       fewest tokens in a slice
  multiples           numbers that slices are multiples of, as [64, 8]
  stageFactors        how much longer than cost each stage takes, one number a stage
  maximumInFlight     most slices in flight; a larger batch runs in rounds
  oneScheme           true: all chunks of the batch are cut alike
  forwardOnly         true: cost is of the forward alone (prefill)
  tolerance           gap to the bound at which to stop, as 0.001 (0: only when proved)

Exit status: 0 fine, 1 a finding of severity error, a plan that does not fit, or
cancelled, 2 bad input, 3 internal error.
`;

/**
 * Understands a command line; `help` when the text above is asked for.
 * @throws ExpectedError `usage` without a place.
 */
export function parseCommand(args: readonly string[]): Command | 'help' {
  const { values, positionals } = parsed(args);
  const [name, ...paths] = positionals;
  if (values.help === true || name === 'help') return 'help';
  if (name === undefined) throw usage('No command', `give one of ${orList(commandNames)}`);
  if (!isCommand(name)) {
    const meant = closest(name, commandNames);
    throw usage(`${quoted(name)} is not a command`, meant === null ? `use ${orList(commandNames)}` : `did you mean ${meant}?`);
  }
  if (paths.length === 0) throw usage(`${name} needs a file`, 'name one, or - for standard input');
  if (paths.length > 1 && name !== 'check') throw usage(`${name} takes one file, not ${paths.length}`, 'run it once for each');
  refuseUnused(name, values);
  const other = values.compare;
  const compared = name === 'plan' && other !== undefined && !isSearchedSide(other) ? comparedFiles(args, paths[0] ?? '-', other) : [];
  const gpu = presetNamed(values.gpu ?? assumedGpuName);
  if (typeof gpu !== 'string') throw gpu;
  return {
    name,
    paths: compared.length > 0 ? compared.slice(0, 1) : paths,
    json: values.json === true,
    sets: [
      ...(values.set ?? []).filter((set) => !isProfileSet(set)),
      ...(values.schedule === undefined ? [] : [`schedule=${values.schedule}`]),
    ],
    profile: values.profile ?? profileSet(values.set ?? []),
    profiling: profilingOf(values),
    exporting: exportingOf(name, values),
    searching: searchingOf(values),
    measured: values.measured === undefined ? null : (parseDuration(values.measured) ?? values.measured),
    comparing: compared[1] ?? (name === 'plan' ? (other ?? null) : null),
    defaults: {
      gpu,
      nodes: countOf('--nodes', values.nodes),
      gpusPerNode: countOf('--gpus-per-node', values['gpus-per-node']),
      because: {
        gpu: values.gpu === undefined ? 'as nothing names one; --gpu does' : 'as --gpu says',
        nodes: 'as --nodes says',
        gpusPerNode: 'as --gpus-per-node says',
      },
    },
  };
}

const options = {
  json: { type: 'boolean' },
  set: { type: 'string', multiple: true },
  gpu: { type: 'string' },
  nodes: { type: 'string' },
  'gpus-per-node': { type: 'string' },
  profile: { type: 'string' },
  provider: { type: 'string' },
  budget: { type: 'string' },
  out: { type: 'string' },
  threads: { type: 'string' },
  import: { type: 'string' },
  device: { type: 'string' },
  compare: { type: 'string' },
  measured: { type: 'string' },
  to: { type: 'string' },
  schedule: { type: 'string' },
  candidate: { type: 'string' },
  into: { type: 'string' },
  write: { type: 'boolean' },
  search: { type: 'boolean' },
  free: { type: 'string' },
  tokens: { type: 'string' },
  quick: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options });
  } catch (error) {
    if (error instanceof TypeError) throw usage(error.message.split(/\.\s/, 1)[0] ?? 'Bad arguments', 'see terapipe --help');
    throw error;
  }
}

/** `--set cost.profile=FILE` is `--profile FILE`. */
function isProfileSet(set: string): boolean {
  return /^\s*cost\.profile\s*=/.test(set);
}

function profileSet(sets: readonly string[]): string | null {
  const last = sets.findLast(isProfileSet);
  return last === undefined ? null : last.slice(last.indexOf('=') + 1).trim();
}

/** Seconds that measuring may take when nothing is said. */
const defaultBudgetSeconds = 300;

function profilingOf(values: ReturnType<typeof parsed>['values']): ProfilingOptions {
  const seconds = values.budget === undefined ? defaultBudgetSeconds : Number(values.budget);
  if (!(seconds >= 1 && seconds <= 86_400)) throw usage(`--budget is ${quoted(values.budget ?? '')}`, 'give it seconds from 1 to 86,400');
  const provider = values.provider ?? null;
  if (provider !== null && !isProvider(provider)) {
    const meant = closest(provider, providerNames);
    throw usage(
      `${quoted(provider)} is no provider`,
      meant === null ? `use ${orList(providerNames)}` : `did you mean ${meant}? There are ${orList(providerNames)}`,
    );
  }
  return {
    provider,
    budgetMs: 1000 * seconds,
    out: values.out ?? null,
    threads: threadsOf(values.threads),
    importFrom: values.import ?? null,
    device: values.device ?? null,
    compareWith: values.compare ?? null,
  };
}

/** Threads beyond the machine's own only wait for each other. */
function threadsOf(written: string | undefined): number {
  const threads = countOf('--threads', written) ?? 1;
  const most = availableParallelism();
  if (threads > most) throw usage(`--threads is ${threads}, and this machine runs ${most} at a time`, `give it 1 to ${most}`);
  return threads;
}

function exportingOf(command: CommandName, values: ReturnType<typeof parsed>['values']): ExportOptions {
  const { to = null, candidate = null, into = null, out = null, write = false } = values;
  const choices = orList(exportNames);
  if (to !== null && !isExport(to)) {
    const meant = closest(to, exportNames);
    throw usage(`${quoted(to)} is nothing to export to`, meant === null ? `use ${choices}` : `did you mean ${meant}? There are ${choices}`);
  }
  if (command === 'export' && to === null && into === null) throw usage('export needs a format', `give --to ${choices}`);
  if (into === '-') throw usage('--into takes a file, not standard input', 'name the file');
  if (write && into === null && out === null) throw usage('--write needs something to write to', 'give --into or --out too');
  return { to, candidate, into, out, write };
}

function searchingOf({ search, tokens, free, compare, quick = false }: ReturnType<typeof parsed>['values']): SearchingOptions | null {
  const isCompared = compare !== undefined && isSearchedSide(compare);
  if (search !== true) {
    const isFree = free !== undefined && !isCompared;
    const [given] = [...(quick ? ['quick'] : []), ...(tokens === undefined ? [] : ['tokens']), ...(isFree ? ['free'] : [])];
    if (given !== undefined) throw usage(`--${given} is an option of plan --search`, 'give --search too');
    if (free === undefined) return null;
  }
  const count = tokens === undefined ? null : Number(tokens);
  if (count !== null && !(count >= 1 && count <= 1e18))
    throw usage(`--tokens is ${quoted(tokens ?? '')}`, 'give it a number from 1 to 1e18, as 15.6e12');
  return { tokens: count, quick, free: free === undefined ? [] : freeOf(free) };
}

/** Choices named one by one, or by what stands for several. */
function freeOf(written: string): SearchKey[] {
  const names: readonly string[] = [...Object.keys(freeNames), ...searchKeys];
  const keys = written.split(',').flatMap((part): readonly SearchKey[] => {
    const name = part.trim();
    const key = searchKeys.find((known) => known === name);
    if (key !== undefined) return [key];
    if (name === 'layout' || name === 'all') return freeNames[name];
    const meant = closest(name, names);
    throw usage(
      `${quoted(name)} is nothing that a search chooses`,
      meant === null ? `use ${orList(names)}` : `did you mean ${meant}? There are ${orList(names)}`,
    );
  });
  return [...new Set(keys)];
}

/** Which options are of some commands only. */
const ownOptions = {
  provider: ['profile'],
  budget: ['profile'],
  threads: ['profile'],
  import: ['profile'],
  device: ['profile'],
  compare: ['profile', 'plan'],
  to: ['export'],
  schedule: ['export'],
  candidate: ['export'],
  into: ['export'],
  write: ['export'],
  out: ['profile', 'export'],
  measured: ['plan', 'memory', 'export'],
  search: ['plan'],
  tokens: ['plan'],
  quick: ['plan'],
  free: ['plan'],
} as const satisfies Readonly<Record<string, readonly CommandName[]>>;

/** Some options are of one command alone, and some exclude each other. */
function refuseUnused(name: CommandName, values: ReturnType<typeof parsed>['values']): void {
  const given = (Object.keys(ownOptions) as (keyof typeof ownOptions)[]).filter((option) => values[option] !== undefined);
  const foreign = given.find((option) => !(ownOptions[option] as readonly CommandName[]).includes(name));
  if (foreign !== undefined) throw usage(`--${foreign} is an option of ${orList(ownOptions[foreign])}, not of ${name}`, 'leave it out');
  const alone = given.filter((option) => option === 'import' || option === 'compare');
  if (alone.length > 1) throw usage('--import and --compare do different things', 'give one of them');
  if (values.search === true && values.compare !== undefined) throw usage('--search and --compare do different things', 'give one of them');
  if (values.measured !== undefined && values.compare !== undefined)
    throw usage('--measured and --compare do different things', 'give one of them');
  if (values.device !== undefined && values.import === undefined)
    throw usage('--device names the device of imported times', 'give --import too');
}

/** Both files of `plan A --compare B`, which may be written `plan --compare A B`, in the order of the command line. */
function comparedFiles(args: readonly string[], file: string, other: string): readonly string[] {
  const { tokens } = parseArgs({ args: [...args], options, allowPositionals: true, tokens: true });
  const files = tokens.filter(({ kind }) => kind === 'positional');
  const option = tokens.find((token) => token.kind === 'option' && token.name === 'compare');
  return (option?.index ?? Infinity) < (files[1]?.index ?? Infinity) ? [other, file] : [file, other];
}

function isExport(name: string): name is ExportName {
  return (exportNames as readonly string[]).includes(name);
}

function isProvider(name: string): name is ProviderName {
  return (providerNames as readonly string[]).includes(name);
}

function isCommand(name: string): name is CommandName {
  return (commandNames as readonly string[]).includes(name);
}

function countOf(option: string, written: string | undefined): number | null {
  if (written === undefined) return null;
  const count = Number(written);
  if (!/^\d+$/.test(written) || count < 1 || count > 1_000_000)
    throw usage(`${option} is ${quoted(written)}`, 'give it a whole number from 1 to 1,000,000');
  return count;
}

function usage(message: string, remedy: string): ExpectedError {
  return new ExpectedError('usage', message, remedy);
}

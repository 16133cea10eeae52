import type { Finding } from '../../findings';
import { byDefault, type Place } from '../../domain/located';
import { readDeepSpeed } from '../deepspeed/reader';
import { coreModules, type GivenAdapters } from '../../run/adapters';
import { configError } from '../../errors';
import type { Fact, FactName, Facts, LauncherFile } from '../../run/facts';
import { maximumConfigSize, fileStart } from '../../languages/json/document';
import type { ComposingReader, Composition } from '../composition';
import { ownLayer, upwards, type Base, type Layer } from '../../languages/layers';
import { argumentWords } from '../../languages/shell/words';
import { allocatorFacts } from './allocator';
import { clusterOfScheduler, scriptEnvironment } from './batch-header';
import { evaluate } from '../../languages/shell/evaluate';
import { loraFlags } from '../tables/adapters';
import type { Evaluation, HereDocument } from '../../languages/shell/evaluation';
import { readLaunchFlags, findLaunch, type Launch, type LaunchFlags } from './launch';
import { mappedText } from '../../languages/shell/mapped-text';
import { detectFork } from '../megatron/forks';
import type { FlagWord } from '../tables/located-flag';
import { megatronArguments } from '../tables/written-settings';
import { earliestPlace } from '../tables/values';
import { detectPurpose } from './purpose';
import { flagWords, megatronFacts, megatronRemarks } from '../megatron/megatron-flags';
import { leftOutFlags } from '../megatron/left-out-flags';
import { unknownFlags } from '../megatron/unknown-flags';
import { isArgumentFile, isMegatronShell } from './recognise';
import { openRlhfProgram } from '../openrlhf/openrlhf';
import { trainerProgram } from '../trainer-shell/trainer-shell';
import { maxtextProgram } from '../maxtext/maxtext-shell';
import { megatronSwiftProgram } from '../megatron-swift/swift-shell';
import { mlperfProgram } from '../mlperf/mlperf';
import { modelZooProgram } from '../moe-modelzoo/moe-modelzoo';
import { nanochatProgram } from '../nanochat/nanochat';
import { launchOfScript, launchOfVariables } from './exported';
import { verlProgram } from '../verl/verl';
import type { ShellProgram } from './program';
import { isOfSystem, notFollowedRemarks } from './not-followed';
import { scriptTexts, type ScriptTexts } from '../../languages/shell/script-texts';
import { withTemplateVariables } from './templates';
import { conditionalRemarks, otherRunRemarks, unknownRemarks, unknownVariables } from './shell-remarks';
import type { ShellNode, ShellParser } from '../../languages/shell/parser';
import { isJson, optimizerOfDeepSpeed, readShardingFacts } from '../deepspeed/trainer-files';
import { sentence } from '../../sentence';
import { append } from '../../records';

/** Programs other than Megatron-LM whose launch scripts are read; a script of two is the first one's. */
const shellPrograms: readonly ShellProgram[] = [
  nanochatProgram,
  modelZooProgram,
  maxtextProgram,
  megatronSwiftProgram,
  verlProgram,
  openRlhfProgram,
  trainerProgram,
  mlperfProgram,
];

/**
 * A reader of scripts that launch Megatron, and of files of its arguments. Nothing is executed: what only a run can know is unknown and
 * reported. What a script sources is followed where it is given (`composition`). The reader throws ExpectedError `config-empty`,
 * `config-binary`, `config-too-large` or `shell-too-complex`, placed.
 */
export function createShellReader(parser: ShellParser): ComposingReader {
  const composition: Composition = {
    findBases: (layer) => findScriptBases(parser, layer),
    read: (layers) => readScript(parser, layers),
    reportsMissing: true,
  };
  return Object.assign((file: string, text: string) => readScript(parser, [{ file, text }]), { composition });
}

/** A script with the files that it sources, itself last. */
function readScript(parser: ShellParser, layers: readonly Layer[]): LauncherFile {
  const { file, text: original } = ownLayer(layers);
  refuseUnfit(file, original);
  const text = withTemplateVariables(original);
  const texts = scriptTexts(file, text);
  if (isArgumentFile(text)) {
    const flags = readLaunchFlags(texts, argumentWords(text));
    return launcherFile(
      texts,
      original,
      { flags, program: null, isCommand: true, own: new Set(flags.keys()), isOfTorchrun: false, rest: [], others: [] },
      {},
      [],
    );
  }
  const root = parser.parse(text);
  if (root === null)
    throw configError('shell-too-complex', sentence`The script is too tangled to be read`, sentence`name a launch script`, fileStart(file));
  const sourced = (path: string): Layer | null => layers.slice(0, -1).find((layer) => isAt(layer.file, path)) ?? null;
  const evaluation = evaluate(texts, root, scriptEnvironment(text), { parse: parser.parse, sourced });
  const other = findShellProgram(text);
  if (other !== undefined) {
    const started = readLaunch(other, texts, evaluation);
    const read = fileOfProgram(other, texts, layers, started, syntaxRemarks(file, root));
    return { ...read, facts: { ...allocatorFacts(texts, evaluation, started.command), ...read.facts } };
  }
  const launch = findLaunch(texts, evaluation);
  const otherArguments = nodesOfType(root, otherArgumentTypes).map(({ start, end }) => ({ start, end }));
  const environment = allocatorFacts(texts, evaluation, launch.command);
  const flags = withScheduler(file, text, launch.flags);
  const written = evaluation.hereDocuments.map((document) => readHereDocument(texts, document));
  const remarks = [
    ...otherRunRemarks(launch),
    ...conditionalRemarks(texts, flags, evaluation),
    ...notFollowedRemarks(texts, { ...launch, flags }, evaluation),
    ...written.flatMap((found) => found?.remarks ?? []),
    ...syntaxRemarks(file, root),
  ];
  const jsonFiles = layers.slice(0, -1).filter(isJson);
  const ofJson = jsonFiles.map((layer) => ({ ...readShardingFacts(layer), ...optimizerOfDeepSpeed(layer) }));
  const ofDocuments = Object.assign({}, ...ofJson, ...written.map((found) => found?.facts ?? {})) as Facts;
  const facts = { ...oneNode({ ...launch, flags }, text), ...environment, ...ofDocuments };
  return { ...launcherFile(texts, original, { ...launch, flags }, facts, remarks), ...(otherArguments.length > 0 && { otherArguments }) };
}

const otherArgumentTypes: ReadonlySet<string> = new Set(['function_definition', 'heredoc_body', 'ERROR']);

/** What a script hands to a program: the flags of its command, or variables. */
function readLaunch(program: ShellProgram, texts: ScriptTexts, evaluation: Evaluation): Launch {
  const { settings, areVariables, startedWithVariables } = program;
  const started = startedWithVariables && launchOfScript(texts, evaluation, settings, startedWithVariables);
  if (started) return started;
  if (areVariables === undefined) return findLaunch(texts, evaluation, settings);
  return launchOfVariables(texts, evaluation, (name) => settings.words(name) !== undefined);
}

/** The program other than Megatron-LM that a script starts. */
function findShellProgram(text: string): ShellProgram | undefined {
  return isMegatronShell(text) ? undefined : shellPrograms.find(({ isIts }) => isIts(text));
}

/** Whether a file can be the one that a script names by the end of its path. */
function isAt(file: string, path: string): boolean {
  const [there, end] = [`/${file.replaceAll('\\', '/')}`, path.replace(/^(?:\.{1,2}\/)+/, '')];
  return there.endsWith(`/${end}`);
}

/** What a script sources, and the settings that its launch names; one without either is not parsed. */
function findScriptBases(parser: ShellParser, layer: Layer): readonly Base[] {
  const { file, text } = layer;
  if (/\.(?:ya?ml|json)$/i.test(file)) return shellPrograms.flatMap(({ basesOfFile }) => basesOfFile?.(layer) ?? []);
  const program = findShellProgram(text);
  const sources = /(?:^|[\s;&|({"'`])(?:source|\.)[ \t]/m.test(text);
  const namesJson = program === undefined && /--deepspeed[-_]config\b/.test(text);
  if (!(sources || namesJson || program?.settingFiles !== undefined) || text.length > maximumConfigSize || text.includes('\0')) return [];
  const root = parser.parse(text);
  if (root === null) return [];
  const texts = scriptTexts(file, text);
  const evaluation = evaluate(texts, root, scriptEnvironment(text), { parse: parser.parse, sourced: () => null });
  const named = launchSettingFiles(program, findLaunch(texts, evaluation, program?.settings).flags);
  const settings = named.flatMap(({ text: path, place }) => (path === null ? [] : [{ written: path, place, paths: upwards(path) }]));
  return [...settings, ...sourcedBases(texts, evaluation)];
}

/** Files of settings that a launch names: of Megatron-DeepSpeed its DeepSpeed JSON. */
function launchSettingFiles(program: ShellProgram | undefined, flags: LaunchFlags): readonly FlagWord[] {
  if (program !== undefined) return program.settingFiles?.(flags) ?? [];
  const [path] = flags.get('deepspeed-config')?.words ?? [];
  return path !== undefined && /^[^/].*\.json$/i.test(path.text ?? '') ? [path] : [];
}

/** The files that a script sources and that may lie next to it. */
function sourcedBases(texts: ScriptTexts, { sourced }: Evaluation): readonly Base[] {
  return sourced.flatMap(({ path, range, isWhole, isFound }) =>
    path === null || isFound || isOfSystem(path, isWhole) ? [] : [{ written: path, place: texts.placeAt(range), paths: upwards(path) }],
  );
}

function launcherFile(
  { file }: ScriptTexts,
  text: string,
  { flags, program, isCommand, own }: Launch,
  written: Facts,
  remarks: readonly Finding[],
): LauncherFile {
  const facts: Facts = { ...written, ...megatronFacts(flags) };
  const keys = new Set(flags.keys());
  const fork = detectFork(file, text, keys);
  const purpose = detectPurpose(program ?? '', keys) ?? 'training';
  const isTraining = purpose === 'training';
  const adapters = readLoraAdapters(flags);
  const ownFlags = new Map([...flags].filter(([key]) => own.has(key)));
  const [unknown, known] = [unknownFlags(file, ownFlags), leftOutFlags(ownFlags)];
  const leftOut = [...unknown.names, ...known.names];
  return {
    file,
    format: 'megatron-shell',
    text,
    place: launchPlace(file, flags),
    facts,
    program: fork,
    purpose,
    remarks: isTraining
      ? [...megatronRemarks(flags, fork), ...unknown.remarks, ...known.remarks, ...unknownRemarks(flags), ...remarks]
      : [],
    modelFiles: [],
    placeholders: unknownVariables(flags),
    ...(!isCommand && { isPart: true as const }),
    ...(adapters && { adapters }),
    ...(leftOut.length > 0 && { leftOut }),
    written: megatronArguments(ownFlags),
  };
}

/** A script that starts another program than Megatron-LM. */
function fileOfProgram(
  { format, settings, isPlainPython, read }: ShellProgram,
  { file }: ScriptTexts,
  layers: readonly Layer[],
  launch: Launch,
  remarks: readonly Finding[],
): LauncherFile {
  const { flags, program, isCommand } = launch;
  const { text } = ownLayer(layers);
  const all = withScheduler(file, text, flags);
  const keys = new Set(all.keys());
  const purpose = detectPurpose(program ?? '', keys) ?? 'training';
  const { notes = [], facts, ...own } = read(all, layers);
  const places = [...flags].filter(([key]) => settings.words(key) !== undefined).map(([, { place }]) => place);
  return {
    file,
    format,
    text,
    place: earliestPlace(places) ?? fileStart(file),
    purpose,
    remarks: purpose === 'training' ? [...notes, ...otherRunRemarks(launch), ...remarks] : [],
    placeholders: [],
    ...(!isCommand && { isPart: true as const }),
    ...own,
    facts: { ...(isPlainPython && plainProcess(launch, all, text)), ...oneNode({ ...launch, flags: all }, text), ...facts },
  };
}

/** LoRA: MindSpeed-LLM and Pai-Megatron-Patch train the adapters of the modules that a flag lists. */
function readLoraAdapters(flags: LaunchFlags): GivenAdapters | undefined {
  const flag = flags.get('lora-target-modules') ?? flags.get('lora-r');
  if (flag === undefined) return undefined;
  const defaults = { rank: 16, targets: coreModules, reason: sentence`MindSpeed-LLM's default` };
  return { place: flag.place, name: flag.name, ...loraFlags(flags), defaults };
}

/** What the batch system's header sets, where no flag does. */
function withScheduler(file: string, text: string, flags: LaunchFlags): LaunchFlags {
  return flags.size === 0 ? flags : new Map([...clusterOfScheduler(file, text), ...flags]);
}

/** The first flag of the launch, else the start of the script. */
function launchPlace(file: string, flags: LaunchFlags): Place {
  const places = [...flags].filter(([key]) => flagWords(key) !== undefined).map(([, { place }]) => place);
  return earliestPlace(places) ?? fileStart(file);
}

function refuseUnfit(file: string, text: string): void {
  if (text.length > maximumConfigSize)
    throw configError(
      'config-too-large',
      sentence`The file is over 5 MB, too large for a launch script`,
      sentence`name the launch script itself`,
      fileStart(file),
    );
  if (text.trim() === '') throw configError('config-empty', sentence`The file is empty`, sentence`write a launch script`, fileStart(file));
  if (text.includes('\0') || (text.slice(0, 1000).match(/\uFFFD/g)?.length ?? 0) > 100)
    throw configError('config-binary', sentence`The file is not text`, sentence`name a launch script`, fileStart(file));
}

/** One remark for all that the grammar could not place, at the first of it. */
function syntaxRemarks(file: string, root: ShellNode): Finding[] {
  const [found] = nodesOfType(root, new Set(['ERROR']));
  if (found === undefined) return [];
  const range = { start: found.start, end: Math.min(found.end, found.start + 80) };
  const message = sentence`This part of the script is not understood, so what it sets is not known`;
  return [
    {
      code: 'shell-syntax',
      severity: 'information',
      place: { file, range },
      message,
      remedy: sentence`check quotes and brackets from here on`,
      fixes: [],
    },
  ];
}

/** The outermost nodes of some types, in the order of the script. */
function nodesOfType(root: ShellNode, types: ReadonlySet<string>): readonly ShellNode[] {
  const found: ShellNode[] = [];
  const open = [root];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (types.has(node.type)) found.push(node);
    else append(open, node.children.toReversed());
  }
  return found;
}

/** Null for a text that is not DeepSpeed JSON. Facts are placed in the script. */
function readHereDocument(texts: ScriptTexts, { parts }: HereDocument): Pick<LauncherFile, 'facts' | 'remarks'> | null {
  const document = mappedText(texts.text(), parts);
  if (!/"(train_batch_size|train_micro_batch_size_per_gpu|zero_optimization)"/.test(document.text)) return null;
  try {
    const { facts, remarks } = readDeepSpeed(texts.file, document.text);
    const place = (inner: Place): Place => texts.placeAt(document.sourceRange(inner.range) ?? { start: 0, end: 0 });
    return {
      facts: Object.fromEntries(Object.entries(facts).map(([name, fact]) => [name as FactName, relocated(fact as Fact<unknown>, place)])),
      remarks: remarks.map((remark) => ({ ...remark, place: place(remark.place), fixes: [] })),
    };
  } catch {
    // A document that is not JSON is none of DeepSpeed's.
    return null;
  }
}

function relocated<T>(fact: Fact<T>, place: (inner: Place) => Place): Fact<T> {
  const { source } = fact;
  return {
    value: fact.value,
    source: source.kind === 'file' ? { ...source, place: place(source.place) } : source,
    ...(fact.name !== undefined && { name: fact.name }),
  };
}

/** Flags that say, or may say, on how many nodes a launch runs. */
const nodeFlags = [
  'nnodes',
  'num-nodes',
  'nodes',
  'num-machines',
  'hostfile',
  'include',
  'config-file',
  'ntasks',
  'actor-num-nodes',
  'num-processes',
];

/** Launchers that start processes on one node by default, by the flag that only they take. */
const oneNodeLaunchers = { 'nproc-per-node': 'torchrun', 'num-gpus': 'DeepSpeed' } as const;

/**
 * The one node of a launch that sets the number of GPUs per node but not the number of nodes: torchrun's `--nnodes` is 1, DeepSpeed
 * takes this host without a hostfile, `accelerate launch` has one machine.
 * @param text of the script.
 */
function oneNode({ flags, isCommand, isOfTorchrun }: Pick<Launch, 'flags' | 'isCommand' | 'isOfTorchrun'>, text: string): Facts {
  if (!isCommand || nodeFlags.some((flag) => flags.has(flag)) || underScheduler.test(text)) return {};
  if (isOfTorchrun && !flags.has('nproc-per-node')) return oneProcess(flags);
  const flag = (Object.keys(oneNodeLaunchers) as (keyof typeof oneNodeLaunchers)[]).find((key) => flags.has(key));
  const name = flag === undefined ? (/\baccelerate[ \t]+launch\b/.test(text) ? 'accelerate launch' : null) : oneNodeLaunchers[flag];
  return name === null ? {} : { nodes: byDefault(1, sentence`${name} takes one node where nothing is set`) };
}

/** torchrun starts one process where nothing is set; the environment sets it for a run that one process cannot be. */
function oneProcess(flags: LaunchFlags): Facts {
  const { tensor, pipeline, context, expert } = megatronFacts(flags);
  if ([tensor, pipeline, context, expert].some((size) => (size?.value ?? 1) > 1)) return {};
  const reason = sentence`torchrun starts one process where nothing is set`;
  return { nodes: byDefault(1, reason), gpusPerNode: byDefault(1, reason) };
}

/** Commands that start several processes of a program, or may. */
const starters = /^[^#\n]*\b(?:torchrun|torch\.distributed|accelerate|deepspeed|parallel|ray)\b/m;

/** The one process of a program that Python or torchrun starts, and nothing asks for more. */
function plainProcess({ isCommand, isOfTorchrun }: Launch, flags: LaunchFlags, text: string): Facts {
  const isMore = ['nproc-per-node', 'gpus', ...nodeFlags].some((flag) => flags.has(flag)) || underScheduler.test(text);
  if (!isCommand || isMore || (!isOfTorchrun && starters.test(text))) return {};
  return { world: byDefault(1, sentence`one process: torchrun is given no number`) };
}

/** Slurm and MPI start a launch on each node that they were asked for elsewhere. */
const underScheduler = /^[^#\n]*\b(?:srun|mpirun|mpiexec|pdsh)\b|\bSLURM_|^#(?:SBATCH|PBS|BSUB)\b/m;

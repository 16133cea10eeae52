import type { Finding } from '../../findings';
import type { Place } from '../../spec/located';
import { readDeepSpeed } from '../deepspeed/reader';
import { configError } from '../errors';
import type { Fact, FactName, Facts, LauncherFile, LauncherReader } from '../facts';
import { maximumConfigSize, startOf } from '../json-document';
import { argumentWords } from './argument-file';
import { clusterOfScheduler, slurmEnvironment } from './batch-header';
import { evaluate, type HereDocument } from './evaluate';
import { flagsOf, launchOf, type Launch, type LaunchFlags } from './launch';
import { mappedText } from './mapped-text';
import { forkOf } from '../megatron/forks';
import { purposeOf } from '../purpose';
import { flagWords, megatronFacts, megatronRemarks } from '../megatron/megatron-flags';
import { isArgumentFile } from './recognise';
import { conditionalRemarks, unknownRemarks, unknownVariables } from './shell-remarks';
import type { ShellNode, ShellParser } from './shell-parser';
import { sentence } from '../../sentence';

/**
 * A reader of scripts that launch Megatron, and of files of its arguments. Nothing is executed: what only a run can tell is unknown and
 * said.
 * The reader throws ExpectedError `config-empty`, `config-binary`, `config-too-large` or `shell-too-complex`, placed.
 */
export function createShellReader(parser: ShellParser): LauncherReader {
  return (file, text) => {
    refuseUnfit(file, text);
    if (isArgumentFile(text)) {
      const flags = flagsOf(file, text, argumentWords(text));
      return launcherFile(file, text, { flags, program: null, isCommand: true }, {}, []);
    }
    const root = parser.parse(text);
    if (root === null)
      throw configError('shell-too-complex', sentence`The script is too tangled to be read`, sentence`name a launch script`, startOf(file));
    const evaluation = evaluate(text, root, slurmEnvironment(text));
    const launch = launchOf(file, text, evaluation);
    const flags = withScheduler(file, text, launch.flags);
    const written = evaluation.hereDocuments.map((document) => readHereDocument(file, text, document));
    const remarks = [
      ...conditionalRemarks(file, text, flags, evaluation),
      ...written.flatMap((found) => found?.remarks ?? []),
      ...syntaxRemarks(file, root),
    ];
    const ofDocuments = Object.assign({}, ...written.map((found) => found?.facts ?? {})) as Facts;
    return launcherFile(file, text, { ...launch, flags }, ofDocuments, remarks);
  };
}

function launcherFile(file: string, text: string, launch: Launch, written: Facts, remarks: readonly Finding[]): LauncherFile {
  const { flags, program } = launch;
  const facts: Facts = { ...written, ...megatronFacts(flags) };
  const keys = new Set(flags.keys());
  const fork = forkOf(file, text, keys);
  const purpose = purposeOf(program ?? '', keys) ?? 'training';
  const isTraining = purpose === 'training';
  return {
    file,
    format: 'megatron-shell',
    text,
    place: firstPlace(file, flags),
    facts,
    program: fork,
    purpose,
    remarks: isTraining ? [...megatronRemarks(flags, fork), ...unknownRemarks(flags), ...remarks] : [],
    modelFiles: [],
    placeholders: unknownVariables(flags),
  };
}

/** What the batch system's header says, where no flag does. */
function withScheduler(file: string, text: string, flags: LaunchFlags): LaunchFlags {
  return flags.size === 0 ? flags : new Map([...clusterOfScheduler(file, text), ...flags]);
}

function firstPlace(file: string, flags: LaunchFlags): Place {
  const places = [...flags].filter(([key]) => flagWords(key) !== undefined).map(([, { place }]) => place);
  return places.reduce((first, place) => (place.range.start < first.range.start ? place : first), places[0] ?? startOf(file));
}

function refuseUnfit(file: string, text: string): void {
  if (text.length > maximumConfigSize)
    throw configError(
      'config-too-large',
      sentence`The file is over 5 MB, too large for a launch script`,
      sentence`name the launch script itself`,
      startOf(file),
    );
  if (text.trim() === '') throw configError('config-empty', sentence`The file is empty`, sentence`write a launch script`, startOf(file));
  if (text.includes('\0') || (text.slice(0, 1000).match(/\uFFFD/g)?.length ?? 0) > 100)
    throw configError('config-binary', sentence`The file is not text`, sentence`name a launch script`, startOf(file));
}

/** One remark for all that the grammar could not place, at the first of it. */
function syntaxRemarks(file: string, root: ShellNode): Finding[] {
  const found = firstError(root);
  if (found === null) return [];
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

function firstError(root: ShellNode): ShellNode | null {
  const open = [root];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (node.type === 'ERROR') return node;
    for (let index = node.children.length - 1; index >= 0; index -= 1) open.push(...node.children.slice(index, index + 1));
  }
  return null;
}

/** Null for a text that is no DeepSpeed JSON. Facts are placed in the script. */
function readHereDocument(file: string, text: string, { parts }: HereDocument): Pick<LauncherFile, 'facts' | 'remarks'> | null {
  const document = mappedText(text, parts);
  if (!/"(train_batch_size|train_micro_batch_size_per_gpu|zero_optimization)"/.test(document.text)) return null;
  try {
    const { facts, remarks } = readDeepSpeed(file, document.text);
    const place = (inner: Place): Place => ({ file, range: document.sourceOf(inner.range) ?? { start: 0, end: 0 } });
    return {
      facts: Object.fromEntries(Object.entries(facts).map(([name, fact]) => [name as FactName, relocated(fact as Fact<unknown>, place)])),
      remarks: remarks.map((remark) => ({ ...remark, place: place(remark.place), fixes: [] })),
    };
  } catch {
    // A document that is no JSON is none of DeepSpeed's.
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

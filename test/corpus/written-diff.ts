import { diffArrays } from 'diff';
import { splitLines, unifiedDiff } from '../../src/core/export/line-diff';
import type { TextRange } from '../../src/core/domain/located';
import type { Fact, FactName, LauncherFile } from '../../src/core/run/facts';

/**
 * What a layout search may change in a file: the layout, how a batch is cut, memory, the schedule, and what they need. Listed here rather
 * than taken from the editors, so that one that writes more than that is found.
 */
const layoutFacts: readonly FactName[] = [
  ...(['tensor', 'pipeline', 'context', 'expert', 'expertTensor', 'data', 'dataReplicate', 'dataShard'] as const),
  ...(['virtualStages', 'layersPerVirtualStage', 'layersPerStage', 'totalStages', 'pipelineLayout', 'hybridPattern', 'splitRank'] as const),
  ...(['firstStageLayers', 'lastStageLayers', 'firstStageLessLayers', 'lastStageLessLayers', 'stageLayers', 'emptyLayers'] as const),
  ...(['embeddingAsLayer', 'lossAsLayer', 'stagesBeforeReplicas', 'nodes', 'gpusPerNode', 'world'] as const),
  ...(['microBatch', 'microBatches', 'localBatch', 'gradientAccumulation', 'zeroStage', 'distributedOptimizer'] as const),
  ...(['recomputeGranularity', 'recomputeMethod', 'recomputeLayers', 'recomputeModules', 'recomputeOption'] as const),
  ...(['offloadOptimizer', 'cpuOffloading', 'activationOffloadLayers', 'sequenceParallel', 'contextCommunication'] as const),
  // MindSpeed's overlap of passes needs its schedule
  ...(['schedule', 'passOverlap', 'scheduleCsv', 'slices', 'sliceRule', 'sliceLengths', 'sliceNeeds'] as const),
];

/** The lines that TeraPipe heads a file with, for what it cannot set. */
const header = /^# TeraPipe, (?:input|note|not written): /;

/** Stands for each character of a changed setting. */
const cutOut = '\0';

/** What was made of a launcher's file, as it is read. */
export interface WrittenFile {
  readonly before: LauncherFile;
  readonly after: LauncherFile;
}

/** The change as `diff -u` has it. */
export function writtenDiff({ before, after }: WrittenFile): string {
  return unifiedDiff(before.text, after.text, before.file, before.file);
}

/** The lines of a change that are not about the layout, or would not pass as a change by hand; empty: nothing. */
export function unacceptable({ before, after }: WrittenFile): readonly string[] {
  const names = Object.keys({ ...before.facts, ...after.facts }) as FactName[];
  const changed = names.filter((name) => !isSame(before.facts[name], after.facts[name]));
  // a batch that followed from the layout is stated when the layout changes
  const isStated = (name: FactName): boolean => name === 'globalBatch' && before.facts.globalBatch === undefined;
  // Megatron-LM stops at an overlapped gather without its distributed optimizer
  const isLeft = (name: FactName): boolean => name === 'overlapParamGather' && after.facts.distributedOptimizer?.value !== true;
  const others = changed.filter(
    (name) => !layoutFacts.includes(name) && !isStated(name) && !isLeft(name) && isWritten(name, before, after),
  );
  return [
    ...others.map((name) => `${name} is changed`),
    ...differingLines({ before, after }, changed),
    ...lineEndings(before.text, after.text),
    ...staleRemarks({ before, after }, changed),
    ...unusedVariables(before.text, after.text),
    ...repeatedFlags(before.text, after.text),
  ];
}

function isSame(one: Fact<unknown> | undefined, other: Fact<unknown> | undefined): boolean {
  return JSON.stringify([one?.value, one?.name]) === JSON.stringify([other?.value, other?.name]);
}

/** Whether a file sets it itself: what follows from others is not written. */
function isWritten(name: FactName, ...files: readonly LauncherFile[]): boolean {
  return files.some(({ facts, file }) => {
    const source = facts[name]?.source;
    return source?.kind === 'file' && source.place.file === file;
  });
}

/** A line, with the values of changed settings cut out, and with these settings cut out whole. */
interface MaskedLine {
  /** Blanks before it. */
  readonly indent: number;
  readonly raw: string;
  readonly values: string;
  readonly whole: string;
}

/** Lines of a file. Header lines of TeraPipe are not lines of the file. */
function maskedLines({ file, text, facts }: LauncherFile, changed: readonly FactName[]): readonly MaskedLine[] {
  const own = changed.flatMap((name) => {
    const fact: Fact<unknown> | undefined = facts[name];
    return fact?.source.kind === 'file' && fact.source.place.file === file ? [{ value: fact.source.place.range, whole: fact.whole }] : [];
  });
  const cut = (ranges: readonly TextRange[]): readonly string[] => {
    const characters = text.split('');
    for (const { start, end } of ranges) for (let at = start; at < end; at += 1) if (characters[at] !== '\n') characters[at] = cutOut;
    return splitLines(characters.join(''));
  };
  const values = cut(own.map(({ value }) => value));
  const whole = cut(own.flatMap(({ value, whole: all }) => [value, ...(all === undefined ? [] : [all])]));
  return splitLines(text)
    .map((raw, line) => ({
      indent: raw.search(/\S|$/),
      raw: plain(raw),
      values: plain(values[line] ?? ''),
      whole: plain((whole[line] ?? '').replaceAll(cutOut, '')),
    }))
    .filter(({ raw }) => !header.test(raw));
}

/** The part of a line that counts: the backslash of a shell that continues it, and the N of `N-way` in a remark, go with the settings. */
function plain(line: string): string {
  return (
    line
      .replace(/[ \t]*\\?\r?\n$/, '')
      .replace(/(#.*)\b\d+-way\b/, '$1N-way')
      // the remark that the size is no longer that argument of the script
      .replace(/ # in place of \$\{?\d\}?$/, '')
      .trim()
  );
}

/** Lines that differ in more than a setting that was changed. */
function differingLines({ before, after }: WrittenFile, changed: readonly FactName[]): readonly string[] {
  const [old, next] = [maskedLines(before, changed), maskedLines(after, changed)];
  const removed: MaskedLine[] = [];
  const added: MaskedLine[] = [];
  let [at, to] = [0, 0];
  for (const { added: isNew, removed: isGone, count } of diffArrays(
    old.map(({ raw }) => raw),
    next.map(({ raw }) => raw),
  )) {
    if (isGone) removed.push(...old.slice(at, at + count));
    if (isNew) added.push(...next.slice(to, to + count));
    if (!isNew) at += count;
    if (!isGone) to += count;
  }
  const allAdded = new Set(added);
  const gone = removed.filter((line) => {
    const found = added.findIndex((other) => fits(line.values, other.raw) || fits(other.values, line.raw));
    if (found !== -1) added.splice(found, 1);
    return found === -1 && line.whole !== '' && !isUnused(line.raw, after.text);
  });
  // a section of YAML has no meaning without its settings, and one setting may be the first of its section or lie in braces of its own
  const isSetting = ({ values }: MaskedLine): boolean => /^("?[a-z]\w*"?: *\{? *)+\0+ *\}*,?$/i.test(values);
  const isSection = (line: MaskedLine): boolean => {
    const first = next[next.indexOf(line) + 1];
    if (!/^\w+:$/.test(line.raw) || first === undefined || !allAdded.has(first) || first.indent <= line.indent) return false;
    return isSetting(first) || isSection(first);
  };
  const isPartOfSection = (line: MaskedLine): boolean => /\.ya?ml$/.test(after.file) && (isSetting(line) || isSection(line));
  return [
    ...gone.map(({ raw }) => `a line is changed or gone: ${raw}`),
    ...added.filter((line) => line.whole !== '' && !isPartOfSection(line)).map(({ raw }) => `a line is added: ${raw}`),
  ];
}

/** Whether a line is another with other values of the settings. */
function fits(values: string, raw: string): boolean {
  if (!values.includes(cutOut)) return false;
  const parts = values.split(/\0+/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`).test(raw);
}

/** Whether a line defines a variable that is nowhere any more. */
function isUnused(raw: string, text: string): boolean {
  const [, name] = /^(\w+)=/.exec(raw) ?? [];
  return name !== undefined && !new RegExp(`\\b${name}\\b`).test(text);
}

function lineEndings(before: string, after: string): readonly string[] {
  const kinds = (text: string): string => `${/[^\r]\n/.test(text)}${text.includes('\r\n')}${text.endsWith('\n')}`;
  const own = new Set(splitLines(before));
  const trailing = splitLines(after).filter((line) => /[ \t]\r?\n$/.test(line) && !own.has(line));
  const blanks = splitLines(before).filter((line) => /[ \t]\r?\n$/.test(line)).length;
  return [
    ...(kinds(before) === kinds(after) ? [] : ['line endings differ']),
    ...(trailing.length === 0 || splitLines(after).filter((line) => /[ \t]\r?\n$/.test(line)).length <= blanks
      ? []
      : trailing.map((line) => `blanks end a line: ${line.trim()}`)),
  ];
}

/** Remarks behind a value that still name the one before. */
function staleRemarks({ before, after }: WrittenFile, changed: readonly FactName[]): readonly string[] {
  return changed.flatMap((name) => {
    const [old, next] = [before.facts[name], after.facts[name]] as (Fact<unknown> | undefined)[];
    if (next?.source.kind !== 'file' || typeof old?.value !== 'number') return [];
    const [line = ''] = splitLines(after.text.slice(next.source.place.range.end));
    const [, remark = ''] = /#(.*)/.exec(line) ?? [];
    return new RegExp(`(?<![\\w.])${old.value}(?![\\w.])`).test(remark) ? [`a remark names ${old.value} still: ${line.trim()}`] : [];
  });
}

/** Variables of a script that were used before, and no longer are. */
function unusedVariables(before: string, after: string): readonly string[] {
  const set = [...after.matchAll(/^[ \t]*(?:export[ \t]+)?(\w+)=/gm)].flatMap(([, name]) => name ?? []);
  const isUsed = (text: string, name: string): boolean => new RegExp(`\\$\\{?[!#]?${name}\\b|\\(\\(.*\\b${name}\\b`).test(text);
  return [...new Set(set)].filter((name) => isUsed(before, name) && !isUsed(after, name)).map((name) => `$${name} is left without use`);
}

/** Flags and keys that are in a file more often than before, and more than once. */
function repeatedFlags(before: string, after: string): readonly string[] {
  const counts = (text: string): ReadonlyMap<string, number> => {
    const found = new Map<string, number>();
    for (const [flag] of text.replaceAll(/^[ \t]*#.*$/gm, '').matchAll(/--[a-z][\w-]+/g)) found.set(flag, (found.get(flag) ?? 0) + 1);
    return found;
  };
  const own = counts(before);
  return [...counts(after)].flatMap(([flag, count]) =>
    count > 1 && count > (own.get(flag) ?? 0) && (own.get(flag) ?? 0) > 0 ? [`${flag} is written ${count} times`] : [],
  );
}

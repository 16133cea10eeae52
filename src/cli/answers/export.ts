import { fileStart } from '../../core/languages/json/document';
import { closest } from '../../core/suggest';
import { editedCopy } from '../../core/export/apply-layout';
import { editableFile, editLauncher, type EditableFile, type EditedLauncher } from '../../core/export/launchers/edit-launcher';
import { plannedStep, withSource } from '../../core/export/launchers/launch-settings';
import { remarkSeverity, type Remark } from '../../core/launchers/writing/remarks';
import { listedSlices } from '../../core/export/slices/runs';
import { isSplitsSource, patchedSplits } from '../../core/export/slices/patch';
import { unifiedDiff } from '../../core/export/line-diff';
import { ExpectedError, configError } from '../../core/errors';
import { formatDuration, plural } from '../../core/format';
import { isEditable, launcherFormats, launchers } from '../../core/launchers/registry';
import type { LauncherFormat } from '../../core/run/config-format';
import { readComposed } from '../../core/config-files/compose';
import type { LoadedConfig } from '../../core/config-files/load-config';
import { loadReader, recogniseConfig } from '../../core/config-files/readers';
import { mayFit } from '../../core/memory-model/verdict';
import { chosenCandidate, type Plan } from '../../core/planner/plan';
import { withChosen } from '../../core/planner/candidates/virtual-stages';
import { lineColumnAt, orList, printable, quoted } from '../../core/text';
import { findingLine, printedFinding, printedRemark, type Answer, type PrintedFinding } from '../answer';
import { exportFormatNamed, exportNames } from '../export-formats';
import type { ExportedFile } from '../export-writers';
import type { Planned } from '../../core/export/planned-config';
import { exitCodeFor } from '../planned';
import { readNamedFile, readReferenced, type SourceText } from '../read-file';
import { runtimeFiles } from '../../core/export/torch/folder';
import { readFolder } from '../../files/text-folder';
import type { Terminal } from '../terminal';
import { editFile, writeOut, writeOutFolder } from '../write-file';
import { anyOf, say, sentence } from '../../core/sentence';

/** Options of `export` in addition to a file. */
interface ExportOptions {
  /** Null: what `into` is. */
  readonly to: string | null;
  /** The id or name of a candidate to write instead of the chosen one. */
  readonly candidate: string | null;
  /** A file to change. */
  readonly into: string | null;
  readonly out: string | null;
  /** Change `into` in place; replace `out` where it exists. */
  readonly write: boolean;
}

/** What `export` needs of the host. */
interface ExportHost extends Pick<Terminal, 'shell' | 'torchFolder' | 'err'> {
  /** Texts by file, for lines of findings. */
  readonly texts: Map<string, string>;
}

/**
 * `terapipe export`: a candidate of a plan as a launcher's file, as edits of one, as a report, or its schedule as a file or a picture. A
 * file of the launcher that is exported to is copied with the plan written into it, so that the rest of its run stays.
 * Without `out` and `write` nothing is written: the file, or the difference, goes to standard output. What a format cannot express and
 * findings go to `err`.
 * @throws ExpectedError `export-*`, and as `readNamedFile` and the reader of `into`.
 */
export async function exportAnswer(config: LoadedConfig, planned: Planned, options: ExportOptions, host: ExportHost): Promise<Answer> {
  const { findings } = planned;
  const chosenPlan = options.candidate === null ? planned.plan : withCandidate(planned.plan, options.candidate);
  const plan = withSource(chosenPlan, config.launcher);
  const source = options.into === null ? null : await readNamedFile(options.into);
  if (source !== null) host.texts.set(source.file, source.text);
  const printed = findings.map((finding) => printedFinding(finding, host.texts));
  const { json, text, pieces, remarks, gaps } = await (source === null
    ? copyOrNewFile(config, plan, printed, options, host)
    : isSplitsSource(source.text)
      ? patched(plan, options, source)
      : changed(plan, options, source, host));
  for (const line of [...remarks, ...printed.map(findingLine)]) host.err(`${line}\n`);
  const chosen = chosenCandidate(plan);
  const { id, schedule } = chosen;
  const exitCode = exitCodeFor([...findings, ...gaps.map((gap) => ({ severity: remarkSeverity(gap) }))], mayFit(chosen));
  const answer = { json: { version: 1, candidate: id, schedule, ...json }, text, exitCode };
  return pieces === undefined ? answer : { ...answer, pieces };
}

/** The answer of one export format: its part of the JSON, its text, and further lines. */
interface ExportAnswer {
  readonly json: object;
  readonly text: string;
  readonly pieces?: Iterable<string>;
  readonly remarks: readonly string[];
  /** What the format does not express, which `remarks` lists too. */
  readonly gaps: readonly Remark[];
}

/** A copy of the file that is planned where it is of the launcher that is exported to, else a new file. */
async function copyOrNewFile(
  config: LoadedConfig,
  plan: Plan,
  findings: readonly PrintedFinding[],
  options: ExportOptions,
  host: ExportHost,
): Promise<ExportAnswer> {
  const own = await ownFile(config, options);
  return own === null ? newFile(plan, findings, options, host) : copied(plan, own, options);
}

/** The file that is planned, where it is one of the launcher that is exported to and can be edited; null: it is not. */
async function ownFile({ format, launcher, reread }: LoadedConfig, { to }: ExportOptions): Promise<EditableFile | null> {
  const isOwn = to !== null && exportFormatNamed(to).into.includes(format);
  return isOwn && launcher !== null && reread !== null ? editableFile(launcher, reread) : null;
}

/** A copy of the file that is planned, with the plan written into it. */
async function copied(plan: Plan, editable: EditableFile, { to, out, write }: ExportOptions): Promise<ExportAnswer> {
  const { file, format } = editable.launcher;
  const edited = editedCopy(plannedStep(plan), editable);
  const { text } = edited;
  if (out !== null) await writeOut(out, text, write);
  const json = { to, from: file, format, written: out, ...editJson(edited), runs: writtenRun(plan) };
  const remarks = editLines(plan, file, edited, out ?? file);
  return out === null
    ? { json, text: '', pieces: [text], remarks, gaps: edited.gaps }
    : { json: { ...json, text: null }, text: `Wrote ${printable(out)}`, remarks, gaps: edited.gaps };
}

async function newFile(
  plan: Plan,
  findings: readonly PrintedFinding[],
  { to, out, write }: ExportOptions,
  { shell, torchFolder }: ExportHost,
): Promise<ExportAnswer> {
  const name = to ?? 'html';
  const { pieces, gaps, runs, second, files } = await exportFormatNamed(name).create(plan, findings, shell);
  const remarks = gapLines(plan, gaps, runs);
  const ran = { runs: writtenRun(plan, runs) };
  if (out === null) {
    const lengths = second === undefined ? {} : { beside: second.text };
    return { json: { to: name, written: null, gaps: gaps.map(gapJson), ...ran, ...lengths }, text: '', pieces, remarks, gaps };
  }
  const json = { to: name, text: null, written: out, gaps: gaps.map(gapJson), ...ran };
  if (files !== undefined) {
    const folder = new Map([...files, ...(await readFolder(torchFolder, runtimeFiles))]);
    await writeOutFolder(out, folder, write);
    return { json: { ...json, files: [...folder.keys()] }, text: `Wrote ${printable(out)}: start it with run.sh`, remarks, gaps };
  }
  await writeOut(out, pieces, write);
  if (second !== undefined) await writeOut(out + second.ending, second.text, write);
  return { json, text: `Wrote ${printable(out)}`, remarks, gaps };
}

/** What the written file runs: the chosen candidate, or what a launcher runs in its place. */
function writtenRun(plan: Plan, runs: ExportedFile['runs'] = chosenCandidate(plan)): object {
  const { name, schedule, iterationMs, scheme } = runs;
  const [first] = scheme;
  return { name, schedule, iterationMs, slices: first?.tokens ?? [] };
}

async function changed(plan: Plan, { to, write, out }: ExportOptions, source: SourceText, { shell }: ExportHost): Promise<ExportAnswer> {
  const { file, text } = source;
  const { name, format } = resolveTarget(source, to);
  const { launcher, reread } = await readComposed({ file, text }, await loadReader(format, shell), readReferenced);
  const editable = await editableFile(launcher, reread);
  if (editable === null) throw notEditable(file);
  const edited = editLauncher(plannedStep(plan), editable);
  const written = out ?? (write && edited.edits.length > 0 ? file : null);
  if (out !== null) await writeOut(out, edited.text, write);
  else if (written !== null) await editFile(file, text, edited.text);
  const diff = unifiedDiff(text, edited.text, printable(file), printable(file));
  return {
    json: {
      to: name,
      into: file,
      format,
      ...editJson(edited),
      alongside: edited.alongside,
      edits: placed(text, edited),
      diff,
      written,
    },
    text: written === null ? withoutLastBreak(diff) : `Wrote ${printable(written)}`,
    remarks: editLines(plan, file, edited, written),
    gaps: edited.gaps,
  };
}

/**
 * A list of slice lengths in the function of a runtime's source that returns them, as a difference: the plan's own where all micro-batches
 * are cut alike, else the best that is known.
 */
async function patched(plan: Plan, { to, write, out }: ExportOptions, { file, text }: SourceText): Promise<ExportAnswer> {
  const { runs, lengths } = listedSlices(plan, to);
  const next = patchedSplits(file, text, lengths);
  const written = out ?? (write ? file : null);
  if (out !== null) await writeOut(out, next, write);
  else if (written !== null) await editFile(file, text, next);
  const diff = unifiedDiff(text, next, printable(file), printable(file));
  const { iterationMs, name } = chosenCandidate(runs);
  const remarks = [
    `${file}: returns ${lengths.join(', ')} where a run has ${plural(lengths.length, 'slice')} of the rule uniform_comp, and these tokens`,
    `predicted with it: ${say(name)}, ${formatDuration(iterationMs)} a step`,
    ...(written === null ? ['nothing is written without --write or --out'] : []),
  ];
  return {
    json: { to, into: file, format: 'python', gaps: [], runs: writtenRun(plan, chosenCandidate(runs)), diff, written },
    text: written === null ? withoutLastBreak(diff) : `Wrote ${printable(written)}`,
    remarks: remarks.map(printable),
    gaps: [],
  };
}

/** A plan as if it had chosen the candidate of an id (in any case), a name or a schedule. */
function withCandidate(plan: Plan, wanted: string): Plan {
  const same = (text: string): boolean => text.toLowerCase() === wanted.trim().toLowerCase();
  const { candidates } = plan;
  const found =
    candidates.find(({ id }) => same(id)) ??
    candidates.find(({ name }) => same(say(name))) ??
    candidates.find(({ schedule, timeline }) => same(schedule) || same(timeline?.name ?? ''));
  if (found !== undefined) return withChosen(plan, found);
  const ids = candidates.map(({ id }) => id);
  const meant = closest(wanted, ids);
  throw new ExpectedError(
    'export-no-candidate',
    sentence`The plan has no candidate ${quoted(wanted)}`,
    meant === null ? sentence`use ${orList(ids)}, or plan with --schedule` : sentence`did you mean ${meant}? There are ${orList(ids)}`,
  );
}

/** Programs whose files plans are written into. */
const editableLaunchers = [...new Set(launcherFormats.filter(isEditable).map((format) => launchers[format].capabilities.name))];

function notEditable(file: string): ExpectedError {
  return configError(
    'config-unknown-format',
    sentence`This is not a launcher that a plan can be written into`,
    sentence`name a file of ${anyOf(editableLaunchers)}`,
    fileStart(file),
  );
}

/** The launcher that a file is of. @throws ExpectedError when it is none, or not the one asked for. */
function resolveTarget({ file, text }: SourceText, to: string | null): { readonly name: string; readonly format: LauncherFormat } {
  const format = recogniseConfig(file, text, 'named');
  if (format === null || !isEditable(format)) throw notEditable(file);
  const name = exportNames.find((entry) => exportFormatNamed(entry).into.includes(format)) ?? format;
  if (to !== null && to !== name)
    throw new ExpectedError(
      'export-other-format',
      sentence`${file} is a file of ${name}, not of ${to}`,
      exportNames.includes(name) ? sentence`give --to ${name}, or leave it out` : sentence`leave --to out`,
      fileStart(file),
    );
  return { name, format };
}

function editLines(
  plan: Plan,
  file: string,
  { set, kept, gaps, alongside, edits }: EditedLauncher,
  written: string | null,
): readonly string[] {
  const hint = written === null && edits.length > 0 ? '; nothing is written without --write or --out' : '';
  const summary =
    edits.length === 0
      ? `nothing to change, ${plural(kept.length, 'setting')} as planned`
      : `${plural(set.length, 'setting')} changed, ${kept.length} as planned`;
  return [printable(`${file}: ${summary}${hint}`), ...alongside.map((line) => printable(`changes too: ${line}`)), ...gapLines(plan, gaps)];
}

function editJson({ set, kept, gaps }: EditedLauncher): object {
  return { set: set.map((each) => say(each)), kept: kept.map((each) => say(each)), gaps: gaps.map(gapJson) };
}

function gapJson(gap: Remark): object {
  return { what: say(gap.what), reason: say(gap.reason), severity: remarkSeverity(gap) };
}

/** What is missing, and what runs instead of a schedule that a launcher does not have. */
function gapLines(plan: Plan, gaps: readonly Remark[], runs?: ExportedFile['runs']): readonly string[] {
  const lines = gaps.map(printedRemark);
  const chosen = chosenCandidate(plan);
  const instead = plan.candidates.find(({ id }) => id === '1f1b');
  const isMissing = gaps.some(({ what }) => say(what).includes(chosen.schedule)) && chosen.id !== instead?.id;
  if (!isMissing || instead === undefined) return lines;
  if (runs !== undefined) return lines; // the remark itself names what runs, with its time
  const times = `${formatDuration(instead.iterationMs)} a step, not ${formatDuration(chosen.iterationMs)}`;
  return [...lines, printable(`with 1F1B instead: ${times}; --candidate 1f1b exports that`)];
}

/** Edits with lines and columns from 1. */
function placed(text: string, { edits }: EditedLauncher): readonly object[] {
  return edits.map(({ place: { range }, newText }) => {
    const [start, end] = [lineColumnAt(text, range.start), lineColumnAt(text, range.end)];
    return { ...start, endLine: end.line, endColumn: end.column, newText };
  });
}

/** Answers are printed with a line break behind them. */
function withoutLastBreak(text: string): string {
  return text.endsWith('\n') ? text.slice(0, -1) : text;
}

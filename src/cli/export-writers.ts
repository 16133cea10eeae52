import type { LauncherReader } from '../core/run/facts';
import { torchFolder } from '../core/export/torch/folder';
import { sliceExports } from '../core/export/slices/registry';
import { candidateTrace } from '../core/export/chrome-trace';
import { planHtml } from '../core/export/html/report';
import type { LauncherFormat } from '../core/run/config-format';
import { launchableStep } from '../core/export/launchers/launchable';
import { checkedNewLauncher, newFileWriter } from '../core/export/launchers/new-launcher';
import { stepTail } from '../core/planner/explain/tail';
import { timelineSvgPieces } from '../core/export/svg';
import { ExpectedError } from '../core/errors';
import { hasSlices, slicesEnding, slicesText } from '../core/export/slices/slices-file';
import { formatCount } from '../core/format';
import { loadReader } from '../core/config-files/readers';
import { chosenCandidate, type Candidate, type Plan } from '../core/planner/plan';
import { maximumTimelineOperations } from '../core/planner/predict/predict';
import { scheduleKind } from '../core/schedules/registry';
import { writeScheduleCsv } from '../core/schedules/pytorch-csv/write';
import type { Timeline } from '../core/schedules/schedule';
import { whereText, type PrintedFinding } from './answer';
import { counted, say, sentence } from '../core/sentence';
import type { Remark } from '../core/launchers/writing/remarks';

/** A file made of a plan. */
export interface ExportedFile {
  /** Of its text, in order: what a long one is made of is never whole in memory. Taken once. */
  readonly pieces: Iterable<string>;
  /** A name that its launcher or runtime knows it by. */
  readonly fileName?: string;
  /** What the format does not support. */
  readonly gaps: readonly Remark[];
  /** A second file of the export, under the same name with its own ending. */
  readonly second?: { readonly ending: string; readonly text: string };
  /** Instead of pieces: files of a folder by name, which the sources of the PyTorch runtime are added to. */
  readonly files?: ReadonlyMap<string, string>;
  /** What the file will run, where that is not the plan's chosen candidate. */
  readonly runs?: Pick<Candidate, 'name' | 'schedule' | 'iterationMs' | 'scheme'>;
}

/** What is written of a plan's chosen candidate. @throws ExpectedError where this plan cannot be written so. */
const ownWriters = {
  html: report,
  'pytorch-csv': (plan) => scheduleCsv(plan, (timeline) => writeScheduleCsv(timeline, 'compute_only')),
  'pytorch-csv-comms': (plan) => scheduleCsv(plan, (timeline) => writeScheduleCsv(timeline, 'compute_comms', '2.15')),
  'pytorch-csv-comms-2.14': (plan) => scheduleCsv(plan, (timeline) => writeScheduleCsv(timeline, 'compute_comms', '2.14')),
  'chrome-trace': (plan) => ofTimeline(plan, trace),
  svg: (plan) => ofTimeline(plan, picture),
  torchrun,
} satisfies Readonly<Record<string, (plan: Plan, findings: readonly PrintedFinding[]) => ExportedFile>>;

/** A format that no launcher or runtime reads. */
export type OwnFormat = keyof typeof ownWriters;

/** One of our formats. @throws ExpectedError `export-no-timeline`, and as `torchFolder`. */
export function ownFile(format: OwnFormat, plan: Plan, findings: readonly PrintedFinding[]): ExportedFile {
  return ownWriters[format](plan, findings);
}

/** What slices are written as. @param id as `sliceExports` has it. @throws ExpectedError `export-slices`. */
export async function sliceFile(id: string, plan: Plan, shell: () => Promise<LauncherReader>): Promise<ExportedFile> {
  const format = sliceExports.find((each) => each.id === id);
  if (format === undefined) throw new Error(`no slices are written as ${id}`);
  const { text, gaps, runs } = await format.write(plan, () => loadReader('megatron-shell', shell));
  return { pieces: [text], gaps, runs: chosenCandidate(runs) };
}

/** A launcher's new file. @throws ExpectedError as `launchableStep` and `checkedNewLauncher`. */
export async function launcherFile(format: LauncherFormat, plan: Plan, shell: () => Promise<LauncherReader>): Promise<ExportedFile> {
  const step = launchableStep(plan, format);
  const { text, gaps, fileName } = checkedNewLauncher(step, await newFileWriter(format), await loadReader(format, shell));
  return { pieces: [text], fileName, gaps, ...(step.plan.replaced === undefined ? {} : { runs: { ...step, name: step.schedule } }) };
}

function report(plan: Plan, findings: readonly PrintedFinding[]): ExportedFile {
  const shown = findings.map((finding) => ({ ...finding, where: whereText(finding) }));
  return { pieces: [planHtml(plan, shown)], gaps: [] };
}

function ofTimeline(plan: Plan, write: (timeline: Timeline, candidate: Candidate, plan: Plan) => string | Iterable<string>): ExportedFile {
  const candidate = chosenCandidate(plan);
  if (candidate.timeline === null)
    throw new ExpectedError(
      'export-no-timeline',
      sentence`This schedule has more than ${formatCount(maximumTimelineOperations)} operations, too many to write one by one`,
      sentence`export html for its numbers, or raise training.microBatch or lower training.globalBatch`,
    );
  const text = write(candidate.timeline, candidate, plan);
  return { pieces: typeof text === 'string' ? [text] : text, gaps: [] };
}

/** PyTorch's runtime has no slices: they are written to a file next to the CSV. */
function scheduleCsv(plan: Plan, write: (timeline: Timeline) => string): ExportedFile {
  const { schedule, timeline } = chosenCandidate(plan);
  const written = ofTimeline(plan, write);
  const made = timeline?.copies === undefined ? written : { ...written, gaps: [...written.gaps, copiesGap] };
  const { name, units } = timeline ?? { name: '', units: [] };
  if (!scheduleKind(schedule).sliced && !hasSlices(units)) return made;
  const what = sentence`lengths of the ${counted(units.length, 'slice')}`;
  const reason = sentence`PyTorch has no token slices: this CSV counts them as micro-batches; --out also writes a file *${slicesEnding}`;
  return { ...made, gaps: [...made.gaps, { what, reason }], second: { ending: slicesEnding, text: slicesText(name, units) } };
}

const copiesGap: Remark = {
  what: sentence`copies of activations that leave a stage`,
  reason: sentence`PyTorch makes none: it runs this order in more memory than planned`,
};

function torchrun(plan: Plan): ExportedFile {
  const { files, gaps } = torchFolder(plan);
  return { pieces: [], gaps, files };
}

function exportTitle(plan: Plan, { name }: Candidate): string {
  return `${plan.request.title}: ${say(name)}`;
}

function trace(timeline: Timeline, candidate: Candidate, plan: Plan): Iterable<string> {
  return candidateTrace(candidate, timeline, exportTitle(plan, candidate));
}

/** Light, as for a page of paper; the report follows the reader's theme. */
const colors = {
  background: '#ffffff',
  foreground: '#1b1f24',
  dim: '#57606a',
  line: '#d0d7de',
  forward: '#2f6fd0',
  backward: '#c46a12',
  backwardWeight: '#8f6b4a',
  gradientExchange: '#7a4fc0',
  optimizer: '#8a6d00',
  copies: '#1f8a8a',
};

function picture(timeline: Timeline, candidate: Candidate, plan: Plan): Iterable<string> {
  return timelineSvgPieces(timeline, { title: exportTitle(plan, candidate), widthPx: 1200, colors, tail: stepTail(timeline, candidate) });
}

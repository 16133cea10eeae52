import type { LauncherReader } from '../core/run/facts';
import { torchFolder } from '../core/export/torch/folder';
import type { SliceExport } from '../core/export/slices/slice-export';
import { candidateTrace } from '../core/export/chrome-trace';
import { planHtml } from '../core/export/html/report';
import type { ConfigFormat } from '../core/run/config-format';
import { sliceExports } from '../core/export/slices/registry';
import type { Remark } from '../core/launchers/writing/launch-settings';
import { launchableStep } from '../core/export/launchers/launchable';
import { checkedNewLauncher, newFileLaunchers, newFileWriter } from '../core/export/launchers/new-launcher';
import { stepTail } from '../core/planner/explain/tail';
import { timelineSvg } from '../core/export/svg';
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

/** One thing that `export --to` writes. */
interface ExportFormat {
  readonly description: string;
  /** It writes a folder of files. */
  readonly isFolder?: true;
  /**
   * Of the plan's chosen candidate.
   * @throws ExpectedError where this plan cannot be written so.
   */
  readonly create: (
    plan: Plan,
    findings: readonly PrintedFinding[],
    shell: () => Promise<LauncherReader>,
  ) => ExportedFile | Promise<ExportedFile>;
  /** Files that `--into` takes for it; empty: none. */
  readonly into: readonly ConfigFormat[];
}

const ownFormats: Readonly<Record<string, ExportFormat>> = {
  html: notEditable('a report to send around, in one page', report),
  'pytorch-csv': scheduleCsv("the order as PyTorch's CSV, passes only", (timeline) => writeScheduleCsv(timeline, 'compute_only')),
  'pytorch-csv-comms': scheduleCsv('with sends and receives, for PyTorch 2.15', (timeline) =>
    writeScheduleCsv(timeline, 'compute_comms', '2.15'),
  ),
  'pytorch-csv-comms-2.14': scheduleCsv('those for PyTorch 2.14 and older', (timeline) =>
    writeScheduleCsv(timeline, 'compute_comms', '2.14'),
  ),
  'chrome-trace': ofTimeline('the timeline for Perfetto, with memory', trace),
  svg: ofTimeline('the timeline as a picture', picture),
  torchrun: { ...notEditable('a folder that trains the plan with PyTorch', torchrun), isFolder: true },
};

/** Everything that `export --to` writes, by name: launchers' files, ours, and what slices are written as. */
const exportFormats: ReadonlyMap<string, ExportFormat> = new Map([
  ...newFileLaunchers.map(launcherFile),
  ...Object.entries(ownFormats),
  ...sliceExports.map((sliceExport): [string, ExportFormat] => [sliceExport.id, sliceFormat(sliceExport)]),
]);

export const exportNames: readonly string[] = [...exportFormats.keys()];

/** @throws Error for a name that is none of `exportNames`. */
export function exportFormatNamed(name: string): ExportFormat {
  const format = exportFormats.get(name);
  if (format === undefined) throw new Error(`no export format is called ${name}`);
  return format;
}

function sliceFormat({ description, write }: SliceExport): ExportFormat {
  return notEditable(description, async (plan, _, shell) => {
    const { text, gaps, runs } = await write(plan, () => loadReader('megatron-shell', shell));
    return { pieces: [text], gaps, runs: chosenCandidate(runs) };
  });
}

function launcherFile({ format, id, name, what, edits }: (typeof newFileLaunchers)[number]): [string, ExportFormat] {
  const create: ExportFormat['create'] = async (plan, _, shell) => {
    const step = launchableStep(plan, format);
    const { text, gaps, fileName } = checkedNewLauncher(step, await newFileWriter(format), await loadReader(format, shell));
    return { pieces: [text], fileName, gaps, ...(step.plan.replaced === undefined ? {} : { runs: { ...step, name: step.schedule } }) };
  };
  return [id, { description: `${say(what)} of ${name}`, create, into: edits }];
}

function notEditable(description: string, create: ExportFormat['create']): ExportFormat {
  return { description, create, into: [] };
}

function report(plan: Plan, findings: readonly PrintedFinding[]): ExportedFile {
  const shown = findings.map((finding) => ({ ...finding, where: whereText(finding) }));
  return { pieces: [planHtml(plan, shown)], gaps: [] };
}

function ofTimeline(
  description: string,
  write: (timeline: Timeline, candidate: Candidate, plan: Plan) => string | Iterable<string>,
): ExportFormat {
  return notEditable(description, (plan): ExportedFile => {
    const candidate = chosenCandidate(plan);
    if (candidate.timeline === null)
      throw new ExpectedError(
        'export-no-timeline',
        sentence`This schedule has more than ${formatCount(maximumTimelineOperations)} operations, too many to write one by one`,
        sentence`export html for its numbers, or raise training.microBatch or lower training.globalBatch`,
      );
    const text = write(candidate.timeline, candidate, plan);
    return { pieces: typeof text === 'string' ? [text] : text, gaps: [] };
  });
}

/** PyTorch's runtime has no slices: they are written to a file next to the CSV. */
function scheduleCsv(description: string, write: (timeline: Timeline) => string): ExportFormat {
  const csv = ofTimeline(description, write);
  const create: ExportFormat['create'] = async (plan, ...others) => {
    const made = await csv.create(plan, ...others);
    const { schedule, timeline } = chosenCandidate(plan);
    const { name, units } = timeline ?? { name: '', units: [] };
    if (!scheduleKind(schedule).sliced && !hasSlices(units)) return made;
    const what = sentence`lengths of the ${counted(units.length, 'slice')}`;
    const reason = sentence`PyTorch has no token slices: this CSV counts them as micro-batches; --out also writes a file *${slicesEnding}`;
    return { ...made, gaps: [...made.gaps, { what, reason }], second: { ending: slicesEnding, text: slicesText(name, units) } };
  };
  return { ...csv, create };
}

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
};

function picture(timeline: Timeline, candidate: Candidate, plan: Plan): string {
  return timelineSvg(timeline, { title: exportTitle(plan, candidate), widthPx: 1200, colors, tail: stepTail(timeline, candidate) });
}

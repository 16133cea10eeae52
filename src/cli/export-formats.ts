import type { LauncherReader } from '../core/run/facts';
import type { ConfigFormat, LauncherFormat } from '../core/run/config-format';
import { sliceExports } from '../core/export/slices/registry';
import { newFileLaunchers } from '../core/export/export-menu';
import type { Run } from '../core/run/run';
import type { Plan } from '../core/planner/plan';
import type { PrintedFinding } from './answer';
import type { ExportedFile, OwnFormat } from './export-writers';
import { say } from '../core/sentence';

/** One thing that `export --to` writes. */
interface ExportFormat {
  readonly description: string;
  /** It writes a folder of files. */
  readonly isFolder?: true;
  /** It shows nothing of what the plan is compared with. */
  readonly isOfChosen?: true;
  /**
   * Of the plan's chosen candidate.
   * @throws ExpectedError where this plan cannot be written so.
   */
  readonly create: (plan: Plan, findings: readonly PrintedFinding[], shell: () => Promise<LauncherReader>) => Promise<ExportedFile>;
  /** Refuses a run whose plans cannot be written in this format, before any is made. */
  readonly requirePlannable?: (run: Run) => Promise<void>;
  /** Whose file it is; absent: it belongs to no launcher. */
  readonly launcher?: LauncherFormat;
  /** Files that `--into` takes for it; empty: none. */
  readonly into: readonly ConfigFormat[];
}

/** Ours, and what each is. */
const ownFormats: Readonly<Record<OwnFormat, string>> = {
  html: 'a report to send around, in one page',
  'pytorch-csv': "the order as PyTorch's CSV, passes only",
  'pytorch-csv-comms': 'with sends and receives, for PyTorch 2.15',
  'pytorch-csv-comms-2.14': 'those for PyTorch 2.14 and older',
  'chrome-trace': 'the timeline for Perfetto, with memory',
  svg: 'the timeline as a picture',
  torchrun: 'a folder that trains the plan with PyTorch',
};

/** Everything that `export --to` writes, by name: launchers' files, ours, and what slices are written as. */
const exportFormats: ReadonlyMap<string, ExportFormat> = new Map([
  ...newFileLaunchers.map(({ format, id, name, what, edits }): [string, ExportFormat] => [
    id,
    {
      description: `${say(what)} of ${name}`,
      create: async (plan, _, shell) => (await import('./export-writers')).launcherFile(format, plan, shell),
      launcher: format,
      into: edits,
    },
  ]),
  ...Object.entries(ownFormats).map(([id, description]): [string, ExportFormat] => [id, ownFormat(id as OwnFormat, description)]),
  ...sliceExports.map(({ id, description, requirePlannable }): [string, ExportFormat] => [
    id,
    {
      description,
      ...(requirePlannable && { requirePlannable }),
      create: async (plan, _, shell) => (await import('./export-writers')).sliceFile(id, plan, shell),
      into: [],
    },
  ]),
]);

export const exportNames: readonly string[] = [...exportFormats.keys()];

/** @throws Error for a name that is none of `exportNames`. */
export function exportFormatNamed(name: string): ExportFormat {
  const format = exportFormats.get(name);
  if (format === undefined) throw new Error(`no export format is called ${name}`);
  return format;
}

function ownFormat(id: OwnFormat, description: string): ExportFormat {
  const create: ExportFormat['create'] = async (plan, findings) => (await import('./export-writers')).ownFile(id, plan, findings);
  return {
    description,
    ...(id === 'torchrun' ? { isFolder: true } : {}),
    ...(id === 'svg' || id === 'chrome-trace' ? { isOfChosen: true } : {}),
    create,
    into: [],
  };
}

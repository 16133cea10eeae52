import { isLauncher, launchers } from '../launchers/registry';
import type { ConfigFormat } from '../run/config-format';

/** A file of a folder with what it was found to be. */
export interface LookedFile {
  readonly file: string;
  /** Null: it is not a config that is read. */
  readonly format: ConfigFormat | null;
  readonly isPlanned: boolean;
  /** What keeps a config from being planned; absent: nothing, or it is none. */
  readonly reason?: string;
  /** It is not read, and starts or sets up a training run all the same. */
  readonly trains?: boolean;
}

/** How many files there are of a kind. */
export interface Counted {
  readonly name: string;
  readonly count: number;
}

/** What a folder holds: configs by program, those that are not planned by reason, and what is not read. */
export interface FolderSummary {
  readonly recognised: readonly Counted[];
  readonly planned: number;
  readonly unplanned: readonly Counted[];
  readonly unrecognised: readonly Counted[];
  /** Files that look like training and are of no launcher that is read. */
  readonly training: readonly string[];
}

/** Most kinds that are named; the others are counted together. */
const mostKinds = 6;

export function summariseFolder(files: readonly LookedFile[]): FolderSummary {
  const configs = files.filter(({ format }) => format !== null);
  const others = files.filter(({ format }) => format === null);
  return {
    recognised: countNames(configs.flatMap(({ format }) => (format === null ? [] : [programName(format)]))),
    planned: configs.filter(({ isPlanned }) => isPlanned).length,
    unplanned: countNames(configs.flatMap(({ reason }) => reason ?? [])),
    unrecognised: countNames(others.map(({ file }) => fileEnding(file))),
    training: others.filter(({ trains }) => trains === true).map(({ file }) => file),
  };
}

/** The most frequent first; of more kinds than are named the rest in one. */
function countNames(names: readonly string[]): readonly Counted[] {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  const all = [...counts].map(([name, count]) => ({ name, count })).sort((a, b) => b.count - a.count || (a.name < b.name ? -1 : 1));
  if (all.length <= mostKinds) return all;
  const rest = all.slice(mostKinds - 1).reduce((sum, { count }) => sum + count, 0);
  return [...all.slice(0, mostKinds - 1), { name: 'others', count: rest }];
}

function programName(format: ConfigFormat): string {
  if (isLauncher(format)) return launchers[format].capabilities.name;
  return format === 'huggingface' ? 'config.json of Hugging Face' : 'terapipe.json';
}

function fileEnding(file: string): string {
  return /\.[^./\\]+$/.exec(file)?.[0].toLowerCase() ?? 'no ending';
}

/** What starts processes of a training run, or sets how it learns. */
const startsTraining = /\b(?:torchrun|torch\.distributed\.(?:run|launch)|accelerate\s+launch|deepspeed\s+--|srun\b[^\n]{0,200}\btrain)/;
const learns = /\b(?:learning_rate|lr|max_lr)["']?\s*[:=]/;
const batches = /\b\w*batch_?size\w*["']?\s*[:=]/i;

/** Whether a text that is not read looks like a training run: it starts processes of one, or sets a batch and a learning rate. */
export function looksLikeTraining(text: string): boolean {
  const head = text.slice(0, 65_536);
  return startsTraining.test(head) || (learns.test(head) && batches.test(head));
}

import { configError, ExpectedError } from '../../../core/errors';
import { loadConfig, type LoadedConfig } from '../../../core/config-files/load-config';
import { planRun, requireRun, type Planned } from '../../../core/export/planned-config';
import { fileStart } from '../../../core/languages/json/document';
import { noMachine, onMachine, requireSizesOn } from '../../../core/plan-request/machine';
import { assumedGpuName, type ResolveDefaults } from '../../../core/plan-request/scenario';
import type { Run } from '../../../core/run/run';
import { sentence } from '../../../core/sentence';
import { applyOverrides, settingTexts } from '../../../core/terapipe/overrides';
import type { ConfigQuestion } from './input';
import type { SourceText, ToolHost } from './tool';

/** What holds where neither the file, the question nor a face has a setting. */
export const usualDefaults: ResolveDefaults = {
  gpu: assumedGpuName,
  nodes: null,
  gpusPerNode: null,
  reasons: {
    gpu: sentence`no file names a GPU; set it with "gpu"`,
    nodes: sentence`set by "nodes"`,
    gpusPerNode: sentence`set by "cluster.gpusPerNode"`,
  },
};

/** A config as it was asked for, with every text that was read. */
export interface LoadedQuestion {
  readonly config: LoadedConfig;
  readonly texts: ReadonlyMap<string, string>;
}

/** The settings of a question, as `key=value`. */
function questionSettings({ gpu, nodes, set = {} }: Pick<ConfigQuestion, 'gpu' | 'nodes' | 'set'>): readonly string[] {
  return settingTexts([
    ...(gpu === undefined ? [] : [['cluster.gpu', gpu] as const]),
    ...(nodes === undefined ? [] : [['cluster.nodes', nodes] as const]),
    ...Object.entries(set),
  ]);
}

/** The text that a question names. @throws ExpectedError as `host.open`; `agent-question` where it names none or two. */
async function openAsked({ path, text, name }: Pick<ConfigQuestion, 'path' | 'text' | 'name'>, host: ToolHost): Promise<SourceText> {
  if (path !== undefined && text === undefined) return host.open(path);
  if (text !== undefined && path === undefined) return { file: name ?? nameOfText(text), text };
  throw new ExpectedError(
    'agent-question',
    path === undefined ? sentence`No config is given` : sentence`Both path and text are given`,
    sentence`give either path, or text with name`,
  );
}

/** A name that readers recognise a text by, where none is given. */
function nameOfText(text: string): string {
  if (/^\s*\{/.test(text)) return 'config.json';
  if (/^\s*\[[\w.]+\]\s*$/m.test(text)) return 'train.toml';
  if (/^#!|^\s*(?:torchrun|python3?|deepspeed|accelerate|srun)\s|\\\s*\n\s*--/m.test(text)) return 'train.sh';
  return 'train.yaml';
}

/** Reads a config with what it refers to, and the settings and machine of the question. @throws ExpectedError as its readers. */
export async function loadAsked(asked: ConfigQuestion, host: ToolHost): Promise<LoadedQuestion> {
  const source = await openAsked(asked, host);
  const texts = new Map([[source.file, source.text]]);
  const read: ToolHost['read'] = async (from, path) => {
    const found = await host.read(from, path);
    texts.set(found.file, found.text);
    return found;
  };
  const config = await loadConfig(source.file, source.text, { read, shell: host.shell }, { withProfile: true });
  const { run } = config;
  return { config: run === null ? config : { ...config, run: runAsked(run, asked), fileRun: run }, texts };
}

/** A run with what is asked of it. @throws ExpectedError as `onMachine` and `applyOverrides`. */
function runAsked(run: Run, asked: ConfigQuestion): Run {
  const machine = { ...noMachine, gpus: asked.gpus ?? null };
  const set = applyOverrides(run, questionSettings(asked), assumedGpuName);
  const placed = onMachine(set, machine, assumedGpuName);
  requireSizesOn(placed, machine, assumedGpuName);
  return placed;
}

/** A config with its plan. */
export interface PlannedQuestion extends LoadedQuestion {
  readonly planned: Planned;
}

/** Plans a config as it is asked for. @param isCompared with the schedules that are not chosen. @throws ExpectedError as `planRun`. */
export async function planAsked(asked: ConfigQuestion, host: ToolHost, isCompared = false): Promise<PlannedQuestion> {
  const loaded = await loadAsked(asked, host);
  const { defaults, signal, progress } = host;
  return { ...loaded, planned: planRun(loaded.config, defaults, { signal, progress, isCompared }) };
}

/** The run of a config that may be planned. @throws ExpectedError as `requireRun`. */
export function askedRun({ config }: LoadedQuestion): Run {
  return requireRun(config);
}

/** A file that may not be read. */
export function outside(path: string): ExpectedError {
  return configError(
    'config-unreadable',
    sentence`The file is outside the folders that may be read`,
    sentence`name a file inside the workspace, or give its text`,
    fileStart(path),
  );
}

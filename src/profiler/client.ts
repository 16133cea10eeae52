import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { CancelledError, ExpectedError } from '../core/errors';
import type { Cell, LaunchFloor, ProfileDevice, ProviderName } from '../core/domain/profile';
import type { PlacedOperator, ProfilerJob, ProfilerReply, TimedPart } from '../protocol/profiler';
import { cleaned, diagnoseRefusal, type Refusal } from './diagnose';
import { installedLibraries } from './libraries';
import { failureKind } from './memory';
import { lastLine, startProfilerProcess, type ProfilerProcess, type ProfilerRequestBody } from './process';
import { deviceWarnings, placementWarnings, providerTitles, runsOn } from './providers';
import { sentence } from '../core/sentence';
import { own } from '../core/records';

export type { Refusal } from './diagnose';

interface ProfilerOptions {
  /** The bundled child, `dist/profiler.js`. */
  readonly childFile: string;
  /** Tried in this order, each in a child of its own; the first that runs the layer is kept. */
  readonly providers: readonly ProviderName[];
  readonly signal?: AbortSignal | undefined;
  /** Folders to look for native libraries (CUDA, cuDNN) in, before those of the environment. */
  readonly libraryPath?: readonly string[] | undefined;
  /** Added to the environment of the child. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly limits?: Partial<ProfilerLimits> | undefined;
}

/** Limits that the parent sets. */
interface ProfilerLimits {
  /** Longest wait for a provider to load and run the smallest slice, ms. */
  readonly openMs: number;
  /** Longest wait for one measurement, its warm-up runs included, ms. */
  readonly measureMs: number;
  /** A child may grow to twice its memory after the first round, or to twice this if that is more. */
  readonly memoryBytes: number;
}

const defaultLimits: ProfilerLimits = { openMs: 5 * 60_000, measureMs: 10 * 60_000, memoryBytes: 2 ** 30 };

/** Times of one run of a cell, ms, or why it has none. */
type CellAnswer = Extract<ProfilerReply, { readonly type: 'measured' | 'skipped' }>;

interface Placement {
  readonly operators: readonly PlacedOperator[];
  readonly warnings: readonly string[];
  readonly launches: LaunchFloor;
}

/** A provider that runs the layer. One call at a time. */
export interface OpenProfiler {
  readonly provider: ProviderName;
  readonly device: ProfileDevice;
  /** Operators that run the attention. */
  readonly attention: { readonly forward: string; readonly backward: string };
  readonly versions: Readonly<Record<string, string>>;
  readonly tf32: boolean | null;
  /** Providers before it that do not load. */
  readonly refused: readonly Refusal[];
  /** Sentences on what to distrust from the start: a software adapter. */
  readonly warnings: readonly string[];
  /**
   * Runs the cell once, forward and backward (the first time warmed up before). A cell that does not fit into memory or fails is an answer.
   * Rejects with CancelledError (under 200 ms after the signal) or with ExpectedError `profiler-died`, `profiler-timeout` or
   * `profiler-provider-lost`; after that the profiler is unusable;
   * its earlier answers stay valid.
   */
  readonly measure: (part: TimedPart, cell: Cell) => Promise<CellAnswer>;
  /** Which node ran on which provider, from an untimed run, and a sentence when the CPU got heavy ones. Rejects as `measure` does. */
  readonly placement: () => Promise<Placement>;
  /** Ends the child; resolves when it is gone. */
  readonly close: () => Promise<void>;
}

/**
 * Opens the first of `providers` that loads and runs the job's layer.
 *
 * @throws CancelledError, or ExpectedError `profiler-missing` (no child file) or `profiler-no-provider` (none loads: the message has the
 * reason of each).
 */
export async function openProfiler(job: ProfilerJob, options: ProfilerOptions): Promise<OpenProfiler> {
  const { childFile, providers, signal } = options;
  if (!existsSync(childFile))
    throw new ExpectedError(
      'profiler-missing',
      sentence`The profiler is not installed: there is no ${childFile}`,
      sentence`install the extension again, or run \`npm run build\``,
    );
  const limits = { ...defaultLimits, ...options.limits };
  const scratch = await mkdtemp(path.join(tmpdir(), 'terapipe-profiler-'));
  const children = createChildren(childFile, scratch, childEnvironment(options), signal);
  const refused: Refusal[] = [];
  try {
    for (const provider of providers) {
      const tried = await tryProvider(provider, job, options, children, limits);
      if ('reason' in tried) refused.push(tried);
      else return profilerOn(tried, job, refused, children, limits);
    }
    throw noProvider(refused);
  } catch (error) {
    await children.release();
    throw error;
  }
}

/** The running child, at most one, tied to the signal. */
interface Children {
  readonly env: NodeJS.ProcessEnv;
  /** Ends the running child and starts another. */
  readonly restart: () => Promise<ProfilerProcess>;
  readonly current: () => ProfilerProcess | null;
  /** Ends the running child and lets go of the signal. */
  readonly release: () => Promise<void>;
}

/** `scratch`: the children's folder for temporary files, which a killed child cannot remove itself. */
function createChildren(childFile: string, scratch: string, given: NodeJS.ProcessEnv, signal: AbortSignal | undefined): Children {
  const env = { ...given, TMPDIR: scratch, TMP: scratch, TEMP: scratch };
  let current: ProfilerProcess | null = null;
  const onAbort = (): void => {
    void current?.stop();
  };
  signal?.addEventListener('abort', onAbort, { once: true });
  return {
    env,
    restart: async () => {
      await current?.stop();
      if (signal?.aborted === true) throw new CancelledError();
      current = startProfilerProcess(childFile, env);
      return current;
    },
    current: () => current,
    release: async () => {
      signal?.removeEventListener('abort', onAbort);
      await current?.stop();
      await rm(scratch, { recursive: true, force: true }).catch(() => undefined);
    },
  };
}

interface Opened {
  readonly provider: ProviderName;
  readonly reply: Extract<ProfilerReply, { readonly type: 'opened' }>;
}

async function tryProvider(
  provider: ProviderName,
  job: ProfilerJob,
  { childFile }: ProfilerOptions,
  children: Children,
  limits: ProfilerLimits,
): Promise<Opened | Refusal> {
  const { platform, arch } = process;
  if (!runsOn(provider, platform, arch))
    return {
      provider,
      reason: sentence`ONNX Runtime has no ${providerTitles[provider]} for ${platform}/${arch}`,
      remedy: sentence`use another provider, or measure on another machine`,
    };
  const child = await children.restart();
  try {
    const reply = await child.request({ type: 'open', provider, job }, limits.openMs);
    if (reply.type === 'opened') return { provider, reply };
    const message = reply.type === 'failed' ? reply.message : 'it gave an unexpected answer';
    // The library of the provider writes before the child answers, through another pipe.
    await child.stop();
    const installed = await installedLibraries(childFile, children.env);
    return diagnoseRefusal({ provider, platform, arch, message, stderr: child.stderr(), ...installed });
  } catch (error) {
    // A provider that crashes the process while it loads counts as one that does not load.
    if (error instanceof ExpectedError)
      return { provider, reason: error.what, remedy: sentence`update the driver, or use another provider` };
    throw error;
  }
}

function profilerOn(
  { provider, reply }: Opened,
  job: ProfilerJob,
  refused: readonly Refusal[],
  children: Children,
  limits: ProfilerLimits,
): OpenProfiler {
  const { device, attention, versions, tf32 } = reply;
  const growth = growthWatch(limits.memoryBytes);

  const request = async (body: ProfilerRequestBody): Promise<ProfilerReply> => {
    const child = children.current();
    if (child === null) throw new CancelledError();
    const answer = await child.request(body, limits.measureMs);
    if (answer.type === 'failed') {
      await children.release();
      throw providerLost(provider, answer.message);
    }
    return answer;
  };
  const reopen = async (): Promise<void> => {
    const child = await children.restart();
    growth.reset();
    const answer = await child.request({ type: 'open', provider, job }, limits.openMs);
    if (answer.type !== 'opened') {
      await children.release();
      throw providerLost(provider, answer.type === 'failed' ? answer.message : 'unexpected answer');
    }
  };

  /**
   * WebGPU only logs that it ran out of memory, and continues with invalid buffers: such times are discarded, and the child is not used
   * again.
   */
  const withoutFailed = async (answer: CellAnswer): Promise<CellAnswer> => {
    // Logs come through another pipe than the answer.
    await setImmediate();
    const log = children.current()?.newStderr() ?? '';
    const kind = failureKind(log);
    if (kind === 'lost') {
      await children.release();
      throw providerLost(provider, lastLine(log));
    }
    if (answer.type === 'skipped' || kind === 'failed') return answer;
    growth.exceed();
    return { type: 'skipped', id: answer.id, reason: 'out-of-memory', detail: lastLine(log) };
  };

  return {
    provider,
    device,
    attention,
    versions,
    tf32,
    refused,
    warnings: deviceWarnings(device, tf32),
    measure: async (part, cell) => {
      if (growth.isExceeded()) await reopen();
      const { batch, tokens, context } = cell;
      const answer = await request({ type: 'measure', part, batch, tokens, context });
      if (answer.type !== 'measured' && answer.type !== 'skipped') throw unexpected(answer);
      if (answer.type === 'measured') growth.saw(`${part} ${batch} ${tokens} ${context}`, answer.rssBytes);
      return provider === 'cpu' ? answer : withoutFailed(answer);
    },
    placement: async () => {
      const answer = await request({ type: 'placement' });
      if (answer.type !== 'placement') throw unexpected(answer);
      const { operators, launches } = answer;
      return { operators, launches, warnings: placementWarnings(provider, operators) };
    },
    close: children.release,
  };
}

/** Whether the child grew beyond twice its memory after the first round, which lasts until a cell comes for the second time. */
function growthWatch(leastBytes: number) {
  const seen = new Set<string>();
  let firstRound = true;
  let allowedBytes = leastBytes;
  let lastBytes = 0;
  return {
    saw: (cell: string, bytes: number): void => {
      firstRound &&= !seen.has(cell);
      seen.add(cell);
      if (firstRound) allowedBytes = Math.max(allowedBytes, bytes);
      lastBytes = bytes;
    },
    isExceeded: (): boolean => lastBytes > 2 * allowedBytes,
    exceed: (): void => {
      lastBytes = Infinity;
    },
    reset: (): void => {
      seen.clear();
      firstRound = true;
      allowedBytes = leastBytes;
      lastBytes = 0;
    },
  };
}

/** Variable in which the loader of the system looks for more folders. */
const libraryVariables: Readonly<Partial<Record<NodeJS.Platform, string>>> = { win32: 'PATH', darwin: 'DYLD_LIBRARY_PATH' };

const cudaEnvironment = {
  // As `nvidia-smi` counts, so that the GPU it describes is the one that is measured.
  CUDA_DEVICE_ORDER: 'PCI_BUS_ID',
  // fp32 as PyTorch computes it by default: CUDA's provider takes TF32, and onnxruntime-node has no option that turns TF32 off.
  NVIDIA_TF32_OVERRIDE: '0',
};

/** The loader reads its folders when a process starts: another reason for a child. */
export function childEnvironment({ env, libraryPath = [] }: Pick<ProfilerOptions, 'env' | 'libraryPath'>): NodeJS.ProcessEnv {
  const merged: NodeJS.ProcessEnv = { ...cudaEnvironment, ...process.env, ...env, ELECTRON_RUN_AS_NODE: '1' };
  // Options for our process (a debugger, a loader) are not for this one.
  delete merged['NODE_OPTIONS'];
  const usual = libraryVariables[process.platform] ?? 'LD_LIBRARY_PATH';
  // Windows writes `Path` and takes any case, which a copy of the environment does not.
  const variable = Object.keys(merged).find((name) => process.platform === 'win32' && name.toUpperCase() === usual) ?? usual;
  const before = own(merged, variable) ?? '';
  if (libraryPath.length > 0) merged[variable] = [...libraryPath, ...(before === '' ? [] : [before])].join(path.delimiter);
  return merged;
}

function noProvider(refused: readonly Refusal[]): ExpectedError {
  const reasons = refused.map(({ provider, reason }) => sentence`${providerTitles[provider]}: ${reason}`);
  return new ExpectedError(
    'profiler-no-provider',
    sentence`No execution provider can measure here (${reasons.length === 0 ? sentence`none was asked for` : reasons.reduce((a, b) => sentence`${a}; ${b}`)})`,
    refused.at(0)?.remedy ?? sentence`name a provider`,
  );
}

function providerLost(provider: ProviderName, message: string): ExpectedError {
  return new ExpectedError(
    'profiler-provider-lost',
    sentence`${providerTitles[provider]} stopped working during the measurement: ${cleaned(message)}`,
    sentence`check the device (for NVIDIA, \`nvidia-smi\`), then measure again`,
  );
}

function unexpected(answer: ProfilerReply): Error {
  return new Error(`Unexpected reply ${answer.type}`);
}

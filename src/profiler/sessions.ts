import type * as OnnxRuntime from 'onnxruntime-node';
import type { InferenceSession, Tensor } from 'onnxruntime-node';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Cell, ProviderName } from '../core/domain/profile';
import { fetchedOutput } from './graph/slice-graph';

/** onnxruntime-node, loaded late: loading fails on some platforms. */
export type Runtime = typeof OnnxRuntime;

/**
 * A model with the inputs `batch`, `tokens` and `context` (int64 [1]) and the output `fetchedOutput`, one number: the only one that is
 * fetched.
 */
export type Model = Uint8Array;

/** A session on one provider that runs cells. */
export interface TimedSession {
  /**
   * Time of one run, ms: from the call until the scalar that depends on all of it is back. On one CPU thread the processor time where that
   * is less: waiting for the scheduler is not a property of the slice.
   */
  readonly run: (cell: Cell) => Promise<RunTime>;
  readonly release: () => Promise<void>;
}

/** Of one run, ms: what counts, and what it additionally waited for the processor. */
export interface RunTime {
  readonly ms: number;
  readonly waitedMs: number;
}

/** One execution provider without a fallback: failing to create a session on it is an error. */
export function sessionOptions(provider: ProviderName, threads: number | null): InferenceSession.SessionOptions {
  return {
    executionProviders: [provider],
    graphOptimizationLevel: 'all',
    // Saves 100 MB of resident memory at equal speed with shapes that change.
    enableMemPattern: false,
    logSeverityLevel: 3,
    interOpNumThreads: 1,
    ...(threads === null ? {} : { intraOpNumThreads: threads }),
    extra: {
      // No limit, instead of 1 GiB: a larger weight, as the head of 128,256 tokens, would be made again in every run, and timed.
      optimization: { constant_folding_max_output_size_in_bytes: '0' },
      // Spinning threads take the cores from each other between operators: 5.6 instead of 2.6 ms for a short slice on two threads.
      ...(threads === 1 ? {} : { session: { intra_op: { allow_spinning: '0' } } }),
    },
  };
}

/** @throws Error of ONNX Runtime when the provider does not load or cannot run the model. */
export async function openSession(runtime: Runtime, model: Model, provider: ProviderName, threads: number | null): Promise<TimedSession> {
  const session = await runtime.InferenceSession.create(model, sessionOptions(provider, threads));
  // Windows counts processor time in steps of 16 ms.
  const singleThread = provider === 'cpu' && threads === 1 && process.platform !== 'win32';
  return {
    run: async (cell) => {
      const feeds = sizeFeeds(runtime, cell);
      const cpuFrom = process.cpuUsage();
      const from = performance.now();
      await session.run(feeds, [fetchedOutput]);
      const wallMs = performance.now() - from;
      const { user, system } = process.cpuUsage(cpuFrom);
      const ms = singleThread ? Math.min(wallMs, (user + system) / 1e3) : wallMs;
      return { ms, waitedMs: wallMs - ms };
    },
    release: () => session.release(),
  };
}

/**
 * What ONNX Runtime writes about one run of `cell` with profiling on, as JSON text: which node ran where. Its times are not used: profiling
 * slows the run.
 *
 * @throws Error of ONNX Runtime, or of the file system when the temporary folder cannot be written to.
 */
export async function profiledRun(
  runtime: Runtime,
  model: Model,
  provider: ProviderName,
  threads: number | null,
  cell: Cell,
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'terapipe-placement-'));
  try {
    const session = await runtime.InferenceSession.create(model, {
      ...sessionOptions(provider, threads),
      enableProfiling: true,
      profileFilePrefix: join(folder, 'nodes'),
    });
    try {
      await session.run(sizeFeeds(runtime, cell), [fetchedOutput]);
    } finally {
      session.endProfiling();
      await session.release();
    }
    const [file] = await readdir(folder);
    if (file === undefined) throw new Error('ONNX Runtime wrote no report of the run');
    return await readFile(join(folder, file), 'utf8');
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function sizeFeeds(runtime: Runtime, { batch, tokens, context }: Cell): Record<string, Tensor> {
  const scalar = (value: number): Tensor => new runtime.Tensor('int64', BigInt64Array.of(BigInt(value)), [1]);
  return { batch: scalar(batch), tokens: scalar(tokens), context: scalar(context) };
}

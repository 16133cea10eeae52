import os from 'node:os';
import { errorMessage } from '../core/errors';
import { formatBytes } from '../core/format';
import type { Cell, ProfileDevice, ProfilePart, ProviderName } from '../core/domain/profile';
import type { PlacedOperator, ProfilerJob, ProfilerReply, ProfilerRequest, WithoutId } from '../protocol/profiler';
import { createCellTimer, type BuildModel, type ModelSource } from './cell-timer';
import { detectDevice, libraryVersions, readDeviceFacts, readNvidia } from './device';
import type { AttentionOperator } from './graph/emit';
import type { launchChain } from './graph/launch-chain';
import { measureLaunches } from './launch-floor';
import { sessionBytes, usableShare, type Limits } from './memory';
import { placedOperators } from './placement';
import { reportedNames } from './providers';
import { openSession, profiledRun, type Runtime } from './sessions';
import { append } from '../core/records';

/** What the server depends on; tests pass their own. */
export interface ServerParts {
  readonly models: ModelSource;
  readonly chain: typeof launchChain;
  /** What can run the attention of the job, the best first, `plain` last. */
  readonly attentions: (job: ProfilerJob) => readonly AttentionOperator[];
  /** Loads onnxruntime-node, which fails where it has no build for the platform. */
  readonly loadRuntime: () => Promise<Runtime>;
  /** Free memory of a device, bytes; infinite when it cannot be known. */
  readonly freeBytes: (device: ProfileDevice) => Promise<number>;
}

type Answer = WithoutId<ProfilerReply>;
type Opened = Awaited<ReturnType<typeof openJob>>;

const directions = ['forward', 'backward'] as const;

/** Answers requests one after the other. Rejects only for bugs: errors of ONNX Runtime are answers. */
export function createProfilerServer(parts: ServerParts): (request: ProfilerRequest) => Promise<ProfilerReply> {
  let opened: Opened | null = null;
  const answer = async (request: ProfilerRequest): Promise<Answer> => {
    if (request.type === 'open') {
      opened = await openJob(parts, request.provider, request.job);
      const { device, attention, versions, tf32 } = opened;
      return { type: 'opened', device, attention, versions, tf32 };
    }
    if (opened === null) throw new Error('No job is open');
    if (request.type === 'placement') return { type: 'placement', ...(await opened.placement()) };
    const { part, batch, tokens, context } = request;
    return opened.measure(part, { batch, tokens, context });
  };
  return async (request) => {
    try {
      return { ...(await answer(request)), id: request.id };
    } catch (error) {
      return { type: 'failed', id: request.id, message: errorMessage(error) };
    }
  };
}

/** A job on a provider that has run the smallest slice of it. @throws Error with ONNX Runtime's message. */
async function openJob(parts: ServerParts, provider: ProviderName, asked: ProfilerJob) {
  const runtime = await parts.loadRuntime();
  const hostDevice = detectDevice(await readDeviceFacts('cpu'));
  const needed = sessionBytes(asked, 'layer', 'backward', smallest(asked).limits);
  const free = await parts.freeBytes(hostDevice);
  if (needed > usableShare * free)
    throw new Error(`Not enough free memory: the weights of this layer need about ${formatBytes(needed)}, ${formatBytes(free)} are free`);

  // With its last session a GPU provider lets go of the device and of the programs it compiled; one that stays open spares doing that
  // again, and lets us see the device.
  const small = { ...asked, limits: smallest(asked).limits };
  const keptOpen =
    provider === 'cpu' ? null : await openSession(runtime, parts.models.inputs(small, 'plain', 'layer', 'forward'), provider, 1);

  const probe = (job: ProfilerJob, attention: AttentionOperator, part: ProfilePart) =>
    probePlacement(runtime, parts.models.graph, provider, { job, attention, part });
  const { attention, layer } = await firstAttention(parts.attentions(asked), provider, (tried) =>
    probe(withAttention(asked, tried), tried, 'layer'),
  );
  const job = withAttention(asked, attention);
  const facts = await readDeviceFacts(provider);
  const device = detectDevice(facts);
  const ends: readonly ProfilePart[] = job.shape.vocab > 0 ? ['embedding', 'head'] : [];
  return {
    keptOpen,
    device,
    versions: {
      onnxruntime: runtime.env.versions.node ?? 'unknown',
      node: process.version,
      os: `${os.type()} ${os.release()}`,
      ...(device.driver === null ? {} : { driver: device.driver }),
      ...libraryVersions(facts.libraries),
    },
    // CUDA's provider takes TF32 for products of fp32, unless the environment of the process forbids it.
    tf32: provider === 'cuda' && job.precision === 'fp32' ? process.env['NVIDIA_TF32_OVERRIDE'] !== '0' : null,
    attention: attentionNames(attention, layer),
    measure: createCellTimer({ models: parts.models, freeBytes: () => parts.freeBytes(device), runtime, provider, job, attention, device }),
    placement: async () => {
      const operators = [...layer];
      for (const part of ends) append(operators, await probe(job, attention, part));
      const cuts = await probePlacement(runtime, parts.models.inputs, provider, { job, attention, part: 'layer' });
      return { operators, launches: await measureLaunches({ runtime, provider, threads: job.threads, chain: parts.chain }, layer, cuts) };
    },
  };
}

/** The job as it will run: fused attention backward keeps no probabilities. */
function withAttention(job: ProfilerJob, attention: AttentionOperator): ProfilerJob {
  return { ...job, attention: attention === 'plain' ? 'plain' : 'fused' };
}

/** The first operator for attention that the provider itself runs. @throws Error of the last when none does, which is the plain one. */
async function firstAttention(
  candidates: readonly AttentionOperator[],
  provider: ProviderName,
  probe: (attention: AttentionOperator) => Promise<readonly PlacedOperator[]>,
): Promise<{ attention: AttentionOperator; layer: readonly PlacedOperator[] }> {
  let refused: unknown = new Error('No attention to try');
  for (const attention of candidates) {
    try {
      const layer = await probe(attention);
      const strays = layer.some((placed) => placed.operator === attention && placed.provider !== reportedNames[provider]);
      if (!strays) return { attention, layer };
    } catch (error) {
      refused = error;
    }
  }
  throw refused;
}

/** Names of the operators that ran, which ONNX Runtime's own fusions may have changed. */
function attentionNames(attention: AttentionOperator, layer: readonly PlacedOperator[]): { forward: string; backward: string } {
  const fused = layer.find(({ direction, operator }) => direction === 'forward' && operator.includes('Attention'));
  return {
    forward: fused?.operator ?? 'MatMul, Softmax, MatMul',
    backward: attention === 'plain' ? 'explicit, probabilities saved' : 'explicit, probabilities recomputed',
  };
}

interface Probe {
  readonly job: ProfilerJob;
  readonly attention: AttentionOperator;
  readonly part: ProfilePart;
}

async function probePlacement(runtime: Runtime, build: BuildModel, provider: ProviderName, { job, attention, part }: Probe) {
  const { limits, cell } = smallest(job);
  const cellOfPart = part === 'layer' ? cell : { ...cell, context: 0 };
  const rowElements = cell.tokens * Math.min(job.shape.hidden, job.shape.kvHeads * job.shape.headDim);
  const operators: PlacedOperator[] = [];
  for (const direction of directions) {
    const model = build({ ...job, limits }, attention, part, direction);
    append(operators, placedOperators(await profiledRun(runtime, model, provider, job.threads, cellOfPart), part, direction, rowElements));
  }
  return operators;
}

/**
 * A cell small enough to run anywhere, with past keys and values where the sequence has room for them, and the limits that hold just it.
 */
function smallest({ limits }: ProfilerJob): { limits: Limits; cell: Cell } {
  const tokens = Math.min(16, limits.tokens);
  const context = Math.min(16, limits.sequence - tokens);
  return { limits: { batch: 1, tokens, sequence: tokens + context }, cell: { batch: 1, tokens, context } };
}

/** Free memory of the machine, or of an NVIDIA GPU. */
export async function freeDeviceBytes({ kind, driver }: ProfileDevice): Promise<number> {
  if (kind !== 'gpu') return Math.min(os.freemem(), process.availableMemory());
  if (driver === null) return Infinity;
  return (await readNvidia(process.env['CUDA_VISIBLE_DEVICES']))?.freeBytes ?? Infinity;
}

import { ExpectedError } from '../core/errors';
import { defaultUnit, type PlanRequest } from '../core/domain/request';
import { providerNames, type Profile, type ProviderName } from '../core/domain/profile';
import { rankLayerShape, unlikeOneLayer } from '../core/measured-profile/shape';
import { openProfiler, type OpenProfiler, type Refusal } from './client';
import { measureProfile, type MeasureProgress, type MeasureTask, type MeasureHost } from './measure';
import { mayHaveGpu, processorName } from './device';
import { requireWritable, writeProfile } from './store';
import { counted, sentence, type Sentence } from '../core/sentence';

/** How and where to measure. */
interface ProfileRunOptions extends MeasureHost {
  /** The bundled child, `dist/profiler.js`. */
  readonly childFile: string;
  /** Null: every provider in turn. */
  readonly provider: ProviderName | null;
  readonly budgetMs: number;
  /** CPU threads inside an operator. */
  readonly threads: number;
  /** Folders added to the library path of the child, where CUDA's libraries lie. */
  readonly libraryPath: readonly string[];
  /** A `.json` file, or a folder of profiles. */
  readonly target: string;
  /** The precision was asked for: another one is not an answer. */
  readonly precisionFixed: boolean;
  /** A file names the GPU of the plan: times of another device cannot serve it. */
  readonly gpuFixed: boolean;
  /** The config as commands name it. */
  readonly config: string;
  /** Whether this machine may have a GPU; absent: as its device files show. */
  readonly hasGpu?: boolean;
  /** Hears at once what will be measured where that is not what the plan asks for. */
  readonly onNotice?: ((notice: Sentence) => void) | undefined;
}

/** A measurement that ended, however it ended. */
export interface ProfileRun {
  readonly profile: Profile;
  /** Where it was saved; null when it could not be (`saveError` explains why) or holds no samples. */
  readonly file: string | null;
  readonly saveError: ExpectedError | null;
  /** Providers that were tried first and why they could not serve. */
  readonly refused: readonly Refusal[];
}

/** Shortest wait for a provider to open, and for one slice. */
const leastLimitMs = 60_000;

/** Chunks of more sequences than this are not measured; the planner then plans no larger ones. */
const largestBatch = 4;

/**
 * Measures the layer of a request on this machine and saves the profile, also when something stopped it on the way.
 * @throws CancelledError before anything was measured; ExpectedError when no provider loads (`profiler-no-provider`), the request cannot be
 * profiled or the place cannot be written to.
 */
export async function profileRequest(request: PlanRequest, options: ProfileRunOptions): Promise<ProfileRun> {
  requireProfilable(request);
  requireUseful(request, options);
  await requireWritable(options.target);
  const startedMs = options.clock();
  const { profiler, task } = await openFor(request, options);
  try {
    const profile = await measureProfile(profiler, task, options, startedMs);
    return { profile, ...(await saved(options.target, profile)), refused: profiler.refused };
  } finally {
    await profiler.close();
  }
}

/** The child on the first provider that runs the job; in fp32 where none has a precision that nobody asked for. */
async function openFor(request: PlanRequest, options: ProfileRunOptions): Promise<{ profiler: OpenProfiler; task: MeasureTask }> {
  const asked = toMeasureTask(request, options);
  const mayChange = !options.precisionFixed && asked.job.precision !== 'fp32';
  const inFp32 = async (reason: string) => {
    const warnings = [`${reason}: it was measured in fp32, and serves only plans with training.precision=fp32`];
    const task: MeasureTask = { ...asked, job: { ...asked.job, precision: 'fp32' }, warnings };
    return { profiler: await openFirst(task, options), task };
  };
  if (isCpuOnly(options)) {
    options.onNotice?.(cpuText(options));
    if (mayChange) return inFp32(`The CPU does not compute this layer in ${asked.job.precision}`);
  }
  try {
    return { profiler: await openFirst(asked, options), task: asked };
  } catch (error) {
    if (!(error instanceof ExpectedError) || error.code !== 'profiler-no-provider' || !mayChange) throw error;
    return inFp32(`No provider here computes this layer in ${asked.job.precision}`);
  }
}

/** Only the processor will be tried: it was named, or there is nothing else. */
function isCpuOnly({ provider, hasGpu = mayHaveGpu() }: Pick<ProfileRunOptions, 'provider' | 'hasGpu'>): boolean {
  return provider === 'cpu' || (provider === null && !hasGpu);
}

/** What the processor of this machine can measure, a clause. */
function cpuText({ provider }: Pick<ProfileRunOptions, 'provider'>): Sentence {
  const measures = sentence`(${processorName()}) measures fp32, which serves only plans with training.precision=fp32`;
  return provider === 'cpu' ? sentence`The CPU ${measures}` : sentence`This machine has no GPU, and its CPU ${measures}`;
}

/**
 * The provider that was named, or the first that runs the job on something real: an adapter drawn by the CPU is nobody's GPU unless asked
 * for.
 */
async function openFirst({ job, budgetMs }: MeasureTask, options: ProfileRunOptions): Promise<OpenProfiler> {
  const { childFile, signal, libraryPath, provider } = options;
  // A provider that compiles for minutes, or one slice that takes longer than all were given, is not worth the wait.
  const limitMs = Math.max(leastLimitMs, budgetMs);
  const limits = { openMs: limitMs, measureMs: limitMs };
  const open = (providers: readonly ProviderName[]) => openProfiler(job, { childFile, providers, signal, libraryPath, limits });
  if (provider !== null) return open([provider]);
  if (isCpuOnly(options)) return open(['cpu']);
  const first = await open(providerNames);
  if (first.device.kind !== 'software') return first;
  await first.close();
  const software: Refusal = {
    provider: first.provider,
    reason: sentence`its only adapter is ${first.device.name}, which runs on the CPU`,
    remedy: sentence`install the driver of the GPU, or name the provider to measure it all the same`,
  };
  const next = await open(providerNames.slice(providerNames.indexOf(first.provider) + 1));
  return { ...next, refused: [...first.refused, software, ...next.refused] };
}

/** What to measure for a request: its layer as one tensor-parallel rank runs it, up to its whole sequence. */
function toMeasureTask(request: PlanRequest, { budgetMs, threads }: Pick<ProfileRunOptions, 'budgetMs' | 'threads'>): MeasureTask {
  const { model, training, layout, slicing, title } = request;
  const replicaBatch = Math.max(1, Math.floor(training.globalBatch / layout.data));
  return {
    title,
    tensor: layout.tensor,
    warnings: [],
    unit: slicing.unit ?? defaultUnit(training.sequenceLength),
    budgetMs,
    job: {
      shape: rankLayerShape(model, layout.tensor, layout.expert),
      precision: training.precision,
      gradAccumulationFp32: training.gradAccumulationFp32,
      attention: training.attention === 'flash' ? 'fused' : 'plain',
      threads,
      limits: {
        batch: Math.min(replicaBatch, Math.max(largestBatch, training.microBatch)),
        tokens: training.sequenceLength,
        sequence: training.sequenceLength,
      },
    },
  };
}

/**
 * Refuses at once what would be measured for minutes and then refused by the plan: times of a CPU for the GPU that a file names, and in
 * another precision than a file sets. Whoever names the CPU gets the times of the CPU.
 */
function requireUseful({ cluster, training }: PlanRequest, options: ProfileRunOptions): void {
  const { config, gpuFixed, precisionFixed, provider } = options;
  if (!isCpuOnly(options)) return;
  const cpu = processorName();
  if (provider === null && gpuFixed && cluster.gpu.name !== cpu)
    throw new ExpectedError(
      'profile-no-gpu',
      sentence`This machine has no GPU, and the plan is for ${cluster.gpu.name}: times of its CPU (${cpu}) cannot serve it`,
      sentence`run \`terapipe profile ${config}\` where the GPU is and copy the file here`,
    );
  const refused = provider === 'cpu' ? training.precision === 'bf16' : training.precision !== 'fp32';
  if (precisionFixed && refused)
    throw new ExpectedError(
      'profile-no-gpu',
      sentence`${cpuText(options)}; this one is in ${training.precision}`,
      sentence`run \`terapipe profile ${config} --set training.precision=fp32\`, or profile where a GPU is`,
    );
}

function requireProfilable({ model, layout }: PlanRequest): void {
  const { tensor, context, expert } = layout;
  const unlike = unlikeOneLayer(model);
  if (unlike !== null)
    throw new ExpectedError(
      'profile-unlike-layers',
      sentence`This model cannot be profiled: ${unlike}`,
      sentence`plan it with the analytic model`,
    );
  if (model.experts !== null && model.experts.count % expert !== 0)
    throw new ExpectedError(
      'profile-expert-share',
      sentence`${counted(model.experts.count, 'expert')} cannot be divided evenly among ${counted(expert, 'expert-parallel rank')}`,
      sentence`set layout.expert to a divisor`,
    );
  if (context > 1)
    throw new ExpectedError(
      'profile-context-parallel',
      sentence`Context parallelism splits the sequence inside a layer, which a profile of one GPU does not see`,
      sentence`set layout.context to 1 to profile`,
    );
  if (model.heads % tensor !== 0 || model.ffn % tensor !== 0)
    throw new ExpectedError(
      'profile-tensor-share',
      sentence`${model.heads} heads and a feed-forward size of ${model.ffn} are not both divisible by ${tensor} tensor-parallel ranks`,
      sentence`set layout.tensor to a divisor of both`,
    );
}

async function saved(target: string, profile: Profile): Promise<Pick<ProfileRun, 'file' | 'saveError'>> {
  if (profile.samples.layer.length === 0) return { file: null, saveError: null };
  try {
    return { file: await writeProfile(target, profile), saveError: null };
  } catch (error) {
    if (!(error instanceof ExpectedError)) throw error;
    return { file: null, saveError: error };
  }
}

export type { MeasureProgress };

import type { NodeGroup } from '../domain/cluster';
import type { ModelSpec } from '../domain/model';
import { runtimeProfile, type Runtime } from '../domain/runtime';
import type { TrainingSpec } from '../domain/request';
import { measuredKinds, unseenWidening } from './measured-kinds';
import { sentence, type Sentence } from '../sentence';

/**
 * Kinds of runs whose errors are alike: the framework, the generation of the GPU, whether the model has experts, and whether the layers'
 * products are computed in FP8 or NVFP4, whose recipes and casts differ more than products in 16 bits do.
 */
export interface RunKind {
  readonly runtime: Runtime;
  /** Null: of another generation than any that was measured. */
  readonly generation: GpuGeneration | null;
  readonly experts: boolean;
  readonly narrow: boolean;
}

/** Measured runs of one kind: what they took over their prediction, from the tenth to the ninetieth of a hundred. */
export interface MeasuredKind extends RunKind {
  readonly rows: number;
  readonly low: number;
  readonly high: number;
}

/**
 * By how much a range of measured runs has to be widened for runs that none of them is like, for models with experts and without: so that
 * each source of at least 20 runs, left out, lies to three quarters within what the others say of it.
 */
export type Widening = Readonly<Record<'experts' | 'dense', { readonly low: number; readonly high: number }>>;

const generations = { V100: /^V100/u, A100: /^A[18]00/u, H100: /^(?:H\d|GH200)/u, B200: /^G?B[23]00/u } as const;
type GpuGeneration = keyof typeof generations;

const kinds: readonly MeasuredKind[] = measuredKinds;

/** The kind of a run. */
export function classifyRun(
  gpuName: string,
  training: Pick<TrainingSpec, 'runtime' | 'gemmPrecision'>,
  model: Pick<ModelSpec, 'experts'>,
): RunKind {
  const names = Object.keys(generations) as GpuGeneration[];
  const generation = names.find((name) => generations[name].test(gpuName)) ?? null;
  return {
    runtime: runtimeProfile(training).id,
    generation,
    experts: model.experts !== null,
    narrow: training.gemmPrecision !== undefined,
  };
}

/** A range of measured runs as it holds for runs that none of them is like. */
export function widened<T extends MeasuredKind>(runs: T, widening: Widening): T {
  const { low, high } = widening[runs.experts ? 'experts' : 'dense'];
  return { ...runs, low: low * runs.low, high: high * runs.high };
}

/**
 * Of measured kinds the one that is wanted; else the same in another number format; else those of the same framework or generation, in the
 * same format where there are any; else all with experts, or without; else all. Of several the mean range, each kind by its runs, to be
 * widened: the widest of them would be that of the oddest machine. Sources: docs/accuracy.md.
 */
export function nearestKind(wanted: RunKind, kinds: readonly MeasuredKind[]): { readonly runs: MeasuredKind; readonly isExact: boolean } {
  const alike = kinds.filter(({ experts }) => experts === wanted.experts);
  const same = alike.filter(({ runtime, generation }) => runtime === wanted.runtime && generation === wanted.generation);
  const [exact] = same.filter(({ narrow }) => narrow === wanted.narrow);
  if (exact !== undefined) return { runs: exact, isExact: true };
  const near = alike.filter(({ runtime, generation }) => runtime === wanted.runtime || generation === wanted.generation);
  const nearer = near.filter(({ narrow }) => narrow === wanted.narrow);
  const among = [same, nearer, near, alike].find(({ length }) => length > 0) ?? kinds;
  const rows = among.reduce((sum, kind) => sum + kind.rows, 0);
  const mean = (end: 'low' | 'high'): number => Math.exp(among.reduce((sum, kind) => sum + (kind.rows / rows) * Math.log(kind[end]), 0));
  return { runs: { ...wanted, rows, low: mean('low'), high: mean('high') }, isExact: false };
}

/** The range that a plan of a kind states: that of its own measured runs; else that of the nearest, widened. */
export function statedKind(
  wanted: RunKind,
  kinds: readonly MeasuredKind[],
  widening: Widening,
): { readonly runs: MeasuredKind; readonly isExact: boolean } {
  const { runs, isExact } = nearestKind(wanted, kinds);
  return { runs: isExact ? runs : widened(runs, widening), isExact };
}

/** The measured runs that are nearest in kind, and in words which. */
export function nearestRuns(
  { gpu }: Pick<NodeGroup, 'gpu'>,
  training: TrainingSpec,
  model: ModelSpec,
): { readonly runs: MeasuredKind; readonly text: Sentence } {
  const wanted = classifyRun(gpu.name, training, model);
  const { runs, isExact } = statedKind(wanted, kinds, unseenWidening);
  const name = runtimeProfile(training).name;
  const what = wanted.experts ? sentence`models with experts` : sentence`models without experts`;
  const format = wanted.narrow ? sentence`with GEMMs in FP8 or NVFP4` : sentence`with GEMMs in 16 bits or more`;
  const text = isExact
    ? sentence`${what} on ${wanted.generation ?? gpu.name} under ${name}, ${format}`
    : sentence`${what} nearest to it, widened by the cross-validation error; none on ${gpu.name} under ${name}, ${format}, is known`;
  return { runs, text };
}

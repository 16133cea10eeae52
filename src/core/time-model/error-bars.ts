import type { NodeGroup } from '../spec/cluster';
import type { ModelSpec } from '../spec/model';
import { runtimeOf, type Runtime } from '../spec/runtime';
import type { TrainingSpec } from '../spec/request';
import { measuredKinds, unseenWidening } from './measured-kinds';
import { sentence, type Sentence } from '../sentence';

/** Kinds of runs whose errors are alike: the framework, the generation of the GPU, and whether the model has experts. */
export interface RunKind {
  readonly runtime: Runtime;
  /** Null: of another generation than any that was measured. */
  readonly generation: GpuGeneration | null;
  readonly experts: boolean;
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
export function runKindOf(gpuName: string, training: Pick<TrainingSpec, 'runtime'>, model: Pick<ModelSpec, 'experts'>): RunKind {
  const names = Object.keys(generations) as GpuGeneration[];
  const generation = names.find((name) => generations[name].test(gpuName)) ?? null;
  return { runtime: runtimeOf(training).id, generation, experts: model.experts !== null };
}

/** A range of measured runs as it holds for runs that none of them is like. */
export function widened<T extends MeasuredKind>(runs: T, widening: Widening): T {
  const { low, high } = widening[runs.experts ? 'experts' : 'dense'];
  return { ...runs, low: low * runs.low, high: high * runs.high };
}

/**
 * Of measured kinds the one that is wanted; else those of the same framework or generation; else all with experts, or without; else all.
 * Of several the mean range, each kind by its runs, to be widened: the widest of them would be that of the oddest machine. Sources:
 * docs/accuracy.md.
 */
export function nearestKind(wanted: RunKind, kinds: readonly MeasuredKind[]): { readonly runs: MeasuredKind; readonly isExact: boolean } {
  const alike = kinds.filter(({ experts }) => experts === wanted.experts);
  const [exact] = alike.filter(({ runtime, generation }) => runtime === wanted.runtime && generation === wanted.generation);
  if (exact !== undefined) return { runs: exact, isExact: true };
  const near = alike.filter(({ runtime, generation }) => runtime === wanted.runtime || generation === wanted.generation);
  const among = near.length > 0 ? near : alike.length > 0 ? alike : kinds;
  const rows = among.reduce((sum, kind) => sum + kind.rows, 0);
  const mean = (end: 'low' | 'high'): number => Math.exp(among.reduce((sum, kind) => sum + (kind.rows / rows) * Math.log(kind[end]), 0));
  return { runs: { ...wanted, rows, low: mean('low'), high: mean('high') }, isExact: false };
}

/** The measured runs that are nearest in kind, and in words which. */
export function nearestRuns(
  { gpu }: Pick<NodeGroup, 'gpu'>,
  training: TrainingSpec,
  model: ModelSpec,
): { readonly runs: MeasuredKind; readonly text: Sentence } {
  const wanted = runKindOf(gpu.name, training, model);
  const { runs: nearest, isExact } = nearestKind(wanted, kinds);
  const runs = isExact ? nearest : widened(nearest, unseenWidening);
  const name = runtimeOf(training).name;
  const what = wanted.experts ? sentence`models with experts` : sentence`models without experts`;
  const text = isExact
    ? sentence`${what} on ${wanted.generation ?? gpu.name} under ${name}`
    : sentence`${what} nearest to it, widened by what such ranges miss of a source that is left out; none on ${gpu.name} under ${name} is known`;
  return { runs, text };
}

import type { NodeGroup } from '../domain/cluster';
import type { ModelSpec } from '../domain/model';
import { runtimeProfile, type Runtime } from '../domain/runtime';
import type { TrainingSpec } from '../domain/request';
import { measuredKinds, unseenKinds } from './measured-kinds';
import { counted, sentence, type Sentence } from '../sentence';

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

/** What measured runs took over what was predicted of them without their source (docs/model/time.md, Error bars). */
export interface ErrorRange {
  readonly rows: number;
  /** Projects and papers that they are from. */
  readonly sources: number;
  readonly low: number;
  readonly high: number;
}

/** The ranges of measured kinds, and those of runs that no measured one is like. */
export interface ErrorRanges {
  readonly kinds: readonly (RunKind & ErrorRange)[];
  readonly unseen: Readonly<Record<'experts' | 'dense', ErrorRange>>;
}

const generations = { V100: /^V100/u, A100: /^A[18]00/u, H100: /^(?:H\d|GH200)/u, B200: /^G?B[23]00/u } as const;
type GpuGeneration = keyof typeof generations;

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

/** The range of a kind: its own, else that of all runs with experts, or without. */
export function statedRange(wanted: RunKind, { kinds, unseen }: ErrorRanges): ErrorRange & { readonly isExact: boolean } {
  const own = kinds.find(
    ({ runtime, generation, experts, narrow }) =>
      runtime === wanted.runtime && generation === wanted.generation && experts === wanted.experts && narrow === wanted.narrow,
  );
  return { ...(own ?? unseen[wanted.experts ? 'experts' : 'dense']), isExact: own !== undefined };
}

/** The range of the measured runs that are nearest in kind, and in words which. */
export function nearestRuns(
  { gpu }: Pick<NodeGroup, 'gpu'>,
  training: TrainingSpec,
  model: ModelSpec,
): { readonly range: ErrorRange; readonly text: Sentence } {
  const wanted = classifyRun(gpu.name, training, model);
  const { isExact, ...range } = statedRange(wanted, { kinds: measuredKinds, unseen: unseenKinds });
  const name = runtimeProfile(training).name;
  const what = wanted.experts ? sentence`models with experts` : sentence`models without experts`;
  const format = wanted.narrow ? sentence`with GEMMs in FP8 or NVFP4` : sentence`with GEMMs in 16 bits or more`;
  const from = sentence`${counted(range.rows, 'measured run')} from ${counted(range.sources, 'source')}`;
  const text = isExact
    ? sentence`${from}: ${what} on ${wanted.generation ?? gpu.name} under ${name}, ${format}`
    : sentence`${from}: ${what}; none on ${gpu.name} under ${name}, ${format}, is known`;
  return { range, text };
}

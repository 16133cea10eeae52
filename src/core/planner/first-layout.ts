import type { Given, Run } from '../config/run';
import type { ClusterSpec } from '../cluster/spec';
import { fitsMemory } from '../memory/verdict';
import { splitsHeads } from '../model/mixers';
import type { ModelSpec } from '../model/spec';
import { divisorsOf } from '../numbers';
import type { ScheduleName } from '../schedule/schedule';
import type { Layout, TrainingSpec } from './request';
import { memoryOf } from './scheduling';

/** Training before its layout is known. */
export type TrainingDraft = Omit<TrainingSpec, 'globalBatch' | 'sequenceParallel'>;

/** Four micro-batches a stage on every replica. */
export function defaultGlobalBatch(layout: Layout, microBatch: number): number {
  return layout.data * microBatch * 4 * layout.pipeline;
}

export interface FoundLayout {
  readonly layout: Layout;
  /** By the memory of the schedule that layouts are judged by. */
  readonly fits: boolean;
}

/** By which schedule's memory a layout is judged: the one asked for, or a simpler one like it where that is chosen or planned within the memory there is. */
const judgedBy: Readonly<Partial<Record<ScheduleName, ScheduleName>>> = {
  ...{ TeraPipe: '1F1B', GPipe: '1F1B', Seq1F1B: '1F1B' },
  ...{ ZeroBubble: '1F1B', ZeroBubbleV: 'ZBVZeroBubble' },
};

/** The first possible layout whose schedule fits, or the one that comes closest; null when none uses all GPUs. */
export function firstLayout(
  { layout: given, schedule: asked }: Pick<Run, 'layout' | 'schedule'>,
  draft: TrainingDraft,
  model: ModelSpec,
  cluster: ClusterSpec,
): FoundLayout | null {
  const wanted = asked?.value ?? '1F1B';
  const schedule = judgedBy[wanted] ?? wanted;
  const context = given.context?.value ?? 1;
  const expertTensor = given.expertTensor?.value;
  const shared: Pick<Layout, 'expertTensor' | 'stageLayers'> = {
    ...(expertTensor === undefined ? {} : { expertTensor }),
    ...(given.stageLayers?.value === undefined ? {} : { stageLayers: given.stageLayers.value }),
  };
  const open = { context, expert: given.expert?.value ?? 1, ...shared, virtualStages: given.virtualStages?.value ?? 1 };
  const sizes = possibleSizes(given, model, cluster, (cluster.nodes * cluster.gpusPerNode) / context);
  let closest: { layout: Layout; bytes: number } | null = null;
  for (const size of sizes) {
    const layout = { ...size, ...open };
    const training = { ...draft, sequenceParallel: layout.tensor > 1, globalBatch: defaultGlobalBatch(layout, draft.microBatch) };
    const scheme = Array.from({ length: 2 * layout.pipeline }, () => ({ batch: training.microBatch, tokens: [training.sequenceLength] }));
    const memory = memoryOf({ model, training, layout }, schedule, scheme, cluster.gpu.memoryBytes);
    if (memory !== null && fitsMemory(memory)) return { layout, fits: true };
    const bytes = memory === null ? Infinity : Math.max(...memory.stages.map((stage) => stage.peakBytes));
    if (closest === null || bytes < closest.bytes) closest = { layout, bytes };
  }
  return closest === null ? null : { layout: closest.layout, fits: false };
}

/** Longest pipeline that is assumed; longer ones can be asked for. */
const mostAssumedStages = 128;

type Sizes = Pick<Layout, 'tensor' | 'pipeline' | 'data'>;

/** Sizes that respect what is given, divide heads and layers, stay in a node with tensor parallelism, and use `gpus`; least model parallelism first. */
function possibleSizes(given: Given<Layout>, model: ModelSpec, cluster: ClusterSpec, gpus: number): Sizes[] {
  if (given.tensor !== undefined && given.pipeline !== undefined) {
    const modelParallel = given.tensor.value * given.pipeline.value;
    return [
      {
        tensor: given.tensor.value,
        pipeline: given.pipeline.value,
        data: given.data?.value ?? Math.max(1, Math.floor(gpus / modelParallel)),
      },
    ];
  }
  const tensors =
    given.tensor !== undefined ? [given.tensor.value] : divisorsOf(cluster.gpusPerNode).filter((tensor) => splitsHeads(model, tensor));
  const pipelines =
    given.pipeline !== undefined ? [given.pipeline.value] : divisorsOf(model.layers).filter((stages) => stages <= mostAssumedStages);
  return tensors
    .flatMap((tensor) =>
      pipelines.map((pipeline) => ({ tensor, pipeline, data: given.data?.value ?? Math.floor(gpus / tensor / pipeline) })),
    )
    .filter(({ tensor, pipeline, data }) => data >= 1 && tensor * pipeline * data === gpus)
    .sort((a, b) => a.tensor * a.pipeline - b.tensor * b.pipeline || b.pipeline - a.pipeline);
}

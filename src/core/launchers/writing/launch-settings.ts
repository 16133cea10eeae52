import type { ModelSpec } from '../../domain/model';
import type { RankOrder } from '../../domain/runtime';
import type { RunSettings } from '../../run/run-settings';
import { gpusUsed, type Layout, type TrainingSpec } from '../../domain/request';
import type { ScheduleName } from '../../domain/schedule-names';
import type { SequenceSplit } from '../../domain/scheme';
import { formatCount } from '../../format';
import { scheduleKind } from '../../schedules/registry';
import { say } from '../../sentence';
import { capitalised, printable } from '../../text';
import { remarkLine, type Remark } from './remarks';

/** How activations are recomputed, in Megatron's terms. */
export interface Recompute {
  readonly granularity: 'none' | 'selective' | 'full';
  /** TorchTitan's kind of selective recompute: `op`, or a period in layers. */
  readonly option?: string;
  /** Parts of a layer that a selective recompute covers; undefined: the launcher's own choice. */
  readonly modules?: readonly string[];
  /** Layers of every (virtual) stage that a full recompute covers; undefined: all of them. */
  readonly layers?: number;
  /** Layers recomputed together; undefined: 1. */
  readonly group?: number;
}

/** Settings of a plan's training that launchers have under other names, or not at all. */
export const otherwiseWritten = [
  'optimizer',
  'adapter',
  'recompute',
  'recomputeLayers',
  'recomputeGroup',
  'recomputeModules',
  'recomputeEvery',
] as const satisfies readonly (keyof TrainingSpec)[];

type Sizes = Pick<Layout, 'tensor' | 'pipeline' | 'data' | 'context' | 'expert' | 'virtualStages'>;

/**
 * A plan as a launcher's settings: sizes of the parallel groups, batches, and how the step runs. Lengths in tokens, batches in sequences.
 * A setting of the training that has no effect on this layout or model is absent.
 */
export interface LaunchSettings extends Sizes, Omit<TrainingSpec, (typeof otherwiseWritten)[number]> {
  readonly title: string;
  readonly model: ModelSpec;
  readonly gpu: string;
  /** Of an NVIDIA GPU with a preset: `9.0`; null of others. */
  readonly computeCapability: string | null;
  readonly nodes: number;
  readonly gpusPerNode: number;
  /** Tensor size inside the experts; null: there are none. */
  readonly expertTensor: number | null;
  /** Transformer layers of each stage in the order of the model, virtual stages counted: `pipeline` x `virtualStages` entries. */
  readonly stageLayers: readonly number[];
  /** In which order ranks are numbered; absent: which groups lie inside a node does not depend on it. */
  readonly order?: RankOrder;
  readonly recompute: Recompute;
  /** `attention` with the kernel that it was timed with, as Megatron-LM names its backends: `fused` is cuDNN. */
  readonly attentionBackend: 'flash' | 'fused' | 'unfused';
  /** As the planner names it: `1F1B`, `TeraPipe`, `ZBVZeroBubble`, ... */
  readonly schedule: ScheduleName;
  /** Token slices that a sequence is cut into; 1: whole. */
  readonly slices: number;
  /** How the flags of a runtime of slices cut every sequence; absent: they do not. */
  readonly sliced?: SequenceSplit;
  /** The part of the plan that the launcher does not run, where another candidate is written and predicted in its place. */
  readonly replaced?: Remark;
  /** The run trains only adapters, which only the launching file sets. */
  readonly trainsAdapters?: true;
  /** What the file of the planned run sets; absent: the run has no launcher's file, or its settings are not listed. */
  readonly source?: RunSettings;
  /** What the plan expects of it, in one line. */
  readonly predicted: string;
}

/** Micro-batches that each replica accumulates in a step. */
export function accumulationSteps({ globalBatch, data, microBatch }: Pick<LaunchSettings, 'globalBatch' | 'data' | 'microBatch'>): number {
  return globalBatch / (data * microBatch);
}

/** Whether a plan runs token slices, which no launcher does. */
export function runsSlices({ schedule, slices }: Pick<LaunchSettings, 'schedule' | 'slices'>): boolean {
  return slices > 1 || scheduleKind(schedule).sliced;
}

/** Remarks at the top of a file, each on one line whatever the title holds. */
export function headerLines(plan: LaunchSettings, gaps: readonly Remark[]): readonly string[] {
  const { title, tensor, pipeline, data, context, expert, gpu, predicted } = plan;
  const sizes = [`tensor ${tensor}`, `pipeline ${pipeline}`, `data ${data}`, ...(context > 1 ? [`context ${context}`] : [])].join(' x ');
  return [
    printable(
      `${title}, as planned by TeraPipe: ${sizes}${expert > 1 ? `, expert ${expert}` : ''} on ${formatCount(gpusUsed(plan))} ${gpu}.`,
    ),
    printable(`Predicted: ${predicted}.`),
    ...gaps.map((gap) => printable(`${gap.isOtherModel === true ? 'Error: ' : ''}${capitalised(say(remarkLine(gap)))}.`)),
  ];
}

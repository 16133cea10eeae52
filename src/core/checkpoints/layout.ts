import type { Layout, PlanRequest } from '../domain/request';
import { formatCount } from '../format';
import type { Run } from '../run/run';
import { listOf, sentence, type Sentence, type Value } from '../sentence';

/** The sizes by which a checkpoint is cut; null: not known. */
export interface CheckpointLayout {
  readonly tensor: number | null;
  readonly pipeline: number | null;
  readonly virtualStages: number | null;
  /** Layers of each stage, virtual ones counted; null: as the launcher divides them by itself. */
  readonly stageLayers: readonly number[] | null;
  readonly data: number | null;
  readonly context: number | null;
  readonly expert: number | null;
  readonly expertTensor: number | null;
  readonly zeroStage: number | null;
  readonly optimizer: string | null;
}

type SizeName = keyof CheckpointLayout;

/** A layout that a checkpoint was written at, and the one that loads it. */
export interface LayoutChange {
  readonly before: CheckpointLayout;
  readonly after: CheckpointLayout;
  /** Sizes that are known of both and differ. */
  readonly changed: ReadonlySet<SizeName>;
}

/** The change from one layout to another. Other numbers of stages divide the layers otherwise, which is not a change of its own. */
export function layoutChange(before: CheckpointLayout, after: CheckpointLayout): LayoutChange {
  const names = Object.keys(before) as SizeName[];
  const changed = new Set(names.filter((name) => name !== 'stageLayers' && differs(before[name], after[name])));
  const isDividedOtherwise = JSON.stringify(before.stageLayers) !== JSON.stringify(after.stageLayers);
  if (isDividedOtherwise && !changed.has('pipeline') && !changed.has('virtualStages')) changed.add('stageLayers');
  return { before, after, changed };
}

/** Whether one of these sizes changes. */
export function changesAny({ changed }: Pick<LayoutChange, 'changed'>, ...names: readonly SizeName[]): boolean {
  return names.some((name) => changed.has(name));
}

function differs(before: unknown, after: unknown): boolean {
  return before !== null && after !== null && before !== after;
}

/**
 * The layout that the files of a run give.
 * @param leavesOpen whether what they leave out is decided elsewhere; otherwise it is 1.
 */
export function layoutInFiles(run: Run, leavesOpen: boolean): CheckpointLayout {
  const { layout, training } = run;
  const silent = leavesOpen ? null : 1;
  const size = (name: 'virtualStages' | 'context' | 'expert'): number | null => layout[name]?.value ?? silent;
  const [tensor, pipeline] = [layout.tensor?.value ?? null, layout.pipeline?.value ?? null];
  const sizes = { tensor, pipeline, virtualStages: size('virtualStages'), context: size('context'), expert: size('expert') };
  return {
    ...sizes,
    stageLayers: layout.stageLayers?.value ?? null,
    data: layout.data?.value ?? replicas(run, sizes),
    expertTensor: run.model.experts.value === null ? null : (layout.expertTensor?.value ?? tensor),
    zeroStage: training.zeroStage?.value ?? null,
    optimizer: training.optimizer?.value ?? null,
  };
}

/** Replicas that the GPUs of a run make up; null: not known, or not whole. */
function replicas(
  { nodes, gpusPerNode }: Run,
  { tensor, pipeline, context }: Pick<CheckpointLayout, 'tensor' | 'pipeline' | 'context'>,
): number | null {
  if (nodes === undefined || gpusPerNode === undefined || tensor === null || pipeline === null || context === null) return null;
  const data = (nodes.value * gpusPerNode.value) / (tensor * pipeline * context);
  return Number.isInteger(data) ? data : null;
}

/** The layout of a plan. @param stageLayers of a cut that its files or its search give; null: as the launcher divides them by itself. */
export function plannedLayout(
  { layout, training }: { readonly layout: Layout; readonly training: PlanRequest['training'] },
  stageLayers: readonly number[] | null,
): CheckpointLayout {
  const { tensor, pipeline, virtualStages, data, context, expert, expertTensor = tensor } = layout;
  const { zeroStage, optimizer } = training;
  return { tensor, pipeline, virtualStages, stageLayers, data, context, expert, expertTensor, zeroStage, optimizer };
}

const words: Readonly<Record<Exclude<SizeName, 'stageLayers'>, Sentence>> = {
  tensor: sentence`tensor`,
  pipeline: sentence`pipeline`,
  virtualStages: sentence`virtual stages`,
  data: sentence`data`,
  context: sentence`context`,
  expert: sentence`expert`,
  expertTensor: sentence`expert tensor`,
  zeroStage: sentence`ZeRO stage`,
  optimizer: sentence`optimizer`,
};

/** `tensor 4 instead of 8, pipeline 2 instead of 1`. */
export function changeText({ before, after, changed }: LayoutChange): Value {
  const shown = (value: string | number | null): string => (typeof value === 'number' ? formatCount(value) : (value ?? ''));
  return listOf(
    [...changed].map((name) =>
      name === 'stageLayers'
        ? sentence`other layers in its stages`
        : sentence`${words[name]} ${shown(after[name])} instead of ${shown(before[name])}`,
    ),
  );
}

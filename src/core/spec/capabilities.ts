import { searchKeys, type SearchKey } from './layout-choices';

/**
 * Who says a choice of a launcher's run: its file; its training script, its command line or another of its files; nobody, since the
 * launcher does not run it.
 */
export type SaidBy = 'file' | 'elsewhere' | 'nobody';

/** Sizes of a run of which a launcher refuses some together. */
export type RefusedSize = 'tensor' | 'pipeline' | 'context' | 'expert' | 'virtualStages' | 'zeroStage';

/** Sizes that a launcher does not run together: it stops where each is at least so large. */
export interface Refusal {
  readonly atLeast: Readonly<Partial<Record<RefusedSize, number>>>;
  /** Where it stops. */
  readonly source: string;
}

/**
 * What a launcher can run and its file can say. `index.ts` of its folder states it, with the version that was read.
 * @typeParam Values what files say, by name.
 */
export interface CapabilitiesWith<Values extends object = object> {
  /** The program, as its makers call it. */
  readonly name: string;
  /** The release or commit that was read, and where. */
  readonly source: string;
  readonly saidBy: Readonly<Record<SearchKey, SaidBy>>;
  readonly refuses: readonly Refusal[];
  /** What it takes where its file is silent; sizes of parallel groups are 1. */
  readonly silent: Readonly<Values>;
}

/**
 * Who says each choice: those of `file` and `elsewhere`, and nobody the others. The number of replicas and the schedule are always the
 * launch's: what there is of schedules the runtime says.
 */
export function saidBy(file: readonly SearchKey[], elsewhere: readonly SearchKey[] = []): CapabilitiesWith['saidBy'] {
  const whose = (key: SearchKey): SaidBy =>
    file.includes(key) || key === 'data' || key === 'schedule' ? 'file' : elsewhere.includes(key) ? 'elsewhere' : 'nobody';
  return Object.fromEntries(searchKeys.map((key) => [key, whose(key)])) as Record<SearchKey, SaidBy>;
}

/** Of launchers whose file says the whole layout. */
export const saysAll = saidBy(searchKeys);
/** The same of launchers whose file has no order of ranks. */
export const saysAllButOrder = saidBy(searchKeys.filter((key) => key !== 'order'));

/** Choices that the file of a launcher cannot say: what they are stays as it is. */
export function unsaid({ saidBy: whose }: Pick<CapabilitiesWith, 'saidBy'>): readonly SearchKey[] {
  return searchKeys.filter((key) => whose[key] !== 'file');
}

/** The combination that a launcher refuses; undefined: it runs these sizes. */
export function refusedTogether(
  capabilities: Pick<CapabilitiesWith, 'refuses'> | undefined,
  sizes: Readonly<Partial<Record<RefusedSize, number>>>,
): Refusal | undefined {
  return capabilities?.refuses.find(({ atLeast }) =>
    Object.entries(atLeast).every(([name, least]) => (sizes[name as RefusedSize] ?? (name === 'zeroStage' ? 0 : 1)) >= least),
  );
}

/** `PipelineEngine` asserts a stage below 2. */
export const zeroWithPipeline: Refusal = {
  atLeast: { zeroStage: 2, pipeline: 2 },
  source: 'deepspeedai/DeepSpeed at edaa7221, deepspeed/runtime/pipe/engine.py 76',
};

/** `_configure_tensor_parallel` asserts a stage of at most 2. */
export const zero3WithAutoTensor: Refusal = {
  atLeast: { zeroStage: 3, tensor: 2 },
  source: 'deepspeedai/DeepSpeed, deepspeed/runtime/engine.py, _configure_tensor_parallel',
};

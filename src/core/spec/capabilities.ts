import { searchKeys, type SearchKey } from './layout-choices';

/** What sets a choice of a launcher's run: its file; its script, command line or another of its files; nothing, as it cannot run it. */
export type SetBy = 'file' | 'elsewhere' | 'nobody';

/** Sizes of a run of which a launcher refuses some together. */
export type RefusedSize = 'tensor' | 'pipeline' | 'context' | 'expert' | 'virtualStages' | 'zeroStage';

/** Sizes that a launcher refuses together. */
export interface Refusal {
  /** It refuses runs in which each of these is at least as large. */
  readonly atLeast: Readonly<Partial<Record<RefusedSize, number>>>;
  /** The check in its code. */
  readonly source: string;
}

/**
 * What a launcher can run and its file can set. `index.ts` of its folder states it, with the version that was read.
 * @typeParam Values what files set, by name.
 */
export interface CapabilitiesWith<Values extends object = object> {
  /** The program, as its makers call it. */
  readonly name: string;
  /** The release or commit that was read, and where. */
  readonly source: string;
  readonly setBy: Readonly<Record<SearchKey, SetBy>>;
  readonly refuses: readonly Refusal[];
  /** What it takes where its file is silent; sizes of parallel groups are 1. */
  readonly silent: Readonly<Values>;
}

/**
 * What sets each choice: the file those of `file`, something else those of `elsewhere`, nothing the others. The number of replicas and the
 * schedule count as the file's: replicas follow the GPUs, and the runtime decides which schedules there are.
 */
export function setBy(file: readonly SearchKey[], elsewhere: readonly SearchKey[] = []): CapabilitiesWith['setBy'] {
  const setter = (key: SearchKey): SetBy =>
    file.includes(key) || key === 'data' || key === 'schedule' ? 'file' : elsewhere.includes(key) ? 'elsewhere' : 'nobody';
  return Object.fromEntries(searchKeys.map((key) => [key, setter(key)])) as Record<SearchKey, SetBy>;
}

/** Of launchers whose file sets the whole layout. */
export const setsAll = setBy(searchKeys);
/** The same of launchers whose file has no order of ranks. */
export const setsAllExceptOrder = setBy(searchKeys.filter((key) => key !== 'order'));

/** What sets one choice; the file where nothing is known of the launcher. */
export function setterOf(capabilities: Pick<CapabilitiesWith, 'setBy'> | undefined, key: SearchKey): SetBy {
  return capabilities?.setBy[key] ?? 'file';
}

/** Choices that the file of a launcher cannot set: a search keeps them. */
export function notInFile(capabilities: Pick<CapabilitiesWith, 'setBy'>): readonly SearchKey[] {
  return searchKeys.filter((key) => capabilities.setBy[key] !== 'file');
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

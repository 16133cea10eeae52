import { ExpectedError, throwIfCancelled, type CancelSignal } from '../../core/errors';
import { memoryVerdict } from '../../core/memory-model/verdict';
import type { MemoryPart, StageMemory } from '../../core/memory-model/profile';
import { listDivisors } from '../../core/numbers';
import { makePlan } from '../../core/planner/make-plan';
import { chosenCandidate } from '../../core/planner/plan';
import { resolveRun } from '../../core/plan-request/resolve';
import { assumedGpuName, type ResolveDefaults } from '../../core/plan-request/scenario';
import type { PlanRequest } from '../../core/domain/request';
import type { Run } from '../../core/run/run';
import { applyOverrides } from '../../core/terapipe/overrides';

export const largestKinds = ['sequence', 'micro-batch', 'layers', 'fewest-nodes'] as const;
type LargestKind = (typeof largestKinds)[number];

/** The stage that decides, and the largest part of its memory. Bytes. */
interface LargestLimit {
  readonly stage: number;
  readonly stages: number;
  /** `activations`, `optimizer state`, ... */
  readonly part: string;
  readonly partBytes: number;
  readonly peakBytes: number;
  readonly usableBytes: number;
}

/** What is the most that fits. */
interface Largest {
  readonly what: LargestKind;
  /** The key of terapipe.json that it is of. */
  readonly key: string;
  /** Null: no size fits. Tokens, sequences, layers or nodes. */
  readonly value: number | null;
  /** Values are multiples of it. */
  readonly step: number;
  /** Of the plan with `value`; null where no size fits. */
  readonly limit: LargestLimit | null;
  /** The next size that does not fit, with what it needs over the usable memory, or why it cannot be planned; null: none was refused. */
  readonly next: { readonly value: number; readonly overBytes: number | null; readonly because?: string } | null;
  /** Plans that were made. */
  readonly tried: number;
  readonly notes: readonly string[];
}

interface LargestOptions {
  readonly defaults: ResolveDefaults;
  readonly signal?: CancelSignal;
  /** Hears each value that is planned. */
  readonly onTry?: (value: number) => void;
}

/** The longest sequence that is tried, tokens, and the most nodes. */
const mostTokens = 2 ** 24;
const mostNodes = 4096;
const nodeCounts = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 2048, mostNodes];

/**
 * The largest sequence, micro-batch or number of layers with which a run fits, or the fewest nodes: by bisection over plans of its layout,
 * since the peak of a stage grows with each of these. All else stays as in `run`: schedule, sizes, and the global batch.
 * @throws ExpectedError as `resolveRun` and `makePlan`, where the run itself cannot be planned; CancelledError.
 */
export function largestThatFits(run: Run, what: LargestKind, { defaults, signal, onTry }: LargestOptions): Largest {
  const request = resolveRun(run, defaults, [], signal);
  const fixed = withLayout(run, request);
  const { key, sizes, step, notes } = ladder(what, request);
  const known = new Map<number, Outcome>();
  const at = (value: number): Outcome => {
    const found = known.get(value) ?? outcome(what === 'fewest-nodes' ? run : fixed, key, value, defaults, signal);
    known.set(value, found);
    onTry?.(value);
    return found;
  };
  const isFewest = what === 'fewest-nodes';
  const index = isFewest ? firstFitting(sizes, at, signal) : lastFitting(sizes, at, signal);
  const value = index === null ? null : (sizes[index] ?? null);
  const beyond = isFewest ? (index === null ? sizes.at(-1) : sizes[index - 1]) : sizes[index === null ? 0 : index + 1];
  const refused = beyond === undefined ? null : at(beyond);
  return {
    what,
    key,
    value,
    step,
    limit: value === null ? null : (at(value).limit ?? null),
    next: beyond === undefined || refused === null || refused.fits ? null : refusedSize(beyond, refused),
    tried: known.size,
    notes,
  };
}

function refusedSize(value: number, { limit, because }: Outcome): NonNullable<Largest['next']> {
  if (limit === undefined) return { value, overBytes: null, ...(because === undefined ? {} : { because }) };
  return { value, overBytes: limit.peakBytes - limit.usableBytes };
}

/** What is asked for, from the smallest to the largest that is tried. */
function ladder(what: LargestKind, { model, training, layout }: PlanRequest) {
  switch (what) {
    case 'sequence': {
      const least = 2 * layout.context * layout.tensor;
      const step = Math.max(128, Math.ceil(128 / least) * least);
      const { maxPositions } = model as { readonly maxPositions?: number | null };
      const notes =
        typeof maxPositions === 'number'
          ? [`The model has ${maxPositions.toLocaleString('en-US')} positions; longer sequences need them extended.`]
          : [];
      return { key: 'training.sequenceLength', sizes: multiples(step, mostTokens), step, notes };
    }
    case 'micro-batch': {
      const perReplica = Math.floor(training.globalBatch / layout.data);
      const sizes = listDivisors(Math.max(1, perReplica));
      return {
        key: 'training.microBatch',
        sizes,
        step: 1,
        notes: [`A replica has ${perReplica} sequences a step, which micro-batches divide; a larger global batch allows others.`],
      };
    }
    case 'layers': {
      const step = layout.pipeline * layout.virtualStages;
      return { key: 'model.layers', sizes: multiples(step, 10_000), step, notes: [] };
    }
    case 'fewest-nodes': {
      const sizes = nodeCounts;
      return {
        key: 'cluster.nodes',
        sizes,
        step: 1,
        notes: ['Sizes that the file leaves open are chosen again for each number of nodes.'],
      };
    }
  }
}

function multiples(step: number, most: number): readonly number[] {
  return Array.from({ length: Math.floor(most / step) }, (_, index) => (index + 1) * step);
}

/** The run with the layout and batch of its plan, so that they stay while one size grows. */
function withLayout(run: Run, { layout, training, cluster }: PlanRequest): Run {
  const sizes = (['tensor', 'pipeline', 'data', 'context', 'expert', 'virtualStages'] as const).map(
    (name) => `layout.${name}=${layout[name]}`,
  );
  const batch = [`training.microBatch=${training.microBatch}`, `training.globalBatch=${training.globalBatch}`];
  const nodes = cluster.groups === undefined ? [`cluster.nodes=${cluster.nodes}`, `cluster.gpusPerNode=${cluster.gpusPerNode}`] : [];
  return applyOverrides(run, [...nodes, ...sizes, ...batch], assumedGpuName);
}

interface Outcome {
  readonly fits: boolean;
  readonly limit?: LargestLimit;
  readonly because?: string;
}

function outcome(run: Run, key: string, value: number, defaults: ResolveDefaults, signal: CancelSignal | undefined): Outcome {
  throwIfCancelled(signal);
  try {
    const request = resolveRun(applyOverrides(run, [`${key}=${value}`], assumedGpuName), defaults, [], signal);
    const chosen = chosenCandidate(makePlan(request, { isCompared: false, drawnOperations: 0, signal }));
    const verdict = memoryVerdict(chosen.memory);
    const stage = chosen.memory.stages.find((one) => one.stage === verdict.stage);
    const { peakBytes, usableBytes, stages } = verdict;
    return {
      fits: verdict.fits,
      ...(stage === undefined ? {} : { limit: { stage: verdict.stage, stages, ...largestPart(stage), peakBytes, usableBytes } }),
    };
  } catch (error) {
    if (!(error instanceof ExpectedError)) throw error;
    return { fits: false, because: error.message };
  }
}

const groups: Readonly<Record<string, readonly MemoryPart[]>> = {
  weights: ['weights'],
  gradients: ['gradients'],
  'optimizer state': ['optimizer'],
  activations: ['activations', 'keysValues', 'keptForWeights'],
  'logits and workspaces': ['dummyGradients', 'workspaces', 'logits', 'backwardOperation'],
};

function largestPart({ parts }: Pick<StageMemory, 'parts'>): Pick<LargestLimit, 'part' | 'partBytes'> {
  const sums = Object.entries(groups).map(([part, names]) => ({ part, partBytes: names.reduce((bytes, name) => bytes + parts[name], 0) }));
  return sums.reduce((most, one) => (one.partBytes > most.partBytes ? one : most));
}

/** Index of the last size that fits, where all before it do; null: the first does not. Doubles, then halves. */
function lastFitting(sizes: readonly number[], at: (value: number) => Outcome, signal: CancelSignal | undefined): number | null {
  const fits = (index: number): boolean => at(sizes[index] ?? 0).fits;
  if (sizes.length === 0 || !fits(0)) return null;
  let low = 0;
  let high = 1;
  while (high < sizes.length && fits(high)) {
    throwIfCancelled(signal);
    low = high;
    high = 2 * high + 1;
  }
  high = Math.min(high, sizes.length);
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (fits(middle)) low = middle;
    else high = middle;
  }
  return low;
}

/** Index of the first size that fits; null: none does. Sizes that cannot be planned are passed over, so all are tried in order. */
function firstFitting(sizes: readonly number[], at: (value: number) => Outcome, signal: CancelSignal | undefined): number | null {
  for (const [index, size] of sizes.entries()) {
    throwIfCancelled(signal);
    if (at(size).fits) return index;
  }
  return null;
}

import { allLinear } from '../../../core/run/adapters';
import type { SearchKey } from '../../../core/domain/layout-choices';
import { overridden } from '../../../core/domain/located';
import type { PlanRequest } from '../../../core/domain/request';
import { ExpectedError } from '../../../core/errors';
import { formatCount } from '../../../core/format';
import { leastCommonMultiple, listDivisors } from '../../../core/numbers';
import { assumedGpuName } from '../../../core/plan-request/scenario';
import type { Run } from '../../../core/run/run';
import { sentence, type Sentence } from '../../../core/sentence';
import { applyOverrides } from '../../../core/terapipe/overrides';
import type { LargestKind } from './kinds';

/** The sizes of one kind that a run may have, from the smallest to the largest that is tried. */
export interface Sizes {
  readonly values: readonly number[];
  /** Values are multiples of it; null: they are those that divide something, or a list. */
  readonly step: number | null;
  /** Settings of terapipe.json that give a run this size; empty: no key does. */
  readonly sets: (value: number) => readonly string[];
  /** The run with this size. */
  readonly apply: (run: Run, value: number) => Run;
  /** What the size sets of the layout, which a search leaves as it is. */
  readonly pins: readonly SearchKey[];
  readonly notes: readonly Sentence[];
}

/** The most of each that is tried. */
const mostTokens = 2 ** 24;
const mostLayers = 10_000;
const mostExperts = 8192;
const mostMicroBatch = 65_536;
const mostNodes = 4096;

/**
 * The sizes of a kind that the layout of a run allows: sequences in multiples of what context and sequence parallelism divide, layers that
 * stages divide, experts that their group divides, micro-batches that divide the batch of a replica.
 * @param isSearched the layout is chosen for each size: all that some layout allows. @throws ExpectedError `largest-no-experts`.
 */
export function sizesFor(what: LargestKind, run: Run, resolved: PlanRequest, isSearched: boolean): Sizes {
  const request = isSearched && what !== 'fewest-gpus' ? onOneGpu(resolved) : resolved;
  switch (what) {
    case 'sequence':
      return sequences(request);
    case 'micro-batch':
      return microBatches(run, request);
    case 'layers':
      return bySetting('model.layers', request.layout.pipeline * request.layout.virtualStages, mostLayers);
    case 'lora-rank':
      return ranks(run, request);
    case 'experts':
      return experts(request);
    case 'fewest-gpus':
      return gpus(request);
  }
}

/** What a layout of one GPU allows, some layout does. */
function onOneGpu(request: PlanRequest): PlanRequest {
  return { ...request, layout: { ...request.layout, tensor: 1, pipeline: 1, data: 1, context: 1, expert: 1, virtualStages: 1 } };
}

function sequences({ layout, model }: PlanRequest): Sizes {
  const { maxPositions } = model;
  // Causal context parallelism gives each GPU two parts of a sequence, and tensor parallelism cuts these.
  const step = leastCommonMultiple(128, 2 * layout.context * layout.tensor);
  const notes =
    maxPositions !== null ? [sentence`The model has ${formatCount(maxPositions)} positions; longer sequences need them extended`] : [];
  return { ...bySetting('training.sequenceLength', step, mostTokens), notes };
}

function microBatches({ training: given }: Run, { training, layout: { data } }: PlanRequest): Sizes {
  const pins: readonly SearchKey[] = ['microBatch'];
  const perReplica = Math.max(1, Math.floor(training.globalBatch / data));
  if (given.globalBatch !== undefined) {
    const sizes = settingSizes((value) => [`training.microBatch=${value}`], listDivisors(perReplica), null);
    const note =
      data === 1
        ? sentence`A step has ${perReplica} sequences, which micro-batches divide; a larger global batch allows others`
        : sentence`A replica has ${perReplica} sequences a step, which micro-batches divide; a larger global batch allows others`;
    return { ...sizes, pins, notes: [note] };
  }
  const count = Math.max(1, Math.floor(perReplica / training.microBatch));
  const sets = (value: number): string[] => [`training.microBatch=${value}`, `training.globalBatch=${value * count * data}`];
  const values = multiples(1, Math.min(mostMicroBatch, Math.floor(1_000_000 / (count * data))));
  const note = sentence`The files give no global batch: it grows with the micro-batch, ${count} of them on each replica`;
  return { ...settingSizes(sets, values, 1), pins, notes: [note] };
}

function ranks({ adapters }: Run, { layout, model }: PlanRequest): Sizes {
  return {
    values: multiples(layout.tensor, model.hidden),
    step: layout.tensor,
    sets: () => [],
    apply: (run, rank) => ({ ...run, adapters: { ...(run.adapters ?? assumedAdapters(run)), rank: overridden(rank) } }),
    pins: [],
    notes: adapters === undefined ? [sentence`The files give no adapters: these are on all linear layers, with the weights frozen`] : [],
  };
}

/** Adapters as QLoRA has them (arXiv 2305.14314, section 4): on every linear layer. */
function assumedAdapters({ place }: Run): NonNullable<Run['adapters']> {
  return { place, name: 'lora', targets: overridden([allLinear]) };
}

function experts({ model, layout }: PlanRequest): Sizes {
  if (model.experts === null)
    throw new ExpectedError(
      'largest-no-experts',
      sentence`The model has no experts`,
      sentence`set model.experts and model.activeExperts, or ask for layers`,
    );
  const { values, ...sizes } = bySetting('model.experts', layout.expert, mostExperts);
  const { active } = model.experts;
  return { ...sizes, values: values.filter((count) => count >= active) };
}

/** Parts of a node, then nodes one by one up to 64 of them, then in coarser steps. */
function gpus({ cluster: { gpusPerNode } }: PlanRequest): Sizes {
  const nodes = [...range(1, 64, 1), ...range(72, 512, 8), ...range(576, mostNodes, 64)];
  const values = [...listDivisors(gpusPerNode).filter((count) => count < gpusPerNode), ...nodes.map((count) => count * gpusPerNode)];
  const sets = (count: number): string[] => {
    const each = Math.min(count, gpusPerNode);
    return [`cluster.nodes=${count / each}`, `cluster.gpusPerNode=${each}`];
  };
  const notes = [
    sentence`What the files leave open is chosen again for each number of GPUs, as data parallelism always is`,
    sentence`Above 64 nodes, numbers of nodes are tried in steps of 8, and of 64 above 512`,
  ];
  return { ...settingSizes(sets, values, null), notes };
}

function bySetting(key: string, step: number, most: number): Sizes {
  return settingSizes((value) => [`${key}=${value}`], multiples(step, most), step);
}

function settingSizes(sets: Sizes['sets'], values: readonly number[], step: number | null): Sizes {
  return { values, step, sets, apply: (run, value) => applyOverrides(run, sets(value), assumedGpuName), pins: [], notes: [] };
}

function multiples(step: number, most: number): readonly number[] {
  return range(step, most, step);
}

function range(from: number, to: number, step: number): readonly number[] {
  return Array.from({ length: Math.max(0, Math.floor((to - from) / step) + 1) }, (_, index) => from + index * step);
}

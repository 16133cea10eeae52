import { formatNumber } from '../format';
import { sentence } from '../sentence';
import { configError } from '../config-errors';
import type { Fact, FactName, Facts } from './facts';

const layers = 10_000;
const width = 10_000_000;
const ranks = 100_000;

/** The largest sizes that are read from any file: far beyond every run, and small enough for lists of one entry each. */
export const largest = {
  layers,
  encoderLayers: layers,
  decoderLayers: layers,
  firstDenseLayers: layers,
  firstStageLayers: layers,
  lastStageLayers: layers,
  firstStageLessLayers: layers,
  lastStageLessLayers: layers,
  layersPerStage: layers,
  layersPerVirtualStage: layers,
  recomputeLayers: layers,
  activationOffloadLayers: layers,
  mtpLayers: 100,
  hidden: 1_000_000,
  heads: ranks,
  kvHeads: ranks,
  headDim: 100_000,
  ffn: width,
  expertFfn: width,
  sharedExpertFfn: width,
  vocab: 100_000_000,
  maxPositions: 1_000_000_000,
  experts: ranks,
  activeExperts: ranks,
  sharedExperts: ranks,
  routerGroups: ranks,
  stateHeads: ranks,
  stateHeadDim: 100_000,
  stateDim: 1_000_000,
  stateGroups: ranks,
  tensor: ranks,
  pipeline: 10_000,
  data: 1_000_000,
  context: ranks,
  expert: ranks,
  expertTensor: ranks,
  virtualStages: 10_000,
  totalStages: 100_000,
  splitRank: 10_000,
  sequenceLength: 100_000_000,
  encoderSequenceLength: 100_000_000,
  decoderSequenceLength: 100_000_000,
  microBatch: 1_000_000,
  globalBatch: 10_000_000,
  localBatch: 10_000_000,
  microBatches: 10_000_000,
  gradientAccumulation: 10_000_000,
  slices: 100_000,
  nodes: 1_000_000,
  gpusPerNode: ranks,
} as const satisfies Partial<Record<FactName, number>>;

/** No list is made of these: launchers' files may have what the planner refuses later, by the number of micro-batches. */
const unlisted: ReadonlySet<FactName> = new Set(['globalBatch']);

/** Entries of a list that a file writes out: kinds of layers, layers of each stage. */
const longestList = 100_000;

/**
 * Refuses sizes that no run has, before lists of that length are made.
 * @throws ExpectedError `config-out-of-range` at the value.
 */
export function refuseBeyondLimits(facts: Facts): void {
  for (const [name, fact] of Object.entries(facts) as [FactName, Fact<unknown>][]) {
    const { value, source } = fact;
    const [size, limit] = Array.isArray(value)
      ? [value.length, longestList]
      : [value, (largest as Partial<Record<FactName, number>>)[name]];
    if (typeof size !== 'number' || limit === undefined || size <= limit || unlisted.has(name)) continue;
    const what = fact.name ?? name;
    throw configError(
      'config-out-of-range',
      Array.isArray(value) ? sentence`${what} has ${formatNumber(size)} entries` : sentence`${what} is ${formatNumber(size)}`,
      Array.isArray(value) ? sentence`give it at most ${formatNumber(limit)}` : sentence`give it a number up to ${formatNumber(limit)}`,
      source.kind === 'file' ? source.place : undefined,
    );
  }
}

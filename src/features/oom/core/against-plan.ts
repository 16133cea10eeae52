import { ExpectedError, type CancelSignal } from '../../../core/errors';
import { formatCount } from '../../../core/format';
import { memoryParts, tightestStage, type MemoryPart, type StageMemory } from '../../../core/memory-model/profile';
import { gpusUsed } from '../../../core/domain/request';
import type { NamedProfile } from '../../../core/domain/profile';
import type { ResolveDefaults } from '../../../core/plan-request/scenario';
import { chosenCandidate, type Plan } from '../../../core/planner/plan';
import { planRemedy } from '../../../core/rules/plan/remedies';
import type { Run } from '../../../core/run/run';
import { sentence, type Sentence } from '../../../core/sentence';
import { applyOverrides } from '../../../core/terapipe/overrides';
import type { Evidence, HeldPart } from './evidence';
import type { Verdict } from './verdict';

/** Memory of a stage, measured and planned, bytes; measured null: not known. */
export interface AgainstPlan {
  readonly stage: number;
  readonly stages: number;
  /** Whether the rank of the error gives the stage; false: it is the fullest of the plan. */
  readonly isOfRank: boolean;
  readonly plannedFits: boolean;
  /** The plan may fit or not: see `MemoryVerdict`. */
  readonly plannedTight: boolean;
  readonly rows: readonly { readonly name: string; readonly measuredBytes: number | null; readonly plannedBytes: number }[];
}

/** A change with its price. */
interface PricedFix {
  readonly label: Sentence;
  readonly sets: readonly string[];
  /** Of the stage. */
  readonly freesBytes: number;
  /** Time for as many tokens, over that of the plan, less 1. */
  readonly slower: number;
}

/** Parts of the plan, by what a snapshot distinguishes. */
const groups: readonly (readonly [name: string, held: readonly HeldPart[], planned: readonly MemoryPart[]])[] = [
  ['weights', ['weights'], ['weights']],
  ['gradients', ['gradients'], ['gradients', 'dummyGradients']],
  ['optimizer', ['optimizer'], ['optimizer']],
  ['activations', ['activations'], ['activations', 'keysValues', 'keptForWeights', 'backwardOperation', 'workspaces']],
  ['logits', ['loss'], ['logits']],
];

/** Puts what was measured next to the plan of the rank's stage. */
export function againstPlan(plan: Plan, evidence: Evidence, { rank, account, peak }: Verdict): AgainstPlan | null {
  const { memory, fits, tight } = chosenCandidate(plan);
  const { layout } = plan.request;
  const ranksOfStage = gpusUsed(layout) / layout.pipeline;
  const ofRank = rank === null || layout.order !== undefined ? undefined : memory.stages[Math.floor(rank / ranksOfStage)];
  const stage = ofRank ?? tightestStage(memory.stages);
  if (stage === undefined) return null;
  const { snapshot } = evidence;
  const reserved = account.allocatedBytes === null ? null : account.allocatedBytes + (account.unallocatedBytes ?? 0);
  const inUse = account.capacityBytes === null || account.freeBytes === null ? null : account.capacityBytes - account.freeBytes;
  const parts = groups.map(([name, held, planned]) => ({
    name,
    measuredBytes: snapshot === null ? null : held.reduce((sum, part) => sum + snapshot.parts[part], 0),
    plannedBytes: planned.reduce((sum, part) => sum + stage.parts[part], 0),
  }));
  return {
    stage: stage.stage,
    stages: memory.stages.length,
    isOfRank: ofRank !== undefined,
    plannedFits: fits,
    plannedTight: tight,
    rows: [
      ...parts,
      { name: 'in tensors', measuredBytes: account.allocatedBytes ?? peak.allocatedBytes, plannedBytes: plannedTensors(stage) },
      { name: 'reserved', measuredBytes: reserved ?? peak.reservedBytes, plannedBytes: stage.reservedBytes },
      { name: 'in use', measuredBytes: inUse ?? peak.inUseBytes, plannedBytes: stage.inUseBytes },
    ],
  };
}

function plannedTensors({ parts }: StageMemory): number {
  return memoryParts.reduce((sum, part) => sum + parts[part], 0);
}

export interface Pricing {
  readonly defaults: ResolveDefaults;
  /** Profiles near the config, one of which is used where it matches; left out: none. */
  readonly found?: readonly NamedProfile[];
  readonly signal?: CancelSignal;
}

/**
 * The usual measures, each planned: those that free memory of the stage, cheapest first. Of a plan that does not fit `findRemedies` knows
 * more.
 */
export function priceFixes(run: Run, plan: Plan, stage: number, { defaults, found = [], signal }: Pricing): readonly PricedFix[] {
  const before = chosenCandidate(plan);
  const peakBytes = (stages: readonly StageMemory[]): number => stages[stage]?.peakBytes ?? 0;
  return usualChanges(plan)
    .flatMap(({ label, sets }): PricedFix[] => {
      const changed = plannedOrNull(() => planRemedy(applyOverrides(run, sets), plan, { defaults, found, signal }));
      if (changed === null) return [];
      const after = chosenCandidate(changed);
      const freesBytes = peakBytes(before.memory.stages) - peakBytes(after.memory.stages);
      return freesBytes <= 0 ? [] : [{ label, sets, freesBytes, slower: before.tokensPerSecond / after.tokensPerSecond - 1 }];
    })
    .toSorted((a, b) => a.slower - b.slower);
}

function plannedOrNull(work: () => Plan): Plan | null {
  try {
    return work();
  } catch (error) {
    if (error instanceof ExpectedError) return null;
    throw error;
  }
}

function usualChanges({ request: { training, layout } }: Plan): { readonly label: Sentence; readonly sets: readonly string[] }[] {
  const { microBatch, zeroStage, recompute } = training;
  const half = microBatch / 2;
  return [
    ...(Number.isInteger(half)
      ? [{ label: sentence`Use a micro-batch of ${formatCount(half)}`, sets: [`training.microBatch=${half}`] }]
      : []),
    ...(recompute === 'none' ? [{ label: sentence`Recompute attention`, sets: ['training.recompute=selective'] }] : []),
    ...(recompute === 'full' ? [] : [{ label: sentence`Recompute all layers`, sets: ['training.recompute=full'] }]),
    ...(zeroStage === 0 && layout.data > 1 ? [{ label: sentence`Shard the optimizer (ZeRO 1)`, sets: ['training.zeroStage=1'] }] : []),
  ];
}

import { requestDifferences, type RequestDifference } from '../features/compare/core/request-diff';
import { whatIfKeys, type WhatIfChunks, type WhatIfSet } from '../core/layout-search/what-if';
import { memoryVerdict, type MemoryVerdict } from '../core/memory-model/verdict';
import { chosenCandidate, type Plan } from '../core/planner/plan';
import type { Value } from '../core/sentence';
import type { PageError } from './page-error';

/*
 * The part of the protocol about changes of a plan: sizes that are tried before they are written, and the plans that there were.
 */

declare module './page' {
  interface TabParts {
    /** Sizes that the page tries; null without a plan. */
    readonly whatIf?: WhatIfState | null;
    /** The plans that the config had; null without a plan. */
    readonly history?: HistoryState | null;
  }
}

/** The figures of a plan that is not on screen. */
export interface PlanFigures {
  /** `1F1B`. */
  readonly name: Value;
  readonly iterationMs: number;
  readonly tokensPerSecond: number;
  /** Sequences of its step. */
  readonly globalBatch: number;
  readonly verdict: MemoryVerdict;
}

export function planFigures(plan: Plan): PlanFigures {
  const { name, iterationMs, tokensPerSecond, memory } = chosenCandidate(plan);
  return { name, iterationMs, tokensPerSecond, globalBatch: plan.request.training.globalBatch, verdict: memoryVerdict(memory) };
}

/** Sizes and settings that a page tries, none at first. */
export interface WhatIfState {
  /** Edits of the config so far: the host forgets what is tried at each. */
  readonly edits: number;
  readonly chunks: WhatIfChunks;
  /** Whether the config can leave recompute and the micro-batch to the planner: files of launchers say them. */
  readonly leavesOpen: boolean;
  /** Layers of each stage as they are planned, or of each virtual stage in the order of the model. */
  readonly cut: readonly number[];
  readonly sets: readonly WhatIfSet[];
  /** Null while they are planned, and where they cannot be. */
  readonly tried: PlanFigures | null;
  readonly error: PageError | null;
}

/** A plan that a config had, newest first. */
export interface PastPlan {
  readonly id: number;
  readonly figures: PlanFigures;
  /** What it was planned with differently from the plan before it, what a person sets first. */
  readonly changes: readonly RequestDifference[];
  /** The plan of the files as they were saved last. */
  readonly isSaved: boolean;
  readonly isPinned: boolean;
}

/** The plans of a config since it was opened, newest first; the first is the current one. */
export interface HistoryState {
  readonly plans: readonly PastPlan[];
  /** How many plans can be pinned at once. */
  readonly mostPinned: number;
  /** Whether the last edit that a page asked for can be taken back. */
  readonly canUndo: boolean;
}

const firstKeys = new Set<string>(['schedule', 'training.recompute', 'training.globalBatch', 'training.sequenceLength', ...whatIfKeys]);

/** What differs between two plans, what a person sets first. */
export function changesBetween(before: Plan, after: Plan): readonly RequestDifference[] {
  const differences = requestDifferences(before, after, chosenCandidate(before), chosenCandidate(after));
  return [...differences.filter(({ key }) => firstKeys.has(key)), ...differences.filter(({ key }) => !firstKeys.has(key))];
}

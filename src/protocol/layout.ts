import type * as v from 'valibot';
import { memoryVerdict, type MemoryVerdict } from '../core/memory-model/verdict';
import { lengthsText } from '../core/plan-request/scenario';
import { chosenCandidate, candidatePeakBytes, type Plan } from '../core/planner/plan';
import type { Assumption, Layout, TrainingSpec } from '../core/domain/request';
import type { SearchUpdate } from '../core/layout-search/answer';
import { launchedAgainstBest } from '../core/layout-search/launched';
import { assumedBy, listPlans, type ListedPlan, type PlanRole } from '../core/layout-search/plans';
import {
  optimalityGap,
  type FoundPlan,
  type Improvement,
  type NotFitting,
  type SearchResult,
  type StepPart,
} from '../core/layout-search/result';
import type { SearchCounts, SearchProgress } from '../core/layout-search/search';
import type { SearchKey } from '../core/domain/layout-choices';
import { runtimeProfile } from '../core/domain/runtime';
import {
  gainsOver,
  keptFreeText,
  layoutText,
  recomputeText,
  ruleOfBest,
  settingsText,
  stageLayersText,
} from '../core/layout-search/labels';
import { runtimesNeeded } from '../core/layout-search/runtimes-needed';
import type { PageError } from './page-error';
import type { layoutPoint } from './page-schema';
import type { Sentence, Value } from '../core/sentence';

/*
 * The Layout view's part of the protocol. The host keeps the `SearchResult` with an id of its own for each, and the page gets
 * `toLayoutAnswer` of it. A page names a plan by that id and the index into `plans`, which is that into `listPlans(result)`; the host does
 * nothing for an id that is not the one it sent last, or an index out of range.
 */

declare module './page' {
  interface TabParts {
    /** Null for what has no layout to search: the page then has no Layout tab. */
    readonly layout?: LayoutState | null;
  }
}

/** A plan of one answer: `LayoutAnswer.id`, and the index into `LayoutAnswer.plans`. */
export type LayoutPoint = v.InferOutput<typeof layoutPoint>;

/** A layout and what is predicted of it, in numbers and words. Times ms, memory of the worst stage in bytes. */
export interface PageLayout {
  /** `TP8 PP16 DP128, micro-batch 1, full recompute`. */
  readonly words: Sentence;
  readonly layout: Layout;
  /** `order tp-cp-ep-pp-dp, micro-batch 1, ZeRO 1`. */
  readonly settings: Value;
  /** `1F1B`, `interleaved 1F1B, 4 virtual stages`, `TeraPipe, 8 slices`. */
  readonly name: Value;
  /** `full recompute`, `recompute of mlp`; null for none. */
  readonly recompute: Sentence | null;
  readonly iterationMs: number;
  readonly peakBytes: number;
  readonly fits: boolean;
  readonly verdict: MemoryVerdict;
  readonly bubbleRate: number;
  readonly tokensPerSecond: number;
  readonly mfu: number;
}

/** A plan that a search found. */
export interface PageFound extends PageLayout {
  /** `8 layers a stage`. */
  readonly stages: Sentence;
  /** Within the error bar of the best. */
  readonly tie: boolean;
  /** They add up to `iterationMs`. */
  readonly parts: Readonly<Record<StepPart, number>>;
  readonly roles: readonly PlanRole[];
  /** Why it lost, in a sentence; null for the best. */
  readonly why: Sentence | null;
}

type PageImprovement = Pick<Improvement, 'change' | 'speedup' | 'summary'>;

/** A `SearchResult` as far as a page draws it. */
export interface LayoutAnswer {
  /** Another one for every search. */
  readonly id: string;
  readonly title: string;
  readonly gpuName: string;
  readonly gpus: number;
  readonly layers: number;
  /** Their length: `4,096 tokens`, or `512 + 128 tokens` of source and target. */
  readonly sequences: Sentence;
  readonly globalBatch: number;
  /** Of one GPU; `usableBytes` is the highest peak that fits it under the best layout. */
  readonly capacityBytes: number;
  readonly usableBytes: number;
  /** Fastest first; `best` is the index of the best. */
  readonly plans: readonly PageFound[];
  readonly best: number;
  /** The config's own as the search predicts it, and how it compares with the best (`why`); null where the files name no whole layout. */
  readonly launched: PageFound | null;
  readonly notFitting: readonly NotFitting[];
  /** What layouts keep free of each GPU's memory, and why; null where nothing beyond what all do. */
  readonly keptFree: Sentence | null;
  /** By what rule the best was taken. */
  readonly rule: Sentence;
  /** The runtime that times are predicted for. */
  readonly runtime: string;
  /** What the best of each schedule needs that this runtime does not run, a sentence each. */
  readonly needs: readonly Sentence[];
  /** What gains of improvements are over, where that is not the best. */
  readonly gainsOver: Sentence | null;
  /** Most helpful first; empty while they are looked into. */
  readonly improvements: readonly PageImprovement[];
  readonly fixed: readonly SearchKey[];
  /** What measured times fix beyond the files; null for predicted times. */
  readonly measured: SearchResult['measured'];
  readonly assumed: readonly Assumption[];
  readonly cost: SearchResult['cost'];
  /** That the files train on, and the price of one GPU for an hour; null where they do not give it. */
  readonly tokens: number | null;
  readonly gpuHourPrice: number | null;
  readonly lowerBoundMs: number;
  /** How much slower the best may be than the fastest layout there could be, as a share. */
  readonly gap: number;
  readonly proved: boolean;
  readonly counts: SearchCounts;
  /** Layouts are not written into a file of this kind: they are exported as a new one. */
  readonly isReadOnly?: true;
}

/** What a search shows while it runs. */
export interface LayoutRunning {
  /** The fastest that fits so far. */
  readonly best: { readonly words: Sentence; readonly iterationMs: number; readonly peakBytes: number } | null;
  /** No layout is faster; null before that is known. */
  readonly lowerBoundMs: number | null;
  readonly counts: SearchCounts | null;
  /** What it looks into now, when that is no longer the layouts themselves: `twice the network bandwidth`. */
  readonly change: Sentence | null;
  /** 0..1, or null when unknown. */
  readonly fraction: number | null;
}

/** What the Layout view shows. */
export interface LayoutState {
  /** A search under way, or what would help being looked into (then `answer` exists already); null: none. */
  readonly running: LayoutRunning | null;
  readonly answer: LayoutAnswer | null;
  /** Edits since `answer` was found: 0 when it is current. */
  readonly staleEdits: number;
  /** Why the last search stopped; null when it ended well, was cancelled, or none was made. */
  readonly error: PageError | null;
  /** The config's own layout and schedule by its plan, for as long as `answer` has none; null where it names none. */
  readonly launched: PageLayout | null;
  /** Index into `answer.plans` of the one that `PageState.plan` shows instead of the config's own; null: the config's own. */
  readonly opened: number | null;
}

/** Before any search; a state starts with this, and then follows the search by `withUpdate`. */
export const noLayoutState: LayoutState = { running: null, answer: null, staleEdits: 0, error: null, launched: null, opened: null };

/** What a page gets of a result. @param id another one for every search. */
export function toLayoutAnswer(result: SearchResult, id: string): LayoutAnswer {
  const { request, best, gpus, fixed, measured, notFitting, improvements, cost, lowerBoundMs, proved, counts } = result;
  const { model, training, cluster, title } = request;
  const listed = listPlans(result);
  const against = launchedAgainstBest(result);
  return {
    id,
    title,
    gpus,
    fixed,
    measured,
    notFitting,
    cost,
    tokens: training.tokens ?? null,
    gpuHourPrice: cluster.pricePerGpuHour ?? null,
    lowerBoundMs,
    proved,
    counts,
    gpuName: cluster.gpu.name,
    layers: model.layers,
    sequences: lengthsText(training),
    globalBatch: training.globalBatch,
    capacityBytes: cluster.gpu.memoryBytes,
    usableBytes: best.verdict.usableBytes,
    plans: listed.map(pageFound),
    best: listed.findIndex(({ plan }) => plan === best),
    launched: against === null ? null : pageFound({ plan: against.launched, roles: [], why: against.summary }),
    improvements: improvements.map(pageImprovement),
    assumed: assumedBy(result),
    gap: optimalityGap(result),
    gainsOver: gainsOver(result),
    keptFree: keptFreeText(result),
    rule: ruleOfBest(result),
    runtime: runtimeProfile(result.request.training).shortName,
    needs: runtimesNeeded(result),
  };
}

function pageImprovement({ change, speedup, summary }: Improvement): PageImprovement {
  return { change, speedup, summary };
}

function pageFound({ plan, roles, why }: ListedPlan): PageFound {
  const { point, tie, parts } = plan;
  return { ...pageLayout(plan), stages: stageLayersText(point), tie, parts, roles, why };
}

function pageLayout({ point, name, iterationMs, peakBytes, fits, verdict, bubbleRate, tokensPerSecond, mfu }: FoundPlan): PageLayout {
  return {
    layout: point.layout,
    name,
    iterationMs,
    peakBytes,
    fits,
    verdict,
    bubbleRate,
    tokensPerSecond,
    mfu,
    ...layoutWords(point),
  };
}

function layoutWords(of: {
  readonly layout: Layout;
  readonly training: TrainingSpec;
}): Pick<PageLayout, 'words' | 'settings' | 'recompute'> {
  return { words: layoutText(of), settings: settingsText(of), recompute: recomputeText(of.training) };
}

/** The layout of a plan with its chosen candidate, for `LayoutState.launched`. */
export function launchedPageLayout(plan: Plan): PageLayout {
  const { layout } = plan.request;
  const candidate = chosenCandidate(plan);
  const { name, iterationMs, fits, bubbleRate, tokensPerSecond, mfu } = candidate;
  return {
    layout,
    name,
    iterationMs,
    fits,
    bubbleRate,
    tokensPerSecond,
    mfu,
    ...layoutWords(plan.request),
    peakBytes: candidatePeakBytes(candidate),
    verdict: memoryVerdict(candidate.memory),
  };
}

/**
 * The state after what a running search reports; when it ends, the host sets `running` to null and `answer` to that of the whole result
 * with the same id. @param id of the answer that it finds.
 */
export function withUpdate(state: LayoutState, update: SearchUpdate, id: string): LayoutState {
  switch (update.kind) {
    case 'searching':
      return { ...state, running: { ...toProgress(update), change: null, fraction: null }, error: null };
    case 'found': {
      const running = { ...(state.running ?? nothingYet), change: null, fraction: null };
      return { ...state, running, answer: toLayoutAnswer(update.result, id), staleEdits: 0, opened: null };
    }
    case 'helping': {
      const { change, index, count, improvements } = update;
      const running = { ...(state.running ?? nothingYet), change, fraction: index / count };
      return {
        ...state,
        running,
        answer: state.answer === null ? null : { ...state.answer, improvements: improvements.map(pageImprovement) },
      };
    }
  }
}

/** A search that has just begun. */
export const nothingYet: LayoutRunning = { best: null, lowerBoundMs: null, counts: null, change: null, fraction: null };

function toProgress({ best, lowerBoundMs, counts }: SearchProgress): Pick<LayoutRunning, 'best' | 'lowerBoundMs' | 'counts'> {
  return {
    best: best === null ? null : { words: layoutText(best.point), iterationMs: best.iterationMs, peakBytes: best.peakBytes },
    lowerBoundMs: Number.isFinite(lowerBoundMs) && lowerBoundMs > 0 ? lowerBoundMs : null,
    counts,
  };
}

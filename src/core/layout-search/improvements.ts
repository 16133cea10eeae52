import { scheduleKind } from '../schedules/registry';
import { ExpectedError, type CancelSignal } from '../errors';
import { formatCount, formatDuration, formatNumber, formatPercent } from '../format';
import { createDescriber } from './describe';
import { createEvaluator } from './evaluate';
import { keepingFree, measuredChoices, type SearchProblem } from './search-problem';
import { fastestFound, type FoundPlan, type Improvement, type SearchResult } from './result';
import { bestFirst } from './search';
import { searchKeySetter, type SetBy } from '../domain/capabilities';
import { searchKeys, sizeKeys, type SearchKey } from '../domain/layout-choices';
import { layoutText } from './labels';
import { sentence, type Sentence } from '../sentence';

interface Change {
  readonly change: Sentence;
  readonly problem: SearchProblem;
}

const onHost = sentence`the optimizer on the GPU or the host, chosen freely`;

const released: Readonly<Partial<Record<SearchKey, Sentence>>> = {
  recompute: sentence`recompute chosen freely`,
  zeroStage: sentence`ZeRO 0 or 1, chosen freely`,
  dataReplicate: sentence`groups of replicas (HSDP) chosen freely`,
  schedule: sentence`the schedule chosen freely`,
  virtualStages: sentence`virtual stages chosen freely`,
  microBatch: sentence`the micro-batch chosen freely`,
  offloadOptimizer: onHost,
  contextParallelComm: sentence`context parallelism's exchange chosen freely`,
};

/** One change to evaluate, and the search that predicts its gain. */
interface WhatIf {
  readonly change: Sentence;
  readonly searchAgain: (signal?: CancelSignal) => Improvement;
}

/**
 * What might help: more nodes, a faster network, more memory, operations issued faster, a larger batch, and letting go of what is fixed;
 * each change by itself. Looking into one is a search of its own over everything that is not fixed (half a second for a large cluster), so
 * the caller may show the answers as they come; `mostHelpful` sorts them.
 */
export function whatIfs({ keptFree, ...problem }: SearchProblem, result: SearchResult): WhatIf[] {
  const { keptFree: answered } = result;
  const best = fastestFound(result);
  const kept = answered?.best === 'keeps' && keptFree !== undefined ? { keptFree } : {};
  return improvingChanges({ ...problem, ...kept }, best).map((change) => ({
    change: change.change,
    searchAgain: (signal) => improvement(change, best, signal),
  }));
}

/** By tokens per second. */
export function mostHelpful(improvements: readonly Improvement[]): Improvement[] {
  return improvements.toSorted((a, b) => b.speedup - a.speedup);
}

/** Orders are planned, and slices solved, for other times only where the best has them: that takes longer than all else. */
function improvingChanges(
  { request, fixed, schedules, keptFree, strict = false, triesHost = false }: SearchProblem,
  best: FoundPlan,
): Change[] {
  const { cluster, training, constants } = request;
  const { links, gpu } = cluster;
  const measured = measuredChoices(request);
  /** Fixed, and to be let go. */
  const isFree = (key: SearchKey): boolean => fixed.has(key) && measured?.keys.includes(key) !== true;
  const who = (key: SearchKey): SetBy => searchKeySetter(request.capabilities, key);
  const among = {
    ...(schedules === undefined ? {} : { schedules }),
    ...(keptFree === undefined ? {} : { keptFree }),
    strict,
    triesHost,
    withoutPlanned: !scheduleKind(best.point.schedule).planned,
    ...(best.point.slices > 1 ? {} : { slicesAre: 'equal' as const }),
  };
  const changed = (change: Sentence, different: Partial<SearchProblem['request']>, free: readonly SearchKey[] = []): Change => ({
    change,
    problem: { request: { ...request, ...different }, fixed: without(fixed, free), ...among },
  });
  // with all sizes fixed, more GPUs are more replicas
  const more = (nodes: number, words: Sentence): Change => changed(words, { cluster: { ...cluster, nodes } }, ['data']);
  const faster = { ...links, nicGBps: 2 * links.nicGBps };
  return [
    ...(cluster.nodes > 1 ? [more(cluster.nodes + 1, sentence`one node more`)] : []),
    more(2 * cluster.nodes, sentence`twice the nodes`),
    ...(cluster.nodes > 1 ? [changed(sentence`twice the network bandwidth`, { cluster: { ...cluster, links: faster } })] : []),
    changed(sentence`twice the memory of each GPU`, { cluster: { ...cluster, gpu: { ...gpu, memoryBytes: 2 * gpu.memoryBytes } } }),
    ...(measured === null
      ? [
          changed(sentence`operations issued twice as fast (CUDA graphs)`, {
            constants: { ...constants, issueFloorUs: constants.issueFloorUs / 2 },
          }),
        ]
      : []),
    changed(sentence`twice the global batch`, { training: { ...training, globalBatch: 2 * training.globalBatch } }),
    ...searchKeys
      .filter((key) => isFree(key) && released[key] !== undefined && who(key) !== 'nobody')
      .map((key) => changed(outsideFile(released[key] ?? sentence`${key}`, [who(key)]), {}, [key])),
    ...(triesHost || fixed.has('offloadOptimizer') || training.optimizer === 'none' ? [] : [withHost(changed(onHost, {}))]),
    ...levels.flatMap((level, index) => {
      const reached = levels.slice(0, index + 1);
      // only together can they move
      const keys = sizeKeys.filter((key) => reached.includes(who(key)));
      const isNew = keys.some((key) => who(key) === level && isFree(key));
      return isNew ? [changed(outsideFile(sentence`all sizes of parallel groups chosen freely`, reached), {}, keys)] : [];
    }),
  ];
}

/** Who can set a choice, the file first. */
const levels = ['file', 'elsewhere', 'nobody'] as const satisfies readonly SetBy[];

/** A change, with the place that can make it where the file cannot. */
function outsideFile(change: Sentence, whose: readonly SetBy[]): Sentence {
  if (whose.includes('nobody')) return sentence`${change}, with another launcher`;
  return whose.includes('elsewhere') ? sentence`${change}, in the training script` : change;
}

function withHost({ change, problem }: Change): Change {
  return { change, problem: { ...problem, triesHost: true } };
}

function without(fixed: ReadonlySet<SearchKey>, keys: readonly SearchKey[]): Set<SearchKey> {
  return new Set([...fixed].filter((key) => !keys.includes(key)));
}

/** Less than this is not a gain. */
const leastGain = 0.001;

function improvement({ change, problem }: Change, best: FoundPlan, signal: CancelSignal | undefined): Improvement {
  const keeping = keepingFree(problem);
  const evaluator = createEvaluator(keeping.request);
  const sameBatch = problem.request.training.globalBatch / best.point.training.globalBatch;
  const found = foundOrNull(() =>
    bestFirst(keeping, { signal, bestOnly: true, ...(best.fits ? { belowMs: sameBatch * best.iterationMs } : {}) }, evaluator),
  );
  if (found === null)
    return nothing(
      change,
      sentence`${change}: no layout uses those ${formatCount(problem.request.cluster.nodes * problem.request.cluster.gpusPerNode)} GPUs for the same batch`,
    );
  if (found.best === null)
    return nothing(change, best.fits ? sentence`${change}: nothing gained` : sentence`${change}: still nothing fits`);
  const plan = createDescriber(problem, evaluator).plan(found.best.point);
  const speedup = plan.tokensPerSecond / best.tokensPerSecond;
  if (best.fits && speedup < 1 + leastGain) return nothing(change, sentence`${change}: nothing gained`);
  const gain =
    speedup >= 1.1
      ? sentence`${formatNumber(speedup)}x the tokens per second`
      : sentence`${formatPercent(speedup - 1)} more tokens per second`;
  const how = sentence`${formatDuration(plan.iterationMs)} a step with ${layoutText(plan.point)}, ${plan.name}`;
  return {
    change,
    method: 'search',
    plan,
    speedup,
    summary: best.fits ? sentence`${change}: ${gain} (${how})` : sentence`${change}: fits, ${how}`,
  };
}

function nothing(change: Sentence, summary: Sentence): Improvement {
  return { change, method: 'search', plan: null, speedup: 1, summary };
}

/** Null where no layout uses the GPUs. */
function foundOrNull<T>(search: () => T): T | null {
  try {
    return search();
  } catch (error) {
    if (error instanceof ExpectedError && error.code === 'search-no-layout') return null;
    throw error;
  }
}

// Not the presets: the page loads this, and would load cards and other makers' GPUs with it.
import { nvidiaServers } from '../../cluster/gpus/nvidia-servers';
import type { CancelSignal } from '../../errors';
import { formatCount, formatNumber } from '../../format';
import { scheduleOn, mostTriedOperations, operationCount } from '../../schedules/on-layout';
import { listOf, sentence, type Value } from '../../sentence';
import type { Assumption, PlanRequest } from '../../domain/request';
import type { Scheme } from '../../domain/scheme';
import type { CostProvenance } from '../../domain/slice-cost';
import { assumptionsByWeight, deciding, type AssumedMove, type DecidingKey, type WeighedAssumption } from './assumption-texts';
import type { Candidate } from '../plan';
import { buildPipeline } from '../predict/pipeline';
import { stepMs } from '../predict/predict';
import { worthSaying } from './slower';
import { maximum } from '../../numbers';

/*
 * What a plan assumes, by what it moves. See docs/model/time.md, What is assumed.
 */

/** The way to run the step by which assumptions are weighed. */
type WeighedWay = Pick<Candidate, 'schedule' | 'scheme' | 'iterationMs'>;

/**
 * The assumptions of a plan with what the deciding ones move, the most first: the step with other values, by the same schedule, slices and
 * sizes. Takes some simulations, none of them long.
 */
export function weighedAssumptions(request: PlanRequest, chosen: WeighedWay, signal?: CancelSignal): readonly WeighedAssumption[] {
  const weighed = assumptionsByWeight(request.assumptions).map((assumption) => ({
    ...assumption,
    moves: assumedMoves(request, chosen, assumption.key, signal),
  }));
  const isDeciding = ({ key }: Assumption): boolean => (deciding as readonly string[]).includes(key);
  const weight = ({ moves }: WeighedAssumption): number => Math.max(0, maximum(moves.map(({ slower }) => Math.abs(Math.log1p(slower)))));
  return [
    ...weighed.filter(isDeciding).toSorted((a, b) => weight(b) - weight(a)),
    ...weighed.filter((assumption) => !isDeciding(assumption)),
  ];
}

/** Assumptions that the range of step times covers, and what each is called there. */
const covered = {
  'cluster.links.nicGBps': sentence`the network rate`,
  'training.attentionKernel': sentence`the attention kernel`,
} as const;

/**
 * Error bars that also cover the network rate and the attention kernel that a plan assumes. Their errors are independent of those of
 * measured runs, so the squares of the logarithms add up. The reason names what widens the range.
 */
export function coveringAssumed(cost: CostProvenance, request: PlanRequest, chosen: WeighedWay, signal?: CancelSignal): CostProvenance {
  const assumed = new Set(request.assumptions.map(({ key }) => key));
  const moves = (Object.keys(covered) as (keyof typeof covered)[])
    .filter((key) => assumed.has(key))
    .map((key) => ({ key, times: assumedMoves(request, chosen, key, signal).map(({ slower }) => 1 + slower) }));
  const end = (sign: 1 | -1, own: number): number => {
    const logs = [own, ...moves.map(({ times }) => Math.max(1, maximum(times.map((each) => each ** sign))) ** sign)].map(Math.log);
    return Math.exp(sign * Math.hypot(...logs.map((log) => Math.max(0, sign * log))));
  };
  const [low, high] = cost.range;
  const range = [Math.min(low, end(-1, low)), Math.max(high, end(1, high))] as const;
  const rangeText = ([from, to]: readonly [number, number]): string => `${formatNumber(from)} ${formatNumber(to)}`;
  if (rangeText(range) === rangeText(cost.range)) return { ...cost, range };
  const what = listOf(
    moves.filter(({ times }) => times.some((each) => Math.abs(Math.log(each)) >= worthSaying)).map(({ key }) => covered[key]),
  );
  const wider = sentence`${formatNumber(range[0])} to ${formatNumber(range[1])} times with what is assumed (${what})`;
  return { ...cost, range, errorBecause: sentence`${cost.errorBecause}; ${wider}` };
}

function assumedMoves(request: PlanRequest, chosen: WeighedWay, key: string, signal: CancelSignal | undefined): readonly AssumedMove[] {
  const { costTable, profile, cluster, layout } = request;
  if (costTable !== null || profile !== null || cluster.groups !== undefined) return [];
  const kind = scheduleOn(chosen.schedule, layout);
  if (kind.planned || operationCount(kind, layout, chosen.scheme) > mostTriedOperations) return [];
  const alternatives = Object.hasOwn(others, key) ? others[key as DecidingKey](request) : [];
  return alternatives.flatMap(({ to, ...change }) => {
    const changed = { ...request, ...change };
    const ms = stepMs(buildPipeline(changed), { kind, scheme: rescaleScheme(changed, chosen) }, signal);
    if (ms === null) return [];
    const slower = ms / changed.training.globalBatch / (chosen.iterationMs / request.training.globalBatch) - 1;
    return [{ to, slower }];
  });
}

/** The chosen slices on as many sequences as a replica has after a change. */
function rescaleScheme({ training, layout }: PlanRequest, { scheme }: WeighedWay): Scheme {
  const before = scheme.reduce((sum, { batch }) => sum + batch, 0);
  const after = training.globalBatch / layout.data;
  if (before === after) return scheme;
  const [first = { batch: 1, tokens: [training.sequenceLength] }] = scheme;
  return Array.from({ length: Math.max(1, Math.round(after / first.batch)) }, () => first);
}

type Alternative = { readonly to: Value } & Partial<Pick<PlanRequest, 'cluster' | 'training' | 'layout'>>;

/** Values that a run may have in place of an assumed one. */
const others: Readonly<Record<DecidingKey, (request: PlanRequest) => readonly Alternative[]>> = {
  'cluster.gpu': ({ cluster }) =>
    (['A100-80GB', 'H100-80GB', 'B200'] as const)
      .filter((name) => name !== cluster.gpu.name)
      .map((name) => {
        const { gpu, links } = nvidiaServers[name];
        return { to: name, cluster: { ...cluster, gpu: { name, ...gpu }, links } };
      }),
  'cluster.nodes': ({ cluster, layout, training }) =>
    Number.isInteger(training.globalBatch / (2 * layout.data) / training.microBatch)
      ? [
          {
            to: sentence`${formatCount(2 * cluster.nodes)} nodes`,
            cluster: { ...cluster, nodes: 2 * cluster.nodes },
            layout: { ...layout, data: 2 * layout.data },
          },
        ]
      : [],
  'training.globalBatch': ({ training }) => [
    { to: formatCount(2 * training.globalBatch), training: { ...training, globalBatch: 2 * training.globalBatch } },
  ],
  'cluster.links.nicGBps': ({ cluster }) =>
    cluster.nodes === 1
      ? []
      : [1 / 4, 1 / 2, 2].map((times) => ({
          to: sentence`${formatNumber(8 * times * cluster.links.nicGBps)} Gbit/s`,
          cluster: { ...cluster, links: { ...cluster.links, nicGBps: times * cluster.links.nicGBps } },
        })),
  'training.attentionKernel': (request) => {
    const { cluster, training, assumptions } = request;
    const own = assumptions.find(({ key }) => key === 'training.attentionKernel')?.value;
    const measured = Object.keys(cluster.gpu.attentionEfficiency ?? {}) as NonNullable<typeof training.attentionKernel>[];
    return measured
      .filter((kernel) => kernel !== own)
      .map((kernel) => ({ to: kernel, training: { ...training, attentionKernel: kernel } }));
  },
  'training.recompute': ({ training }) =>
    (['none', 'selective', 'full'] as const)
      .filter((recompute) => recompute !== training.recompute)
      .map((recompute) => ({ to: recompute, training: { ...training, recompute } })),
};

import { placementText } from '../../core/cluster/groups';
import { runtimeProfile, sendsText } from '../../core/domain/runtime';
import { column, formatDuration, formatNumber, formatPercent, formatRate, formatTokens, plural } from '../../core/format';
import { verdictWord } from '../../core/memory-model/verdict';
import { movesText, type WeighedAssumption } from '../../core/planner/explain/assumption-texts';
import { limitedBy } from '../../core/planner/explain/limit-labels';
import { isTie } from '../../core/planner/explain/reasons';
import { slowdownText } from '../../core/planner/explain/slower';
import { bestWay, drawsText, wayText } from '../../core/planner/lengths/length-reasons';
import type { OverLengths } from '../../core/planner/lengths/lengths-result';
import { candidatePeakBytes, chosenCandidate, type Plan } from '../../core/planner/plan';
import type { Remedy } from '../../core/rules/plan/remedy';
import { say, sentence, type Value } from '../../core/sentence';
import { printable } from '../../core/text';
import { schemeText } from '../scheme-text';
import { section, table } from '../table';

/** What `plan --all` prints after the answer: how the step adds up, the other schedules, why, and what it rests on. */
export function planDetails({
  plan,
  remedies,
  assumed,
}: {
  readonly plan: Plan;
  readonly remedies: readonly Remedy[];
  readonly assumed: readonly WeighedAssumption[];
}): string[] {
  const { cost, reasons } = plan;
  const tied = plan.candidates.some((candidate) => isTie(plan, candidate));
  const rows = assumed.map((assumption) => [
    printable(assumption.key),
    printable(assumption.value),
    printable(say(assumptionSentence(assumption))),
  ]);
  return [
    ...remediesSection(remedies),
    ...section('The step', table(stepRows(plan), [1])),
    ...section('Compared', comparedTable(plan)),
    ...planLengths(plan),
    ...section('Why', reasons.map((reason) => printable(say(reason))).join('\n')),
    ...section(
      'Times',
      `${printable(say(cost.description))}\n±${formatNumber(cost.errorPercent)} %: ${printable(say(cost.errorBecause))}${tied ? '; those marked ~ are within error of the chosen' : ''}`,
    ),
    ...section('Assumed', table(rows, [1, 2])),
  ];
}

function stepRows(plan: Plan): string[][] {
  const { request, limits } = plan;
  const { layout, training, cluster } = request;
  const chosen = chosenCandidate(plan);
  const parts = [
    ['pipeline', chosen.pipelineMs],
    ['gradient exchange', chosen.gradientExchangeMs],
    ['optimizer', chosen.optimizerMs],
  ] as const;
  const runtime = runtimeProfile(training);
  const placed = placementText(cluster, layout);
  const limited = limitedBy(limits);
  return [
    [
      'adds up',
      parts
        .filter(([, ms]) => ms > 0)
        .map(([name, ms]) => `${name} ${formatDuration(ms)}`)
        .join(' + '),
    ],
    ['bubble', bubbleText(chosen.bubbleRate)],
    ...(limited === null ? [] : [['limited by', say(limited)]]),
    ...(placed === null ? [] : [['placed', say(placed)]]),
    ...(layout.pipeline > 1 ? [['sends', `${say(sendsText[runtime.sends])}: ${runtime.name}`]] : []),
    ['slices', schemeText(chosen.scheme)],
  ];
}

/** A share of idle time; what zero-bubble schedules leave of it is less than can be predicted. */
function bubbleText(rate: number, format = formatPercent): string {
  return rate > 0 && rate < 0.001 ? '< 0.1 %' : format(rate);
}

function comparedTable(plan: Plan): string {
  const rows = plan.candidates.map((candidate) => [
    `${candidate.id === plan.chosen ? '*' : isTie(plan, candidate) ? '~' : ' '} ${say(candidate.name)}`,
    column.duration(candidate.iterationMs),
    bubbleText(candidate.bubbleRate, column.percent),
    column.bytes(candidatePeakBytes(candidate)),
    candidate.fits ? '' : say(verdictWord(candidate)),
  ]);
  return table([['', 'step', 'bubble', 'memory', ''], ...rows], [4]);
}

/** Why a value is assumed, and what others would make of the step. */
function assumptionSentence(assumption: WeighedAssumption): Value {
  const moves = movesText(assumption);
  return moves === null ? assumption.reason : sentence`${assumption.reason}; ${moves}`;
}

/** Changes with which a plan fits that does not, cheapest first. */
export function remediesSection(remedies: readonly Remedy[]): string[] {
  if (remedies.length === 0) return [];
  const rows = remedies.map(({ label, iterationMs, slower }) => [
    printable(say(label)),
    column.duration(iterationMs),
    say(slowdownText(slower)),
  ]);
  return section('Fits with, cheapest first', table(rows, [0]));
}

/** Changes with which the plan fits, cheapest first: what to set, and the step; nothing for a plan that fits. */
export function remediesJson(remedies: readonly Remedy[]): object {
  if (remedies.length === 0) return {};
  return {
    remedies: remedies.map(({ label, sets, iterationMs, slower }) => ({
      change: say(label),
      set: Object.fromEntries(sets),
      iterationMs,
      slower,
    })),
  };
}

/** What steps of documents of many lengths take: a line for each way; nothing where all are as long. */
export function planLengths({ overLengths }: Pick<Plan, 'overLengths'>): string[] {
  return overLengths === undefined ? [] : section('Lengths', lengthsText(overLengths));
}

function lengthsText(over: OverLengths): string {
  const { lengths, meanTokens, longestTokens, trainingTokens, cutShare, ways } = over;
  const best = bestWay(ways);
  const worst = over.exact || over.draws >= 100 ? '99 of 100' : 'longest';
  const rows = ways.map((way) => [
    `${way === best ? '*' : ' '} ${say(wayText(way))}`,
    column.duration(way.expectedMs),
    column.duration(way.worstMs),
    `${formatRate(way.tokensPerSecond)} tokens/s`,
    formatPercent(way.filled),
    column.bytes(way.peakBytes),
    way.fits ? '' : say(verdictWord(way)),
  ]);
  const cut = cutShare > 0 ? `; ${formatPercent(cutShare)} are longer than ${formatTokens(trainingTokens)} and cut` : '';
  return [
    `${plural(lengths, 'length')} of documents, ${formatTokens(Math.round(meanTokens))} on average, ${formatTokens(longestTokens)} at most${cut}; ${say(drawsText(over))}`,
    table([['', 'expected', worst, 'throughput', 'filled', 'memory', ''], ...rows], [6]),
  ].join('\n');
}

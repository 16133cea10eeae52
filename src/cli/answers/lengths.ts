import { column, formatCount, formatDuration, formatPercent, formatTokens, plural } from '../../core/format';
import { verdictWord } from '../../core/memory-model/verdict';
import { bestWay, drawsText, wayText } from '../../core/planner/lengths/length-reasons';
import type { Plan } from '../../core/planner/plan';
import type { OverLengths } from '../../core/planner/lengths/lengths-result';
import { say } from '../../core/sentence';
import { table } from '../table';

/** What a step takes in the best way to train documents of many lengths: the plan's own is of sequences that are all as long. */
export function lengthsLine({ overLengths }: Pick<Plan, 'overLengths'>): string[][] {
  const best = bestWay(overLengths?.ways ?? []);
  return best === null ? [] : [['by lengths', `${formatDuration(best.expectedMs)} expected: ${say(wayText(best))}`]];
}

/** Title and body of what steps of documents of many lengths take: a line for each way. */
export function lengthsSection(over: OverLengths): [string, string] {
  const { lengths, meanTokens, longestTokens, trainingTokens, cutShare, ways } = over;
  const best = bestWay(ways);
  const worst = over.exact || over.draws >= 100 ? '99 of 100' : 'longest';
  const rows = ways.map((way) => [
    `${way === best ? '*' : ' '} ${say(wayText(way))}`,
    column.duration(way.expectedMs),
    column.duration(way.worstMs),
    `${formatCount(way.tokensPerSecond)} tokens/s`,
    formatPercent(way.filled),
    column.bytes(way.peakBytes),
    way.fits ? '' : say(verdictWord(way)),
  ]);
  const cut = cutShare > 0 ? `; ${formatPercent(cutShare)} are longer than ${formatTokens(trainingTokens)} and cut` : '';
  return [
    'Lengths',
    [
      `${plural(lengths, 'length')} of documents, ${formatTokens(Math.round(meanTokens))} on average, ${formatTokens(longestTokens)} at most${cut}; ${say(drawsText(over))}`,
      table([['', 'expected', worst, 'throughput', 'filled', 'memory', ''], ...rows], [6]),
    ].join('\n'),
  ];
}

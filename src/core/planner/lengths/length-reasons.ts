import { formatCount, formatDuration, formatNumber, formatPercent, formatTokens } from '../../format';
import { verdictWord } from '../../memory-model/verdict';
import { counted, sentence, type Sentence } from '../../sentence';
import type { OverLengths, PolicyResult } from './lengths-result';

/** What each way is called. */
const wayNames: Readonly<Record<PolicyResult['way'], Sentence>> = {
  pad: sentence`padded`,
  pack: sentence`packed`,
  chunks: sentence`in chunks`,
};

/** How a way makes micro-batches. */
export function wayText({ way, schedule, chunkTokens, cut }: Pick<PolicyResult, 'way' | 'schedule' | 'chunkTokens' | 'cut'>): Sentence {
  switch (way) {
    case 'pad':
      return sentence`every document padded to ${formatTokens(chunkTokens)}, ${schedule}`;
    case 'pack':
      return sentence`packed into ${formatTokens(chunkTokens)}, ${schedule}`;
    case 'chunks':
      return cut === 'equal'
        ? sentence`chunks of ${formatTokens(chunkTokens)}, long documents cut and short ones packed, ${schedule}`
        : sentence`chunks of ${formatTokens(chunkTokens)}, long documents cut into slices of equal work and short ones packed, ${schedule}`;
  }
}

/** Of the ways that fit the one with the shortest steps; of all, where none fits; null without ways. */
export function bestWay(ways: readonly PolicyResult[]): PolicyResult | null {
  const fitting = ways.filter(({ fits }) => fits);
  return (fitting.length > 0 ? fitting : ways).reduce<PolicyResult | null>(
    (best, way) => (best === null || way.expectedMs < best.expectedMs ? way : best),
    null,
  );
}

/** `all 165 global batches`, `200 drawn global batches`. */
export function drawsText({ draws, exact }: Pick<OverLengths, 'draws' | 'exact'>): Sentence {
  if (exact) return sentence`over all ${formatCount(draws)} global batches that there can be`;
  return sentence`over ${formatCount(draws)} global batches drawn with a fixed seed`;
}

/** `5.4 s in 99 of 100 steps`; of few draws the longest. */
function worstText({ worstMs }: Pick<PolicyResult, 'worstMs'>, { draws, exact }: Pick<OverLengths, 'draws' | 'exact'>): Sentence {
  return exact || draws >= 100
    ? sentence`at most ${formatDuration(worstMs)} in 99 of 100 steps`
    : sentence`at most ${formatDuration(worstMs)} in ${draws} drawn steps`;
}

/** One line: the best way for documents of many lengths, what it takes, and what the others take over it. */
export function lengthReasons(over: OverLengths): Sentence[] {
  const best = bestWay(over.ways);
  if (best === null) return [];
  const others = over.ways.filter((way) => way !== best);
  const expected = sentence`a step over ${counted(over.lengths, 'length')} of documents takes ${formatDuration(best.expectedMs)} on average, ${worstText(best, over)}, with documents ${wayNames[best.way]}`;
  const compared = others.reduce(
    (line, way) =>
      way.expectedMs >= best.expectedMs
        ? sentence`${line}; ${wayNames[way.way]} ${formatNumber(way.expectedMs / best.expectedMs)}x of that`
        : sentence`${line}; ${wayNames[way.way]} ${formatPercent(1 - way.expectedMs / best.expectedMs)} less, but it ${verdictWord(way)}`,
    expected,
  );
  return [over.replicas > 1 ? sentence`${compared}; ${balanceText(best, over)}` : compared];
}

/** How far the fullest replica may be from what another assignment would give it. */
function balanceText({ overBound }: Pick<PolicyResult, 'overBound'>, { replicas }: Pick<OverLengths, 'replicas'>): Sentence {
  return overBound === 1
    ? sentence`no other assignment of its micro-batches to ${counted(replicas, 'replica')} has less work on the fullest one`
    : sentence`the fullest of its ${counted(replicas, 'replica')} is at most ${formatPercent(overBound - 1)} above the least of any assignment, on average`;
}

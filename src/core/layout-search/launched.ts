import { formatCount, formatDuration, formatPercent } from '../format';
import { verdictText } from '../memory-model/verdict';
import { slowdownText } from '../planner/explain/slower';
import { refusedSizes } from './refused-sizes';
import { joinedGpus } from '../domain/cluster';
import type { FoundPlan, SearchResult } from './result';
import { sameTime } from './search-problem';
import { crossingText, layoutText, whyLost } from './labels';
import { counted, listOf, say, sentence, type Sentence } from '../sentence';

/** Whether an interleaved schedule has a number of micro-batches that its stages do not divide. */
export function isUneven({ pipeline, virtualStages }: FoundPlan['point']['layout'], scheme: FoundPlan['scheme']): boolean {
  return virtualStages > 1 && scheme.length % pipeline !== 0;
}

/** How the launched layout compares with the best. */
interface LaunchedAgainstBest {
  readonly launched: FoundPlan;
  readonly best: FoundPlan;
  /** Step time of the launched over that of the best: above 1 the best is faster. */
  readonly speedup: number;
  /** `as launched 14.2 s, best 11.8 s, 20.3 % faster`; `as launched 11.8 s: the best layout`. */
  readonly title: Sentence;
  /** The same after the name of the layout: `14.2 s, best 11.8 s, 20.3 % faster`; `does not fit; best that fits: 11.8 s`. */
  readonly verdict: Sentence;
  /**
   * Why, in a sentence: `tensor 16 crosses nodes of 8 GPUs: 1.6x the time of TP8 PP16 DP128, ...: 5.3 s more collectives
   * inside layers`.
   */
  readonly summary: Sentence;
}

/** The launched layout of a search against its best, in words; null where the files launch no whole layout. */
export function launchedAgainstBest({ launched, best, request }: SearchResult): LaunchedAgainstBest | null {
  if (launched === null) return null;
  const speedup = launched.iterationMs / best.iterationMs;
  const verdict = launchedVerdict(launched, best, request);
  const starts = best.fits && launched.fits && refusedSizes(request, launched.point.layout) === null;
  const title = starts ? sentence`as launched ${verdict}` : best.fits ? sentence`launched layout ${verdict}` : verdict;
  const wrong = faults(launched, request);
  const comparison = against(launched, best);
  return { launched, best, speedup, title, verdict, summary: wrong.length > 0 ? sentence`${listOf(wrong)}: ${comparison}` : comparison };
}

function launchedVerdict(launched: FoundPlan, best: FoundPlan, request: SearchResult['request']): Sentence {
  const [own, least] = [formatDuration(launched.iterationMs), formatDuration(best.iterationMs)];
  if (!best.fits) return sentence`no layout fits; ${least} with the least memory`;
  if (refusedSizes(request, launched.point.layout) !== null) return sentence`does not start; best that fits: ${least}`;
  if (launched.verdict.tight && !launched.fits) return sentence`may not fit; best that fits: ${least}`;
  if (!launched.fits) return sentence`does not fit; best that fits: ${least}`;
  if (isSame(launched, best)) return sentence`${own}: the best layout`;
  if (tiesWith(launched, best)) return sentence`${own}, as fast as the best within ${formatPercent(sameTime - 1)}`;
  return sentence`${own}, best ${least}, ${slowdownText(best.iterationMs / launched.iterationMs - 1)}`;
}

/** Whether no layout is faster than the launched one beyond what counts as a tie. */
export function isAsFast(launched: FoundPlan, best: FoundPlan): boolean {
  return isSame(launched, best) || tiesWith(launched, best);
}

/** Whether a launched layout ties with the best, which then has less memory. */
function tiesWith(launched: FoundPlan, best: FoundPlan): boolean {
  return launched.fits && launched.iterationMs < best.iterationMs && best.iterationMs <= sameTime * launched.iterationMs;
}

/** What is plainly wrong with a launched layout. */
function faults({ point, verdict, scheme }: FoundPlan, request: SearchResult['request']): Sentence[] {
  const { cluster } = request;
  const { tensor, pipeline } = point.layout;
  const refused = refusedSizes(request, point.layout);
  const wanted = counted(pipeline, 'micro-batch', 'micro-batches');
  return [
    ...(refused === null ? [] : [refused]),
    ...(isUneven(point.layout, scheme) ? [sentence`interleaving needs a multiple of ${wanted}, not ${formatCount(scheme.length)}`] : []),
    ...(tensor > joinedGpus(cluster) ? [sentence`tensor ${formatCount(tensor)} ${crossingText(cluster)}`] : []),
    ...(verdict.fits ? [] : [verdictText(verdict)]),
  ];
}

function against(launched: FoundPlan, best: FoundPlan): Sentence {
  const other = sentence`${layoutText(best.point)}, ${best.name}`;
  if (!best.fits)
    return launched.iterationMs === best.iterationMs ? sentence`no layout fits` : sentence`no layout fits; least memory has ${other}`;
  if (isSame(launched, best)) return sentence`this is the best layout`;
  if (tiesWith(launched, best)) return sentence`as fast as the best within ${formatPercent(sameTime - 1)}; least memory has ${other}`;
  if (launched.iterationMs < best.iterationMs)
    return launched.fits ? sentence`the best that launchers accept is ${other}` : sentence`the best that fits is ${other}`;
  return sentence`${whyLost(launched, best)}; compared with ${other}`;
}

/** The same step of the same layout, whichever of them was predicted first: sums of the same times in another order differ by rounding. */
function isSame(a: FoundPlan, b: FoundPlan): boolean {
  return (
    Math.abs(a.iterationMs - b.iterationMs) <= 1e-6 * b.iterationMs &&
    a.peakBytes === b.peakBytes &&
    say(layoutText(a.point)) === say(layoutText(b.point))
  );
}

import { formatCount, formatDuration, formatNumber, formatPercent, plural } from '../../../src/core/format';
import type { SearchKey } from '../../../src/core/domain/layout-choices';
import type { LayoutAnswer, LayoutRunning } from '../../../src/protocol/layout';
import { sentence } from '../../shared/sentence';
import { t } from '../../base/strings';
import { say } from '../../../src/core/sentence';

/** What a search may choose, in words. */
export function keyName(key: SearchKey): string {
  const names: Readonly<Record<SearchKey, string>> = {
    tensor: t('tensor size'),
    pipeline: t('stages'),
    data: t('replicas'),
    context: t('context size'),
    expert: t('expert size'),
    expertTensor: t('expert tensor size'),
    virtualStages: t('virtual stages'),
    order: t('order of ranks'),
    microBatch: t('micro-batch'),
    recompute: t('recompute'),
    zeroStage: t('ZeRO stage'),
    dataReplicate: t('groups of replicas (HSDP)'),
    offloadOptimizer: t('place of the optimizer'),
    contextParallelComm: t('context-parallel collectives'),
    sequenceParallel: t('sequence parallelism'),
    schedule: t('schedule'),
  };
  return names[key];
}

/** How close the best layout is to the lower bound. */
export function proofSentence({ plans, best, lowerBoundMs, gap, proved }: LayoutAnswer): string {
  if (plans[best]?.fits !== true) return t('No layout fits: the one with the least memory is shown.');
  return proved
    ? t('Proved: no layout with equal or optimized slices is faster.')
    : t('No layout is faster than {0}: a gap of {1}.', formatDuration(lowerBoundMs), formatPercent(gap));
}

/** What measured times fix beyond the files. */
export function measuredSentence({ by, keys, mostMicroBatch }: NonNullable<LayoutAnswer['measured']>): string {
  const names = keys.map(keyName).join(', ');
  const fixed =
    keys.length === 0
      ? t('Times are measured.')
      : by === 'profile'
        ? t('Fixed by the profile: {0}.', names)
        : t('Fixed by the cost table: {0}.', names);
  if (mostMicroBatch === null) return fixed;
  return `${fixed} ${t('Micro-batches of at most {0}, as measured.', plural(mostMicroBatch, t('sequence'), t('sequences')))}`;
}

/** How many layouts were evaluated, and how many were ruled out. */
export function countsSentence({ counts }: LayoutAnswer): string {
  const { families, opened, considered, bounded, overMemory, evaluated, planned, tooLarge } = counts;
  const simulated = t(
    '{0}, {1} of them cut in {2}: {3} ruled out by memory, {4} by time, {5} simulated.',
    plural(families, t('layout'), t('layouts')),
    formatCount(opened),
    plural(considered, t('way'), t('ways')),
    formatCount(overMemory),
    formatCount(bounded),
    formatCount(evaluated),
  );
  return [
    simulated,
    ...(planned > 0 ? [t('The orders of {0} were planned for their times.', formatCount(planned))] : []),
    ...(tooLarge > 0 ? [t('{0} were left out as too large.', formatCount(tooLarge))] : []),
  ].join(' ');
}

/** How wide the error bar is, and how many others are as good within it. */
export function tieSentence({ cost }: LayoutAnswer, ties: number): string {
  const bar = t('Times are ±{0} %', formatNumber(cost.errorPercent));
  const others =
    ties === 0 ? t('none is within error of the best') : t('{0} within error of the best', plural(ties, t('layout is'), t('layouts are')));
  return sentence(`${bar}: ${others}`);
}

/** How far a search is, in a sentence. */
export function runningSentence({ best, lowerBoundMs, counts, change }: LayoutRunning): string {
  if (change !== null) return t('Finding what would help: {0}.', say(change, t));
  if (counts === null) return t('Searching layouts.');
  const { families, considered, evaluated, planned } = counts;
  const simulated = t('{0} layouts considered, {1} of them simulated.', formatCount(families + considered), formatCount(evaluated));
  const looked = planned > 0 ? `${simulated} ${t('Planning orders: {0} so far.', formatCount(planned))}` : simulated;
  if (best === null) return `${t('Nothing fits yet.')} ${looked}`;
  const bound = lowerBoundMs === null ? '' : `, ${t('none is faster than {0}', formatDuration(lowerBoundMs))}`;
  return `${t('Best so far {0}', formatDuration(best.iterationMs))} (${say(best.words, t)})${bound}. ${looked}`;
}

import { formatBytes, formatCount, formatDuration, formatNumber, formatPercent } from '../format';
import { slowdownText, worthSaying } from '../planner/explain/slower';
import { runtimeProfile } from '../domain/runtime';
import { joinedGpus, type NodeGroup } from '../domain/cluster';
import type { Bound } from './bounds';
import { sizesText } from '../domain/sizes-text';
import type { SearchPoint } from './known';
import { sameTime, type SearchProblem } from './search-problem';
import { fastestFound, stepPartNames, stepParts, type FoundPlan, type SearchResult } from './result';
import type { CandidateGroup } from './candidate-group';
import { counted, listOf, sentence, type Sentence, type Value } from '../sentence';

/** `TP8 PP16 DP128, micro-batch 1, full recompute`: what distinguishes one layout from another, in a line. */
export function layoutText({ layout, training }: Pick<CandidateGroup, 'layout' | 'training'>): Sentence {
  const { context, order } = layout;
  return sentence`${listOf([
    sizesText(layout),
    ...(context > 1 && training.contextParallelComm === 'ring' ? [sentence`ring attention`] : []),
    ...(order === undefined ? [] : [sentence`order ${order}`]),
    sentence`micro-batch ${formatCount(training.microBatch)}`,
    ...recomputeWords(training),
    ...shardingWords(layout, training),
  ])}`;
}

/** How layouts of the same sizes and recompute differ: `order tp-cp-ep-pp-dp, micro-batch 1, ZeRO 1`. */
export function settingsText({ layout, training }: Pick<CandidateGroup, 'layout' | 'training'>): Value {
  return listOf([
    ...(training.contextParallelComm === 'ring' ? [sentence`ring attention`] : []),
    ...(layout.order === undefined ? [] : [sentence`order ${layout.order}`]),
    sentence`micro-batch ${formatCount(training.microBatch)}`,
    ...shardingWords(layout, training),
  ]);
}

function shardingWords({ data, context }: CandidateGroup['layout'], training: CandidateGroup['training']): Value[] {
  const { zeroStage, dataReplicate = 1, offloadOptimizer, activationOffloadLayers = 0 } = training;
  return [
    ...(data * context === 1 && zeroStage < 2 ? [] : [`ZeRO ${zeroStage}`]),
    ...(zeroStage > 0 && dataReplicate > 1 ? [sentence`in ${counted(dataReplicate, 'group')} (HSDP)`] : []),
    ...(offloadOptimizer === true ? [sentence`optimizer on the host`] : []),
    ...(activationOffloadLayers > 0 ? [sentence`activations of ${counted(activationOffloadLayers, 'layer')} on the host`] : []),
  ];
}

/** `full recompute`, `recompute of core_attn, mlp`; null for none. */
export function recomputeText(training: CandidateGroup['training']): Sentence | null {
  return recomputeWords(training)[0] ?? null;
}

function recomputeWords(training: CandidateGroup['training']): Sentence[] {
  const { recompute, recomputeLayers, recomputeGroup = 1, recomputeModules, recomputeEvery = 2 } = training;
  if (recompute === 'none') return [];
  if (recompute === 'op') return [sentence`op-level recompute`];
  if (recompute === 'every') return [sentence`full recompute of one layer in ${formatCount(recomputeEvery)}`];
  if (recompute === 'selective') return [sentence`recompute of ${(recomputeModules ?? ['core_attn']).join(', ')}`];
  const full =
    recomputeLayers === undefined ? sentence`full recompute` : sentence`full recompute of ${counted(recomputeLayers, 'layer')} a stage`;
  return [recomputeGroup > 1 ? sentence`${full}, ${formatCount(recomputeGroup)} layers together` : full];
}

/** `8 layers a stage`, `7, 8 x 14, 7 layers`. */
export function stageLayersText({ stageLayers }: Pick<SearchPoint, 'stageLayers'>): Sentence {
  const runs: { layers: number; stages: number }[] = [];
  for (const layers of stageLayers) {
    const last = runs.at(-1);
    if (last?.layers === layers) last.stages++;
    else runs.push({ layers, stages: 1 });
  }
  const [only] = runs;
  if (only !== undefined && runs.length === 1) return sentence`${formatCount(only.layers)} layers a stage`;
  const counts = runs.map(({ layers, stages }) => (stages === 1 ? formatCount(layers) : `${formatCount(layers)} x ${formatCount(stages)}`));
  return sentence`${counts.join(', ')} layers`;
}

/** By what rule the best was taken, and what it gives up for less memory. */
export function ruleOfBest(result: Pick<SearchResult, 'best' | 'paretoFront' | 'request'>): Sentence {
  const { best } = result;
  if (!best.fits) return sentence`no layout fits: the one with the least memory`;
  const { shortName } = runtimeProfile(result.request.training);
  const rule = sentence`the fastest that fits; of ties within ${formatPercent(sameTime - 1)}, what ${shortName} runs, then the least memory`;
  const tie = bestOfTies(result);
  return tie === null ? rule : sentence`${rule}: ${tie}`;
}

/** What the best gives up where it is a tie with the fastest: `0.879 % slower than the fastest, 4.03 GiB less memory`; else null. */
export function bestOfTies(result: Pick<SearchResult, 'best' | 'paretoFront'>): Sentence | null {
  const { best } = result;
  const fastest = fastestFound(result);
  if (fastest.iterationMs === best.iterationMs) return null;
  const slower = formatPercent(best.iterationMs / fastest.iterationMs - 1);
  return sentence`${slower} slower than the fastest, ${memoryApart(best, fastest)}`;
}

/** What gains are gains over, where that is not the best: `compared with the fastest layout, 31.9 s a step`. */
export function gainsOver(result: Pick<SearchResult, 'best' | 'paretoFront'>): Sentence | null {
  const { iterationMs } = fastestFound(result);
  return iterationMs === result.best.iterationMs ? null : sentence`compared with the fastest layout, ${formatDuration(iterationMs)} a step`;
}

/** `crosses nodes of 8 GPUs`, `leaves the 72 GPUs that NVLink joins`: what a group does that is larger than `joinedGpus`. */
export function crossingText(cluster: Pick<NodeGroup, 'gpusPerNode' | 'links'>): Sentence {
  const joined = joinedGpus(cluster);
  return joined > cluster.gpusPerNode
    ? sentence`leaves the ${formatCount(joined)} GPUs that NVLink joins`
    : sentence`crosses nodes of ${formatCount(cluster.gpusPerNode)} GPUs`;
}

/**
 * `layouts keep 6.5 % of GPU memory free: 6 of 56 measured runs of Megatron-LM took over 7 % more than predicted`; null where nothing is
 * kept free or nothing fits.
 */
export function keptFreeText({ keptFree, best }: Pick<SearchResult, 'keptFree' | 'best'>): Sentence | null {
  if (keptFree === null || !best.fits) return null;
  const { share, because, slowdown = null } = keptFree;
  const percent = formatPercent(share);
  switch (keptFree.best) {
    case 'keeps':
      return sentence`layouts keep ${percent} of GPU memory free: ${because}`;
    case 'launched':
      return sentence`layouts keep ${percent} of GPU memory free: ${because}; the launched layout keeps less and is the fastest`;
    case 'tight':
      return slowdown === null
        ? sentence`no layout keeps ${percent} of GPU memory free, and the best fits tightly: ${because}`
        : sentence`the best fits tightly: layouts with ${percent} of GPU memory free take ${formatNumber(slowdown)}x the time: ${because}`;
  }
}

/** Why a layout lost: how much slower it is, and which parts of its step are longer and shorter than the best's. */
export function whyLost(plan: FoundPlan, best: FoundPlan): Sentence {
  const differences = stepParts
    .map((part) => ({ part, ms: plan.parts[part] - best.parts[part] }))
    .filter(({ ms }) => Math.abs(ms) >= worthSaying * best.iterationMs)
    .sort((a, b) => b.ms - a.ms);
  const largest = (sign: 1 | -1): Sentence[] =>
    differences
      .filter(({ ms }) => sign * ms > 0)
      .sort((a, b) => sign * (b.ms - a.ms))
      .slice(0, 2)
      .map(({ part, ms }) =>
        sign === 1
          ? sentence`${formatDuration(ms)} more ${stepPartNames[part]}`
          : sentence`${formatDuration(-ms)} less ${stepPartNames[part]}`,
      );
  const [longer, shorter] = [largest(1), largest(-1)];
  const slower = slowdownText(plan.iterationMs / best.iterationMs - 1);
  const gained = shorter.length > 0 ? sentence`${listOf(longer)}, for ${listOf(shorter)}` : listOf(longer);
  const time = longer.length > 0 ? sentence`${slower}: ${gained}` : slower;
  const lost = plan.peakBytes === best.peakBytes ? time : sentence`${time}; ${memoryApart(plan, best)}`;
  return plan.tie ? sentence`within error, ${lost}` : lost;
}

function memoryApart(a: FoundPlan, b: FoundPlan): Sentence {
  const bytes = a.peakBytes - b.peakBytes;
  return bytes > 0 ? sentence`${formatBytes(bytes)} more memory` : sentence`${formatBytes(-bytes)} less memory`;
}

/**
 * Why a layout that may be faster is none of the answers.
 * @param roomyBytes the peak up to which layouts were searched: with what is kept free, less than `usableBytes`, which is all that fits.
 */
export function whyTooLarge(
  { iterationMs, peakBytes }: Bound,
  roomyBytes: number,
  usableBytes: number,
  best: FoundPlan,
  { keptFree }: SearchProblem,
): Sentence {
  const time = sentence`at best ${formatDuration(iterationMs)}, ${slowdownText(iterationMs / best.iterationMs - 1)}`;
  const needs = sentence`${time}, but needs ${formatBytes(peakBytes)} or more where ${formatBytes(usableBytes)} are usable`;
  if (keptFree === undefined || peakBytes > usableBytes) return needs;
  return sentence`${needs}, and searches leave room to spare: ${formatBytes(roomyBytes)} with ${formatPercent(keptFree.share)} of GPU memory kept free`;
}

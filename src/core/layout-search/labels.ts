import { formatBytes, formatCount, formatDuration, formatNumber, formatPercent, plural } from '../format';
import { scheduleDescriptions } from '../schedules/descriptions';
import { joinedGpus, type NodeGroup } from '../spec/cluster';
import type { Bound } from './bounds';
import type { SearchPoint } from './known';
import { stepPartNames, stepParts, type FoundPlan } from './result';
import type { CandidateGroup } from './candidate-group';
import { sentence, type Sentence } from '../sentence';

/** `tensor 8 x pipeline 16 x data 128, micro-batch 1, full recompute`: what tells one layout from another, in a line. */
export function layoutText({ layout, training }: Pick<CandidateGroup, 'layout' | 'training'>): string {
  const { tensor, pipeline, data, context, expert, expertTensor } = layout;
  const sizes = [
    `tensor ${formatCount(tensor)}`,
    `pipeline ${formatCount(pipeline)}`,
    `data ${formatCount(data)}`,
    ...(context > 1 ? [`context ${formatCount(context)}${training.contextParallelComm === 'ring' ? ' (ring)' : ''}`] : []),
  ].join(' x ');
  return [
    sizes,
    ...(expert > 1 ? [`expert ${formatCount(expert)}`] : []),
    ...(expertTensor !== undefined && expertTensor !== tensor ? [`expert tensor ${formatCount(expertTensor)}`] : []),
    `micro-batch ${formatCount(training.microBatch)}`,
    ...recomputeWords(training),
    ...(data * context === 1 && training.zeroStage < 2 ? [] : [`ZeRO ${training.zeroStage}`]),
    ...(training.offloadOptimizer === true ? ['optimizer on the host'] : []),
    ...((training.activationOffloadLayers ?? 0) > 0
      ? [`activations of ${plural(training.activationOffloadLayers ?? 0, 'layer')} on the host`]
      : []),
  ].join(', ');
}

/** `none`, `full recompute`, `recompute of core_attn, mlp`. */
export function recomputeText(training: CandidateGroup['training']): string {
  return recomputeWords(training)[0] ?? 'none';
}

function recomputeWords({ recompute, recomputeLayers, recomputeGroup = 1, recomputeModules }: CandidateGroup['training']): string[] {
  if (recompute === 'none') return [];
  if (recompute === 'selective') return [`recompute of ${(recomputeModules ?? ['core_attn']).join(', ')}`];
  const group = recomputeGroup > 1 ? `, ${formatCount(recomputeGroup)} layers together` : '';
  return [
    recomputeLayers === undefined ? `full recompute${group}` : `full recompute of ${plural(recomputeLayers, 'layer')} a stage${group}`,
  ];
}

/** `8 layers a stage`, `7, 8 x 14, 7 layers`. */
export function stageLayersText({ stageLayers }: Pick<SearchPoint, 'stageLayers'>): string {
  const runs: { layers: number; stages: number }[] = [];
  for (const layers of stageLayers) {
    const last = runs.at(-1);
    if (last?.layers === layers) last.stages++;
    else runs.push({ layers, stages: 1 });
  }
  const [only] = runs;
  if (only !== undefined && runs.length === 1) return `${formatCount(only.layers)} layers a stage`;
  return `${runs.map(({ layers, stages }) => (stages === 1 ? formatCount(layers) : `${formatCount(layers)} x ${formatCount(stages)}`)).join(', ')} layers`;
}

/** What a plan needs to run that the usual launchers are not: `a runtime that splits backward, such as TorchTitan's`; null for nothing. */
export function neededFor({ point }: Pick<FoundPlan, 'point'>): string | null {
  return scheduleDescriptions[point.schedule].needs;
}

/**
 * A line for each of some plans that needs something: `ZB-H1 needs a runtime that splits backward, such as sail-sg's zero-bubble
 * Megatron-LM`.
 */
export function runtimesNeeded(plans: readonly FoundPlan[]): string[] {
  return plans.flatMap((plan) => {
    const needs = neededFor(plan);
    return needs === null ? [] : [`${plan.name} needs ${needs}`];
  });
}

/** `crosses nodes of 8 GPUs`, `leaves the 72 GPUs that NVLink joins`: what a group does that is larger than `joinedGpus`. */
export function crossingText(cluster: Pick<NodeGroup, 'gpusPerNode' | 'links'>): Sentence {
  const joined = joinedGpus(cluster);
  return joined > cluster.gpusPerNode
    ? sentence`leaves the ${formatCount(joined)} GPUs that NVLink joins`
    : sentence`crosses nodes of ${formatCount(cluster.gpusPerNode)} GPUs`;
}

/** Shares of the best's step below this are not worth a word. */
const worthSaying = 0.005;

/** Why a layout lost: how much slower it is, and what of its step is longer and shorter than the best's. */
export function whyLost(plan: FoundPlan, best: FoundPlan): string {
  const differences = stepParts
    .map((part) => ({ part, ms: plan.parts[part] - best.parts[part] }))
    .filter(({ ms }) => Math.abs(ms) >= worthSaying * best.iterationMs)
    .sort((a, b) => b.ms - a.ms);
  const said = (sign: 1 | -1, word: string): string[] =>
    differences
      .filter(({ ms }) => sign * ms > 0)
      .sort((a, b) => sign * (b.ms - a.ms))
      .slice(0, 2)
      .map(({ part, ms }) => `${formatDuration(Math.abs(ms))} ${word} ${stepPartNames[part]}`);
  const [longer, shorter] = [said(1, 'more'), said(-1, 'less')];
  const ratio = plan.iterationMs / best.iterationMs;
  const slower = ratio < 1.0005 ? 'as fast' : ratio < 1.1 ? `${formatPercent(ratio - 1)} slower` : `${formatNumber(ratio)}x the time`;
  const reason = longer.length > 0 ? `: ${longer.join(', ')}${shorter.length > 0 ? `, for ${shorter.join(', ')}` : ''}` : '';
  const memory = plan.peakBytes - best.peakBytes;
  const bytes = memory === 0 ? '' : `; ${formatBytes(Math.abs(memory))} ${memory > 0 ? 'more' : 'less'} memory`;
  return `${plan.tie ? 'within error, ' : ''}${slower}${reason}${bytes}`;
}

/** Why a layout that may be faster is none of the answers. */
export function whyTooLarge({ iterationMs, peakBytes }: Bound, usableBytes: number, best: FoundPlan): string {
  const gain = best.iterationMs / iterationMs;
  return `at best ${formatDuration(iterationMs)} (${formatNumber(gain)}x over the best), but needs ${formatBytes(peakBytes)} or more where ${formatBytes(usableBytes)} fit`;
}

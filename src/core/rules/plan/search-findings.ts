import type { Run } from '../../run/run';
import { joinedGpus, type ClusterSpec } from '../../domain/cluster';
import type { Finding } from '../../findings';
import { formatCount, formatDuration, formatNumber, formatPercent } from '../../format';
import { type FoundPlan, type SearchResult, type StepPart, stepPartNames, stepParts } from '../../layout-search/result';
import { sentence, type Sentence } from '../../sentence';
import { crossingText, layoutText } from '../../layout-search/labels';
import { findingAt, settingAt } from '../settings';
import { own } from '../../records';

/** From here on a layout is slow enough for a warning: as many times the best's step time. */
const worthAWarning = 1.25;

/** Settings that may be to blame where a part of the step takes longer, the likeliest first. */
const causes: Readonly<Record<StepPart, readonly string[]>> = {
  exchange: ['layout.tensor', 'layout.context', 'layout.expert'],
  bubble: ['layout.pipeline', 'layout.virtualStages', 'schedule', 'training.microBatch', 'layout.data'],
  offload: ['training.activationOffloadLayers'],
  send: ['layout.pipeline', 'layout.virtualStages', 'training.microBatch'],
  recompute: ['training.recompute'],
  math: ['layout.tensor', 'training.microBatch', 'layout.context'],
  memory: ['layout.tensor', 'training.microBatch', 'training.offloadOptimizer'],
  issue: ['layout.tensor', 'training.microBatch', 'layout.virtualStages'],
  gradientExchange: ['layout.data', 'training.zeroStage', 'layout.pipeline', 'layout.tensor'],
  optimizer: ['training.offloadOptimizer', 'training.zeroStage', 'layout.data'],
};

/**
 * What a search finds on the layout that the files fix: that it is slower than the best by more than the error bar, at the value that costs
 * most. Empty where it is as good as the best, no better one fits, or it does not fit itself, which the findings of its plan report.
 * @param launched the files' own layout, predicted as the others are; null where they fix none.
 *
 * @finding layout-slower
 * The layout that the files fix is slower than the best that a search finds for the same model, GPUs and batch, by more than the error of
 * the prediction. It is at the value that costs most. The quick fix shows the best layout as a change of the file and writes nothing before
 * you accept it. Only in the editor; in a terminal, `terapipe plan --search --free all` shows the same.
 * @example a tensor size of 16 on nodes of 8 GPUs, whose all-reduces cross the network, where a tensor size of 8 with more stages is
 * faster.
 * @source [docs/accuracy.md](accuracy.md): how far predictions are off.
 * @ignore something outside the files fixes the layout, such as checkpoints.
 */
export function searchFindings(run: Run, launched: FoundPlan | null, { best, request, cost }: SearchResult): Finding[] {
  if (launched?.fits !== true || !best.fits) return [];
  const remedy = sentence`apply that layout with ${best.name}: ${formatDuration(best.iterationMs)} per step`;
  const ratio = launched.iterationMs / best.iterationMs;
  if (ratio <= 1 + cost.errorPercent / 100) return [];
  const slower = ratio < 1.1 ? sentence`${formatPercent(ratio - 1)} slower` : sentence`${formatNumber(ratio)}x slower`;
  const cause = costliest(run, launched, best, request.cluster);
  const message = sentence`${causeText(launched, cause, request.cluster)}: ${slower} than ${layoutText(best.point)}`;
  return [findingAt(run, cause.key ?? '', 'layout-slower', ratio >= worthAWarning ? 'warning' : 'information', { message, remedy })];
}

interface Cause {
  readonly part: StepPart;
  /** What that part takes longer than the best's. */
  readonly ms: number;
  /** The setting to blame; null where no file gives one of them another value than the best has. */
  readonly key: string | null;
}

/**
 * The part of the step that grew most among the parts that a setting of the files explains. Tensor parallelism across nodes comes first,
 * since it lengthens several parts.
 */
function costliest(run: Run, launched: FoundPlan, best: FoundPlan, cluster: ClusterSpec): Cause {
  const exchange = launched.parts.exchange - best.parts.exchange;
  if (launched.point.layout.tensor > joinedGpus(cluster) && blamed(run, launched, best, ['layout.tensor']) !== null)
    return { part: 'exchange', ms: exchange, key: 'layout.tensor' };
  const longer = stepParts
    .map((part) => ({ part, ms: launched.parts[part] - best.parts[part] }))
    .sort((a, b) => b.ms - a.ms)
    .map(({ part, ms }): Cause => ({ part, ms, key: blamed(run, launched, best, causes[part]) }));
  const [most = { part: 'bubble', ms: 0, key: null }] = longer;
  return longer.find(({ ms, key }) => ms > 0 && key !== null) ?? most;
}

/** The first setting that a file gives, and that the best has otherwise. */
function blamed(run: Run, launched: FoundPlan, best: FoundPlan, keys: readonly string[]): string | null {
  return keys.find((key) => settingAt(run, key)?.source.kind === 'file' && valueAt(launched, key) !== valueAt(best, key)) ?? null;
}

/** A setting of a point, to be compared. */
function valueAt({ point }: FoundPlan, key: string): unknown {
  const [section, name = ''] = key.split('.');
  const group: object = section === 'layout' ? point.layout : section === 'training' ? point.training : point;
  const value = own(group as Readonly<Record<string, unknown>>, name === '' ? key : name);
  return key === 'training.recompute' ? recomputeValue(point.training) : value;
}

function recomputeValue({ recompute, recomputeLayers, recomputeModules }: FoundPlan['point']['training']): string {
  return [recompute, recomputeLayers, ...(recomputeModules ?? [])].join();
}

/** What time is spent on, where its name needs an article for that. */
const spentOn: Partial<Record<StepPart, Sentence>> = {
  bubble: sentence`the bubble`,
  gradientExchange: sentence`the gradient exchange`,
  optimizer: sentence`the optimizer`,
};

/** `tensor 16 crosses nodes`, `full recompute takes 2.1 s`. */
function causeText({ point }: FoundPlan, { part, ms, key }: Cause, cluster: ClusterSpec): Sentence {
  const { layout, training } = point;
  if (key === 'layout.tensor' && part === 'exchange' && layout.tensor > joinedGpus(cluster))
    return sentence`Tensor ${formatCount(layout.tensor)} ${crossingText(cluster)}`;
  const more = sentence`spends ${formatDuration(ms)} more on ${spentOn[part] ?? stepPartNames[part]}`;
  const [, name = ''] = (key ?? '').split('.');
  const sizes = layout as unknown as Readonly<Record<string, unknown>>;
  const size = own(sizes, name);
  if (typeof size === 'number') return sentence`${own(words, name) ?? name} ${formatCount(size)} ${more}`;
  if (key === 'training.microBatch') return sentence`Micro-batch ${formatCount(training.microBatch)} ${more}`;
  if (key === 'training.recompute')
    return training.recompute === 'full'
      ? sentence`Full recompute takes ${formatDuration(ms)}`
      : sentence`Selective recompute takes ${formatDuration(ms)}`;
  if (key === 'training.zeroStage') return sentence`ZeRO ${training.zeroStage} ${more}`;
  return sentence`This layout ${more}`;
}

const words: Readonly<Record<string, Sentence>> = {
  tensor: sentence`Tensor`,
  pipeline: sentence`Pipeline`,
  data: sentence`Data`,
  context: sentence`Context`,
  expert: sentence`Expert`,
  virtualStages: sentence`Virtual stages`,
};

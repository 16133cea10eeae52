import type { ConfigView } from '../view';
import type { Facts } from '../../run/facts';
import type { ConfigFormat } from '../../run/config-format';
import { isLauncher, launcherTraits } from '../../launchers/registry';
import { formatNumber, formatPercent } from '../../format';
import { countOf } from '../../launchers/counts';
import {
  batchPerMicroBatch,
  bubbleFraction,
  isInterleaved,
  microBatchesPerReplica,
  parallelSize,
  countTotalStages,
  virtualStagesPerGpu,
} from '../../launchers/layout-sizes';
import { scheduleKinds } from '../../schedules/registry';
import { megatronFormats, runFormats, withTorchtitan } from '../formats';
import { isWritten, many, setTo, type Change, type Issue, type Rule } from '../rule';
import { sentence, type Sentence } from '../../sentence';

/** What the pipeline idles. */
export const scheduleRules: readonly Rule[] = [
  {
    code: 'microbatches-below-stages',
    severity: 'warning',
    planSeverity: 'information',
    formats: [...withTorchtitan, 'deepspeed', ...runFormats],
    check: fewMicroBatches,
  },
  {
    code: 'long-seq-chunk-candidate',
    severity: 'information',
    formats: megatronFormats,
    check: longSequences,
  },
];

/** A run should idle less than this. */
const wantedBubble = 0.1;
/** From here on a warning. */
const costlyBubble = 0.5;

/**
 * @finding microbatches-below-stages
 * PyTorch: "Number of microbatches is less than the total number of stages which may result in a bubble". A pipeline of p stages with v
 * virtual ones each idles (p - 1) / (v m + p - 1) of the time with m micro-batches. The remedy names the batch that brings this under a
 * tenth. There is no finding if virtual stages bring it under a tenth already, nor on schedules that idle otherwise (zero bubble, token
 * slices). It is a warning where half of the time or more is idle, else information. TorchTitan's 1F1B used to hang with fewer
 * micro-batches than stages.
 * @source PyTorch, `torch/distributed/pipelining/schedules.py`, the warning quoted above; elsewhere the idle time itself.
 * @ignore the batch is set by how the model learns, or the run only tries out whether it starts.
 */
function fewMicroBatches({ facts, format }: ConfigView): Issue | null {
  const pipeline = parallelSize(facts, format, 'pipeline');
  const stages = countTotalStages(facts, format);
  const microBatches = microBatchesPerReplica(facts, format);
  if (pipeline === null || pipeline === 1 || stages === null || microBatches === null || microBatches >= stages) return null;
  if (!idlesByStages(facts, format)) return null;
  // that interleaving refuses them is the finding
  if (megatronFormats.some((other) => other === format) && microBatches < pipeline && isInterleaved(facts, format)) return null;
  const virtual = stages / pipeline;
  const bubble = bubbleFraction(pipeline, virtual, microBatches);
  if (bubble < wantedBubble) return null;
  const wanted = enoughMicroBatches(pipeline, virtual);
  const { remedy, changes } = moreMicroBatches(facts, format, wanted);
  const counted = virtual === 1 ? sentence`stages` : sentence`stages (${formatNumber(pipeline)} x ${formatNumber(virtual)} virtual)`;
  return {
    at: isLauncher(format) ? ['microBatches', 'localBatch', 'gradientAccumulation', 'globalBatch', 'microBatch', 'pipeline'] : ['schedule'], // prettier-ignore
    ...(bubble < costlyBubble && { severity: 'information' as const }),
    message: sentence`${many(microBatches, 'micro-batch', 'micro-batches')} for ${formatNumber(stages)} ${counted}: stages idle while the pipeline fills and drains`,
    remedy: sentence`${remedy} to idle less than a tenth of the time${isLauncher(format) ? '' : sentence`, and TeraPipe cuts sequences too`}`,
    changes: !isLauncher(format) && virtual === 1 ? [...setTo('schedule', ['TeraPipe']), ...changes] : changes,
  };
}

/** Whether the schedule idles as 1F1B and GPipe do: it splits neither sequences nor backward. A plan without a schedule chooses one. */
function idlesByStages({ schedule }: Facts, format: ConfigFormat): boolean {
  if (schedule === undefined) return isLauncher(format);
  const kind = scheduleKinds.find(({ name }) => name.toLowerCase() === schedule.value.toLowerCase());
  return kind === undefined || !(kind.sliced || kind.splitsBackward);
}

/** The fewest micro-batches that keep the bubble under a tenth; a multiple of the stages where they are interleaved. */
function enoughMicroBatches(pipeline: number, virtual: number): number {
  const least = Math.floor(((1 / wantedBubble - 1) * (pipeline - 1)) / virtual) + 1;
  return virtual === 1 ? least : Math.ceil(least / pipeline) * pipeline;
}

function moreMicroBatches(
  facts: Facts,
  format: ConfigFormat,
  wanted: number,
): { readonly remedy: Sentence; readonly changes: readonly Change[] } {
  const micro = many(wanted, 'micro-batch', 'micro-batches');
  if (isWritten(facts, 'microBatches')) return { remedy: sentence`use ${micro}`, changes: setTo('microBatches', [wanted]) };
  if (launcherTraits(format).batchOfReplica === 'local') {
    const size = countOf(facts, 'microBatch');
    const local = size === null || facts.localBatch === undefined ? null : wanted * size;
    return {
      remedy: sentence`use ${micro}${local === null ? '' : sentence` (a local batch of ${formatNumber(local)})`}`,
      changes: local === null ? [] : setTo('localBatch', [local]),
    };
  }
  if (facts.gradientAccumulation !== undefined)
    return { remedy: sentence`use ${formatNumber(wanted)} gradient accumulation steps`, changes: setTo('gradientAccumulation', [wanted]) };
  const step = batchPerMicroBatch(facts, format);
  if (step === null) return { remedy: sentence`use ${micro}`, changes: [] };
  const batch = wanted * step;
  return { remedy: sentence`use ${micro} (a global batch of ${formatNumber(batch)})`, changes: setTo('globalBatch', [batch]) };
}

/** From here on cutting sequences pays (facts on published schedules: slices of 4,096 tokens and more). */
const longSequence = 32_768;
const slices = 4;

/**
 * @finding long-seq-chunk-candidate
 * With few micro-batches of long sequences cutting sequences into slices (TeraPipe, Seq1F1B) removes most of the idle time of a pipeline: s
 * slices act as s times as many micro-batches. The remedy shows the gain of four equal slices; the planner finds better ones, since later
 * slices attend to more.
 * @source [TeraPipe](https://arxiv.org/abs/2102.07988) and [Seq1F1B](https://arxiv.org/abs/2406.03488).
 * @ignore your launcher cannot cut sequences: most cannot.
 */
function longSequences({ facts, format }: ConfigView): Issue | null {
  const tokens = countOf(facts, 'sequenceLength');
  const pipeline = parallelSize(facts, format, 'pipeline');
  const microBatches = microBatchesPerReplica(facts, format);
  if (tokens === null || pipeline === null || microBatches === null || pipeline === 1) return null;
  if (tokens < longSequence || microBatches >= 4 * pipeline || facts.sliceRuntime !== undefined) return null;
  const virtual = virtualStagesPerGpu(facts, format) ?? 1;
  const now = bubbleFraction(pipeline, virtual, microBatches);
  const sliced = bubbleFraction(pipeline, 1, microBatches * slices);
  if (sliced >= now) return null;
  const memory = (slices + pipeline - 1) / (slices * pipeline);
  return {
    at: ['sequenceLength', 'globalBatch', 'pipeline'],
    message: sentence`${many(microBatches, 'micro-batch', 'micro-batches')} of ${many(tokens, 'token')} on ${many(pipeline, 'stage')}: stages idle while the pipeline fills and drains`,
    remedy: sentence`cut sequences into ${formatNumber(slices)} slices of about ${many(Math.ceil(tokens / slices), 'token')} (Seq1F1B): ${formatNumber(slices)}x the units, ${formatPercent(memory)} of 1F1B's activations`,
  };
}

import type { ConfigView } from '../view';
import type { Facts } from '../../run/facts';
import { formatNumber } from '../../format';
import { quoted } from '../../text';
import { torchtitanFormats } from '../formats';
import { countOf } from '../../launchers/counts';
import { parallelSize } from '../../launchers/layout-sizes';
import { titanAssignedLayers, titanTotalStages, titanStagesPerRank } from '../../launchers/torchtitan/stage-layers';
import { listed, many, setTo, type Issue, type Rule } from '../rule';
import { sentence } from '../../sentence';

/** What TorchTitan refuses when it cuts a model into stages, and what is not counted of its sharding. */
export const torchtitanRules: readonly Rule[] = [
  {
    code: 'tt-virtual-stages',
    severity: 'error',
    formats: torchtitanFormats,
    check: virtualStages,
  },
  {
    code: 'tt-single-stage-schedule',
    severity: 'error',
    formats: torchtitanFormats,
    check: stagesOfSchedule,
  },
];

/** TorchTitan's own default. */
const defaultSchedule = '1F1B';

type Kind = 'single' | 'looped';

/** Whether a schedule of PyTorch runs one stage on each rank or several; null for one we do not know. */
function scheduleStageKind(facts: Facts): Kind | null {
  if (facts.scheduleCsv !== undefined) return null;
  const name = (facts.schedule?.value ?? defaultSchedule).toLowerCase();
  if (/^(schedule)?(gpipe|1f1b)$/.test(name)) return 'single';
  return /^(schedule)?(interleaved1f1b|interleavedzerobubble|loopedbfs|zbvzerobubble|dualpipev)$/.test(name) ? 'looped' : null;
}

/**
 * @finding tt-virtual-stages
 * TorchTitan: "Number of virtual stages must be divisible by pipeline parallel size". It cuts the layers (the embedding and the head
 * counted as one each, unless the file sets otherwise) into stages of the given number of layers, and assigns the stages to the ranks in
 * turn.
 * @source TorchTitan, `torchtitan/distributed/pipeline_parallel.py`, line 235
 */
function virtualStages({ facts }: ConfigView): Issue | null {
  const stages = titanTotalStages(facts);
  const pipeline = parallelSize(facts, 'torchtitan', 'pipeline');
  const each = countOf(facts, 'layersPerStage');
  if (stages === null || pipeline === null || each === null || stages % pipeline === 0) return null;
  const near = layersPerStageNear(facts, pipeline, each);
  return {
    at: ['layersPerStage', 'pipeline'],
    message: sentence`${many(each, 'layer')} a stage make ${formatNumber(stages)} virtual stages, not a multiple of the ${formatNumber(pipeline)} pipeline ranks`,
    remedy:
      near.length > 0 ? sentence`use ${listed(near)} layers a stage` : sentence`use fewer than ${formatNumber(pipeline)} pipeline ranks`,
    changes: setTo('layersPerStage', near),
  };
}

/** A model is not cut into more stages on a rank than this. */
const maximumStagesPerRank = 1024;

/** The two layers per stage nearest to `wanted` whose stages divide evenly over the ranks, in a number that the schedule takes. */
function layersPerStageNear(facts: Facts, pipeline: number, wanted: number): number[] {
  const layers = titanAssignedLayers(facts) ?? 0;
  const kind = scheduleStageKind(facts);
  const sizes: number[] = [];
  for (let perRank = 1; perRank * pipeline <= layers && perRank <= maximumStagesPerRank; perRank++) {
    const each = Math.ceil(layers / (perRank * pipeline));
    const suits = kind === null || (kind === 'single') === (perRank === 1);
    if (suits && Math.ceil(layers / each) === perRank * pipeline) sizes.push(each);
  }
  return sizes.sort((a, b) => Math.abs(a - wanted) - Math.abs(b - wanted) || b - a).slice(0, 2);
}

/**
 * @finding tt-single-stage-schedule
 * TorchTitan: "Single stage schedule requires exactly 1 stage per rank". GPipe and 1F1B run one stage on each rank; Interleaved1F1B,
 * LoopedBFS and the zero-bubble schedules at least two.
 * @source TorchTitan, `torchtitan/distributed/pipeline_parallel.py`, line 246
 */
function stagesOfSchedule({ facts }: ConfigView): Issue | null {
  const stages = titanStagesPerRank(facts);
  const kind = scheduleStageKind(facts);
  const pipeline = parallelSize(facts, 'torchtitan', 'pipeline');
  if (stages === null || kind === null || (facts.pipeline !== undefined && (pipeline ?? 1) === 1)) return null;
  if ((kind === 'single') === (stages === 1)) return null;
  const name = quoted(facts.schedule?.value ?? defaultSchedule);
  const other = kind === 'single' ? 'Interleaved1F1B' : '1F1B';
  const each = countOf(facts, 'layersPerStage');
  const near = each === null || pipeline === null ? [] : layersPerStageNear(facts, pipeline, each);
  return {
    at: ['schedule', 'layersPerStage', 'virtualStages', 'pipeline'],
    message: sentence`The schedule ${name} runs ${kind === 'single' ? sentence`exactly 1 stage` : sentence`at least 2 stages`} on each rank, but there ${stages === 1 ? sentence`is` : sentence`are`} ${formatNumber(stages)}`,
    remedy: sentence`use the schedule ${other}${near.length > 0 ? sentence`, or ${listed(near)} layers a stage` : ''}`,
    changes: [...setTo('schedule', [other]), ...setTo('layersPerStage', near)],
  };
}

import { formatNumber } from '../../format';
import { lettersIn, unrolledLayout } from '../../launchers/megatron/stage-layers';
import { sentence, type Sentence } from '../../sentence';
import { quoted } from '../../text';
import { countOf } from '../../launchers/counts';
import { parallelSize } from '../../launchers/layout-sizes';
import { megatronFormats } from '../formats';
import { many, type Issue, type Rule } from '../rule';
import type { ConfigView } from '../view';

/** Megatron's `--pipeline-model-parallel-layout`. */
export const pipelineLayoutRules: readonly Rule[] = [
  {
    code: 'pipeline-layout',
    severity: 'error',
    formats: megatronFormats,
    check: refusedLayout,
  },
  {
    code: 'pipeline-layout-mtp',
    severity: 'information',
    formats: megatronFormats,
    check: apartFromLoss,
  },
];

/** Stages of a layout that is written as a string, not as a list or with what only a run can know. */
function writtenStages({ facts }: ConfigView): readonly string[] | null {
  const written = facts.pipelineLayout?.value.trim() ?? '';
  return written === '' || /[[{$"']|^none$/i.test(written) ? null : unrolledLayout(written);
}

/**
 * @finding pipeline-layout
 * A layout such as `Et*3|(tt|)*29,m|L` names what each (virtual) stage holds: E the embedding, t a layer, m a layer of multi-token
 * prediction, L the loss; `|` ends a stage, which may be empty, and `x*n` and `(...)*n` repeat. Megatron stops where its stages do not
 * divide by the pipeline size, where it does not begin with one E and end with one L, and where the numbers of t and m are not those of the
 * model. Stages without a layer are planned as they are.
 * @source Megatron-LM, `megatron/core/transformer/pipeline_parallel_layer_layout.py`, lines 41, 95, 98, 103, 107, 112 and 315
 */
function refusedLayout(view: ConfigView): Issue | null {
  const stages = writtenStages(view);
  const wrong = stages === null ? null : layoutFault(stages, view);
  return wrong && { at: ['pipelineLayout', 'pipeline'], ...wrong };
}

function layoutFault(
  stages: readonly string[],
  { facts, format }: ConfigView,
): { readonly message: Sentence; readonly remedy: Sentence } | null {
  const all = stages.join('');
  const stray = /[^EtmL]/.exec(all)?.[0];
  if (stray !== undefined)
    return {
      message: sentence`The layout has ${quoted(stray)}, which is not a layer`,
      remedy: sentence`use E, t, m and L; write (...)*n for n times`,
    };
  if (!all.startsWith('E') || !all.endsWith('L') || lettersIn(stages, 'E') > 1 || lettersIn(stages, 'L') > 1)
    return {
      message: sentence`The layout does not begin with the one embedding and end with the one loss`,
      remedy: sentence`begin it with E and end it with L`,
    };
  const pipeline = parallelSize(facts, format, 'pipeline');
  if (pipeline !== null && stages.length % pipeline !== 0)
    return {
      message: sentence`The layout has ${many(stages.length, 'stage')}, which are not divisible by ${many(pipeline, 'pipeline stage')}`,
      remedy: sentence`give it a multiple of ${formatNumber(pipeline)} stages`,
    };
  return countFault(stages, facts.layers === undefined ? null : countOf(facts, 'layers'), countOf(facts, 'mtpLayers'));
}

function countFault(
  stages: readonly string[],
  layers: number | null,
  depths: number | null,
): { readonly message: Sentence; readonly remedy: Sentence } | null {
  const [own, ahead] = [lettersIn(stages, 't'), lettersIn(stages, 'm')];
  if (layers !== null && own !== layers)
    return {
      message: sentence`The layout has ${many(own, 'layer')}, and the model has ${formatNumber(layers)}`,
      remedy: sentence`write t ${formatNumber(layers)} times`,
    };
  if (depths !== null && ahead !== depths)
    return {
      message: sentence`The layout has ${many(ahead, 'layer')} of multi-token prediction, and the model has ${formatNumber(depths)}`,
      remedy: sentence`write m ${formatNumber(depths)} times`,
    };
  return null;
}

/**
 * @finding pipeline-layout-mtp
 * The layout gives multi-token prediction a stage before that of the loss. The plan puts it on the stage of the loss, so that stage is
 * predicted too long and the other too short by that layer.
 * @source [docs/model/schedules.md](model/schedules.md): a plan has one last stage, which holds all that follows the layers.
 * @ignore always: the layout itself is right.
 */
function apartFromLoss(view: ConfigView): Issue | null {
  const at = writtenStages(view)?.findIndex((stage) => stage.includes('m') && !stage.includes('L')) ?? -1;
  if (at === -1) return null;
  return {
    at: ['pipelineLayout'],
    message: sentence`Stage ${formatNumber(at)} of the layout has multi-token prediction without the loss; the plan puts both together`,
    remedy: sentence`keep the layout: it is right`,
    isNote: true,
  };
}

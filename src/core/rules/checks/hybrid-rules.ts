import type { ConfigView } from '../view';
import { parseHybridPattern, isHybrid, patternOfRatios } from '../../launchers/megatron/hybrid';
import { formatNumber } from '../../format';
import { listDivisors, greatestCommonDivisor } from '../../numbers';
import { quoted } from '../../text';
import { countOf } from '../../launchers/counts';
import { parallelSize } from '../../launchers/layout-sizes';
import { megatronAndRuns, megatronFormats } from '../formats';
import { dividesState, fitsTensor, stateSizes } from './sizes';
import { isWritten, listed, many, nearestFitting, remove, setTo, type Issue, type Rule } from '../rule';
import { sentence } from '../../sentence';

/**
 * Hybrids of Mamba, attention and feed-forward layers. Source: `mamba_hybrid_layer_allocation` and `MambaMixer` of Megatron-LM core 0.16.
 */
export const hybridRules: readonly Rule[] = [
  {
    code: 'hybrid-letters',
    severity: 'error',
    formats: megatronFormats,
    check: letters,
  },
  {
    code: 'hybrid-layers',
    severity: 'warning',
    formats: megatronFormats,
    check: layersOfPattern,
  },
  {
    code: 'hybrid-ratios',
    severity: 'error',
    formats: megatronFormats,
    check: ratios,
  },
  {
    code: 'hybrid-stages',
    severity: 'error',
    formats: megatronFormats,
    check: stages,
  },
  {
    code: 'hybrid-virtual-stages',
    severity: 'error',
    formats: megatronFormats,
    check: virtualStages,
  },
  {
    code: 'state-tp',
    severity: 'error',
    formats: [...megatronAndRuns, 'lingua'],
    check: stateOverTensor,
  },
];

/** Letters that are known elsewhere and not planned: DeepSeek's sparse attention, NeMo's Hyena operators. */
const otherLetters = 'DSH';

/**
 * @finding hybrid-letters
 * The pattern of a hybrid has one letter for each layer: `M` Mamba, `*` attention, `-` a feed-forward network, `E` experts. `|` ends a
 * stage and `/` begins the layers of multi-token prediction. Megatron-LM refuses any other.
 * @source Megatron-LM, `megatron/core/models/hybrid/hybrid_layer_allocation.py`, lines 291 and 319
 * @ignore a fork has kinds of layers of its own.
 */
function letters({ facts: { hybridPattern } }: ConfigView): Issue | null {
  if (hybridPattern === undefined) return null;
  const wrong = Array.from(hybridPattern.value.trim()).find((letter) => !'MG*-E|/'.includes(letter) && !otherLetters.includes(letter));
  if (wrong === undefined) return null;
  return {
    at: ['hybridPattern'],
    message: sentence`${quoted(wrong)} is not a kind of layer`,
    remedy: sentence`use M for Mamba, * for attention, - for a feed-forward network, E for experts, and | between stages`,
  };
}

/**
 * @finding hybrid-layers
 * The pattern sets the number of layers; `--num-layers` has to be equal, or absent where the pattern is `--hybrid-layer-pattern`.
 * Megatron-LM warns and takes the pattern; before core 0.16 it refuses.
 * @source Megatron-LM, `megatron/training/arguments.py`, lines 787 to 798
 * @ignore your Megatron-LM is newer and the pattern is the one that you mean.
 */
function layersOfPattern({ facts: { hybridPattern, layers } }: ConfigView): Issue | null {
  const pattern = hybridPattern === undefined ? null : parseHybridPattern(hybridPattern.value);
  if (pattern === null || layers === undefined || pattern.letters.length === layers.value) return null;
  return {
    at: ['layers', 'hybridPattern'],
    message: sentence`The pattern has ${many(pattern.letters.length, 'layer')}, and ${many(layers.value, 'layer')} ${layers.value === 1 ? sentence`is` : sentence`are`} asked for`,
    remedy: sentence`ask for ${many(pattern.letters.length, 'layer')}, or write a letter for each of ${formatNumber(layers.value)}`,
    changes: setTo('layers', [pattern.letters.length]),
  };
}

/**
 * @finding hybrid-ratios
 * `--hybrid-attention-ratio` and `--hybrid-mlp-ratio` are shares of the layers; the rest is Mamba. Megatron-LM refuses them next to a
 * pattern with other numbers of layers: the pattern is enough.
 * @source Megatron-LM, `megatron/core/models/hybrid/hybrid_model.py`, line 173
 */
function ratios({ facts }: ConfigView): Issue | null {
  const { hybridAttentionRatio, hybridMlpRatio, hybridPattern, layers } = facts;
  const [attention, mlp] = [hybridAttentionRatio?.value ?? 0, hybridMlpRatio?.value ?? 0];
  if (attention + mlp > 1 + 1e-9)
    return {
      at: ['hybridMlpRatio', 'hybridAttentionRatio'],
      message: sentence`Shares of ${formatNumber(attention)} and ${formatNumber(mlp)} add up to more than 1`,
      remedy: sentence`lower the share of feed-forward layers to ${formatNumber(1 - attention)}`,
      changes: setTo('hybridMlpRatio', [Number((1 - attention).toFixed(6))]),
    };
  const pattern = hybridPattern === undefined ? null : parseHybridPattern(hybridPattern.value);
  if (pattern === null || layers === undefined || attention + mlp === 0 || pattern.letters.length !== layers.value) return null;
  const byRatios = patternOfRatios(layers.value, attention, mlp);
  const same = ['*', '-', 'M'].every((letter) => countLetter(byRatios, letter) === countLetter(pattern.letters, letter));
  if (same) return null;
  return {
    at: ['hybridAttentionRatio', 'hybridMlpRatio', 'hybridPattern'],
    message: sentence`The shares make ${many(countLetter(byRatios, '*'), 'layer')} of attention and ${formatNumber(countLetter(byRatios, '-'))} of feed-forward, the pattern ${formatNumber(countLetter(pattern.letters, '*'))} and ${formatNumber(countLetter(pattern.letters, '-'))}`,
    remedy: sentence`remove the shares: the pattern already has them`,
    changes: remove('hybridAttentionRatio', 'hybridMlpRatio'),
  };
}

function countLetter(text: string, letter: string): number {
  return text.split(letter).length - 1;
}

/**
 * @finding hybrid-stages
 * Bars cut the pattern of a hybrid into stages, virtual ones counted. Their number must be a multiple of the pipeline size.
 * @source Megatron-LM, `megatron/core/models/hybrid/hybrid_layer_allocation.py`, line 460
 */
function stages({ facts, format }: ConfigView): Issue | null {
  const pipeline = parallelSize(facts, format, 'pipeline');
  const segments = facts.hybridPattern === undefined ? null : (parseHybridPattern(facts.hybridPattern.value)?.stages ?? null);
  if (pipeline === null || segments === null || segments.length % pipeline === 0) return null;
  const near = nearestFitting(listDivisors(segments.length), pipeline, () => true);
  return {
    at: ['hybridPattern', 'pipeline'],
    message: sentence`The pattern has ${many(segments.length, 'stage')}, which cannot be split into ${many(pipeline, 'pipeline stage')}`,
    remedy: sentence`use ${listed(near)} pipeline stages, or move the bars of the pattern`,
    changes: setTo('pipeline', near),
  };
}

/**
 * @finding hybrid-virtual-stages
 * Megatron-LM core 0.16 has no virtual stages for hybrids; newer versions cut them only by bars in the pattern.
 * @source Megatron-LM, `megatron/core/models/hybrid/hybrid_layer_allocation.py`, line 387
 */
function virtualStages({ facts, format }: ConfigView): Issue | null {
  const { hybridPattern } = facts;
  const virtual = countOf(facts, 'virtualStages') ?? (facts.layersPerVirtualStage === undefined ? 1 : 2);
  const isLone = hybridPattern !== undefined || facts.hybridAttentionRatio !== undefined;
  if (!isHybrid(facts) || !isLone || virtual === 1 || hybridPattern?.value.includes('|') === true) return null;
  if ((parallelSize(facts, format, 'pipeline') ?? 1) === 1) return null;
  return {
    at: ['virtualStages', 'layersPerVirtualStage'],
    message: sentence`A hybrid has virtual stages only where bars in its pattern cut them`,
    remedy: sentence`write the stages with | in --hybrid-layer-pattern, or remove the virtual stages`,
    changes: remove(...(['virtualStages', 'layersPerVirtualStage'] as const).filter((name) => isWritten(facts, name))),
  };
}

/**
 * @finding state-tp
 * SSM and linear-attention layers are divided by their heads: Megatron-LM gives every GPU of a tensor-parallel group the same number of
 * them and whole groups of heads that are written and read alike (`MambaMixer`, `GatedDeltaNet`). Choose a tensor size that divides both.
 * The first version of Mamba and recurrent networks are not divided at all: no code divides their layers. lingua divides no Mamba-2 either.
 * @source Megatron-LM, `megatron/core/ssm/mamba_mixer.py`, lines 262 and 270
 */
function stateOverTensor(view: ConfigView): Issue | null {
  const { facts, format } = view;
  const tensor = parallelSize(facts, format, 'tensor');
  const state = stateSizes(view);
  if (tensor === null || state === null || dividesState(view, tensor)) return null;
  const { heads, groups, whole } = state;
  const common = whole !== null ? 1 : heads === null ? (groups ?? 1) : groups === null ? heads : greatestCommonDivisor(heads, groups);
  const near = nearestFitting(listDivisors(common), tensor, (size) => fitsTensor(view, size));
  const sizes = [...(heads === null ? [] : [many(heads, 'head')]), ...(groups === null ? [] : [many(groups, 'group')])];
  return {
    at: ['tensor', 'stateGroups', 'stateHeads'],
    message:
      whole !== null
        ? sentence`${whole} is not divided over GPUs, and the tensor size is ${formatNumber(tensor)}`
        : sentence`The ${sizes.reduce((a, b) => sentence`${a} and ${b}`)} of the state are not divisible by a tensor size of ${formatNumber(tensor)}`,
    remedy: sentence`use a tensor size of ${listed(near)}`,
    changes: setTo('tensor', near),
  };
}

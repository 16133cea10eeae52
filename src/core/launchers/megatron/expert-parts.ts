import type { ModelSpec } from '../../domain/model';
import type { ModelDetails } from '../../domain/settings/model-details';
import { layerGroups } from '../../model/layers';
import { sentence, type Sentence } from '../../sentence';
import { hybridLetters } from './hybrid-flags';
import { routerDefaults } from './megatron-defaults';
import { isBiased, isOfConfig, layerList, takes, valued, when, wordsIf, type ModelPart } from './model-part';

type Experts = NonNullable<ModelSpec['experts']>;

/** A part of models with experts. */
interface ExpertPart {
  readonly fields: readonly string[];
  readonly flags?: (experts: Experts, details: ModelDetails, model: ModelSpec) => readonly string[];
  readonly lacks?: (experts: Experts, details: ModelDetails, model: ModelSpec) => Sentence | null;
  readonly open?: (details: ModelDetails) => Sentence | null;
}

const parts: readonly ExpertPart[] = [
  {
    fields: ['experts.count', 'experts.active', 'experts.groups', 'experts.latent', 'experts.sharedFfn'],
    flags: expertFlags,
  },
  { fields: ['experts.sharedGate'], flags: ({ sharedGate }) => when(sharedGate === true, '--moe-shared-expert-gate') },
  {
    // the router has a bias where linear layers have one
    fields: ['experts.routerBias'],
    lacks: ({ routerBias }, _, model) =>
      (routerBias === true) === isBiased(model) || !isOfConfig(model)
        ? null
        : routerBias === true
          ? sentence`the router's bias`
          : sentence`a router without bias`,
  },
  {
    fields: ['details.routerScore'],
    flags: (_, { routerScore }) => when(isOther(routerScore), `--moe-router-score-function ${routerScore ?? ''}`),
    open: ({ routerScore }) =>
      wordsIf(routerScore === undefined, takes(sentence`score function of the router`, routerDefaults.routerScore)),
  },
  {
    // softmax is of the chosen, unless it comes before; other scores are divided by their sum
    fields: ['details.routerNormalised'],
    flags: (_, { routerScore, routerNormalised }) => when(!isOther(routerScore) && routerNormalised === false, '--moe-router-pre-softmax'),
    lacks: ({ active }, { routerScore, routerNormalised }) => {
      if (routerNormalised === undefined) return null;
      const can = isOther(routerScore) ? routerNormalised === active > 1 : !routerNormalised || active > 1;
      return can ? null : routerNormalised ? sentence`normalised scores of one expert` : sentence`scores of experts without normalisation`;
    },
    open: ({ routerNormalised }) =>
      wordsIf(routerNormalised === undefined, takes(sentence`normalisation of the scores`, sentence`a sum of 1`)),
  },
  { fields: ['details.routerScaling'], flags: (_, { routerScaling }) => valued('moe-router-topk-scaling-factor', routerScaling) },
  {
    fields: ['details.routerExpertBias'],
    flags: (_, { routerExpertBias, routerScore }) =>
      when(routerExpertBias === true && isOther(routerScore), '--moe-router-enable-expert-bias'),
    lacks: (_, { routerExpertBias, routerScore }) =>
      wordsIf(routerExpertBias === true && !isOther(routerScore), sentence`a balancing bias of experts with softmax scores`),
  },
  {
    fields: ['details.routerInputScaling'],
    flags: ({ active }, { routerInputScaling }) => when(routerInputScaling === true && active === 1, '--moe-apply-probs-on-input'),
    lacks: ({ active }, { routerInputScaling }) =>
      wordsIf(routerInputScaling === true && active > 1, sentence`scores of several experts on their input`),
  },
  {
    fields: ['details.routerGroupBest'],
    lacks: ({ active, groups }, { routerGroupBest }) =>
      wordsIf(
        groups !== undefined && routerGroupBest !== undefined && Math.floor(active / groups.active) !== routerGroupBest,
        sentence`groups of experts chosen by their best ${routerGroupBest ?? 0}`,
      ),
  },
  {
    fields: ['details.routerAuxLoss', 'details.routerSequenceLoss'],
    flags: (_, { routerAuxLoss, routerSequenceLoss }) => [
      ...when(
        (routerAuxLoss ?? 0) > 0 || routerSequenceLoss === true,
        `--moe-router-load-balancing-type ${routerSequenceLoss === true ? 'seq_aux_loss' : 'aux_loss'}`,
      ),
      ...when((routerAuxLoss ?? 0) > 0, `--moe-aux-loss-coeff ${routerAuxLoss ?? 0}`),
    ],
    open: ({ routerAuxLoss }) =>
      wordsIf(routerAuxLoss === undefined, takes(sentence`coefficient of the load-balancing loss`, String(routerDefaults.routerAuxLoss))),
  },
  { fields: ['details.routerJitter'], flags: (_, { routerJitter }) => valued('moe-input-jitter-eps', routerJitter) },
  { fields: ['details.routerZLoss'], flags: (_, { routerZLoss }) => valued('moe-z-loss-coeff', routerZLoss) },
];

/** Experts and their router. */
export const expertParts: readonly ModelPart[] = parts.map(({ fields, flags, lacks, open }) => ({
  fields,
  flags: (model) => (model.experts === null ? [] : (flags?.(model.experts, model.details ?? {}, model) ?? [])),
  lacks: (model) => (model.experts === null ? null : (lacks?.(model.experts, model.details ?? {}, model) ?? null)),
  open: (model) => (model.experts === null ? null : (open?.(model.details ?? {}) ?? null)),
}));

/** Scores other than softmax, which Megatron Core takes by default. */
export function isOther(score: ModelDetails['routerScore']): boolean {
  return score !== undefined && score !== routerDefaults.routerScore;
}

function expertFlags(experts: Experts, _: ModelDetails, model: ModelSpec): readonly string[] {
  const mixed = mixedLayers(model);
  const shared = experts.sharedFfn ?? 0;
  return [
    `--num-experts ${experts.count}`,
    `--moe-router-topk ${experts.active}`,
    ...(experts.groups === undefined
      ? []
      : [`--moe-router-num-groups ${experts.groups.count}`, `--moe-router-group-topk ${experts.groups.active}`]),
    `--moe-ffn-hidden-size ${model.ffn}`,
    ...when(experts.latent !== undefined, `--moe-latent-size ${experts.latent ?? 0}`),
    ...when(shared > 0, `--moe-shared-expert-intermediate-size ${shared}`),
    ...(mixed === null ? [] : [`--moe-layer-freq ${layerList(mixed)}`]),
    '--moe-grouped-gemm',
  ];
}

/** Whether each layer has experts, where others are dense; null where none is, or a pattern of letters has the kinds. */
export function mixedLayers(model: ModelSpec): readonly boolean[] | null {
  const kinds = layerGroups(model).flatMap(({ kind, layers }) => Array.from({ length: layers }, () => kind.feedForward));
  return kinds.includes('dense') && hybridLetters(model) === null ? kinds.map((kind) => kind === 'experts') : null;
}

import type { ModelSpec } from '../../domain/model';
import { sentence } from '../../sentence';
import { defaultInitStd, megatronDefaultValues } from './megatron-defaults';
import { hasLatent, inexpressible, inexpressibleDetail, isBiased, takes, valued, when, wordsIf, type ModelPart } from './model-part';
import { own } from '../../records';

/** The dense feed-forward network. */
export const networkParts: readonly ModelPart[] = [
  {
    fields: ['ffn', 'denseFfn'],
    flags: ({ ffn, experts, denseFfn }) => [`--ffn-hidden-size ${experts === null ? ffn : (denseFfn ?? ffn)}`],
  },
  {
    fields: ['gatedMlp', 'details.activation'],
    flags: (model) => activationFlags(model) ?? when(model.gatedMlp, '--swiglu'),
    lacks: (model) =>
      activationFlags(model) === null
        ? sentence`its activation (${model.gatedMlp ? sentence`gated ${activationText(model)}` : activationText(model)})`
        : null,
    open: ({ details, gatedMlp }) => wordsIf(details?.activation === undefined, takes(sentence`activation`, gatedMlp ? 'silu' : 'gelu')),
  },
  {
    fields: ['details.activationClamp'],
    flags: ({ details }) => valued('activation-func-clamp-value', details?.activationClamp),
  },
  { fields: ['details.gluOffset'], flags: ({ details }) => valued('glu-linear-offset', details?.gluOffset) },
];

/** Norms and biases, what tokens become at both ends, and weights before training. */
export const normParts: readonly ModelPart[] = [
  { fields: ['norm'], flags: ({ norm }) => when(norm === 'rmsnorm', '--normalization RMSNorm') },
  {
    fields: ['normEpsilon'],
    flags: ({ normEpsilon }) => valued('norm-epsilon', normEpsilon),
    open: ({ normEpsilon }) =>
      wordsIf(normEpsilon === undefined, takes(sentence`epsilon of the norms`, String(megatronDefaultValues.normEpsilon))),
  },
  { fields: ['details.normUnitOffset'], flags: ({ details }) => when(details?.normUnitOffset === true, '--apply-layernorm-1p') },
  {
    fields: ['details.normPlacement'],
    lacks: ({ details }) =>
      details?.normPlacement === undefined
        ? null
        : details.normPlacement === 'output'
          ? sentence`norms of the outputs of attention and feed-forward`
          : sentence`norms after the residual`,
  },
  {
    fields: ['normsPerLayer'],
    lacks: ({ normsPerLayer = 2 }) => wordsIf(normsPerLayer !== 2, sentence`${normsPerLayer} norms per layer`),
  },
  inexpressible('normParameters', sentence`norms without their usual parameters`),
  inexpressible('embeddingNorm', sentence`the norm of the embedding`),
  // a field of Megatron Core's config that its layers do not read
  inexpressibleDetail('normResidual', sentence`outputs that are added to the normed input`),
  inexpressibleDetail('residualWeights', sentence`factors of the residual stream`),
  inexpressibleDetail('branchMultipliers', sentence`multipliers within attention, SSM and feed-forward`),
  inexpressibleDetail('parallelResidual', sentence`attention and feed-forward side by side`),
  {
    fields: ['qkvBias', 'attentionOutputBias', 'mlpBias'],
    flags: (model) => [...when(!isBiased(model), '--disable-bias-linear'), ...when(model.qkvBias && !isBiased(model), '--add-qkv-bias')],
    lacks: ({ attentionOutputBias, mlpBias, qkvBias }) =>
      wordsIf((attentionOutputBias || mlpBias) && !(attentionOutputBias && mlpBias && qkvBias), sentence`biases in some matrices only`),
  },
  // in latent attention the norms of compressed queries, keys and values
  { fields: ['qkNorm'], flags: (model) => when(model.qkNorm || hasLatent(model), '--qk-layernorm') },
  { fields: ['tiedEmbeddings'], flags: ({ tiedEmbeddings }) => when(!tiedEmbeddings, '--untie-embeddings-and-output-weights') },
  inexpressible('headBias', sentence`the bias of the head`),
  { fields: ['vocab'], flags: ({ vocab }) => when(vocab > 0, `--vocab-size ${vocab}`) },
  {
    fields: ['unusedPositions'],
    lacks: ({ unusedPositions = 0 }) => wordsIf(unusedPositions > 0, sentence`rows of the position table that no token has`),
  },
  inexpressibleDetail('embeddingMultiplier', sentence`the multiplier of the embedding`, true),
  inexpressibleDetail('residualMultiplier', sentence`the multiplier of the residual`, true),
  inexpressibleDetail('logitMultiplier', sentence`the multiplier of the logits`, true),
  inexpressibleDetail('logitSoftCap', sentence`the soft cap of the logits`, true),
  {
    fields: ['smallParameters'],
    lacks: ({ smallParameters = {} }) =>
      wordsIf(
        Object.values(smallParameters).some((count) => count !== 0),
        sentence`parameters of its own beyond norms and biases`,
      ),
  },
  { fields: ['mtpLayers'], flags: ({ mtpLayers = 0 }) => when(mtpLayers > 0, `--mtp-num-layers ${mtpLayers}`) },
  {
    fields: ['details.initStd'],
    flags: ({ details: { initStd } = {} }) => valued('init-method-std', initStd === defaultInitStd ? undefined : initStd),
    open: ({ details }) =>
      wordsIf(details?.initStd === undefined, takes(sentence`standard deviation of new weights`, String(defaultInitStd))),
  },
];

function activationText({ details }: ModelSpec): string {
  return details?.activation ?? '';
}

/** Null where no flags have it. GELU without a gate is exact, or with a bias that is fused with it, its tanh form. */
function activationFlags(model: ModelSpec): readonly string[] | null {
  const { gatedMlp, details } = model;
  const isUnfused = when(isBiased(model), '--no-bias-gelu-fusion');
  if (details?.activation === undefined) return when(gatedMlp, '--swiglu');
  if (gatedMlp) return own({ silu: ['--swiglu'], quick_gelu: ['--quick-geglu'] }, details.activation) ?? null;
  if (details.activation === 'gelu_pytorch_tanh') return isBiased(model) ? [] : null;
  return own({ gelu: isUnfused, relu2: ['--squared-relu', ...isUnfused] }, details.activation) ?? null;
}

import { byDefault, type Place, type LocatedFields } from '../domain/located';
import { configError } from '../errors';
import { completeFamily, familyOfModel, hiddenOverHeads } from '../huggingface/families';
import type { LocatedPartial } from '../run/given';
import type { WrittenModel } from '../run/written-model';
import { listOf, sentence } from '../sentence';

const required = { layers: sentence`layers`, hidden: sentence`hidden size`, heads: sentence`attention heads` } as const;

/**
 * Fills a model given by numbers. A gated MLP makes it a Llama-like model (RMSNorm, rotary positions, no biases), otherwise it is a
 * GPT-like one (LayerNorm, biases, learned positions where their number is given). Without a vocabulary it has neither embedding nor head.
 * @throws ExpectedError `config-model-incomplete` at `place` when layers, hidden or heads is missing.
 */
export function completeInline(given: LocatedPartial<WrittenModel>, place: Place | undefined): LocatedFields<WrittenModel> {
  const { layers, hidden, heads } = given;
  if (layers === undefined || hidden === undefined || heads === undefined) {
    const missing = (Object.keys(required) as (keyof typeof required)[]).filter((key) => given[key] === undefined);
    throw configError(
      'config-model-incomplete',
      sentence`The model has no ${listOf(missing.map((key) => required[key]))}`,
      sentence`add ${missing.join(', ')}, or name a config.json`,
      place,
    );
  }
  const gatedMlp = given.gatedMlp ?? byDefault(false, sentence`a model given by numbers has one up projection unless gatedMlp is set`);
  const gated = gatedMlp.value;
  const biases = byDefault(
    !gated,
    gated ? sentence`models with a gated MLP, as Llama, have no biases` : sentence`models without a gated MLP, as GPT-2, have biases`,
  );
  const maxPositions = given.maxPositions ?? byDefault(null, sentence`no limit given`);
  return {
    modelType: given.modelType ?? byDefault('custom', sentence`numbers given inline`),
    layers,
    hidden,
    heads,
    kvHeads: given.kvHeads ?? byDefault(heads.value, sentence`without kvHeads, as many as heads`),
    headDim: given.headDim ?? hiddenOverHeads(hidden.value, heads.value),
    ffn: given.ffn ?? defaultFfn(hidden.value, gated),
    gatedMlp,
    experts: given.experts ?? byDefault(null, sentence`dense unless experts is given`),
    activeExperts: given.activeExperts ?? byDefault(null, sentence`dense unless activeExperts is given`),
    expertFfn: given.expertFfn ?? byDefault(null, sentence`experts are as wide as ffn unless expertFfn is given`),
    encoderLayers: given.encoderLayers ?? byDefault(null, sentence`decoder only unless encoderLayers is given`),
    vocab: given.vocab ?? byDefault(0, sentence`no vocabulary given: planned without embedding and head`),
    tiedEmbeddings:
      given.tiedEmbeddings ?? byDefault(false, sentence`a model given by numbers has its own head unless tiedEmbeddings is set`),
    maxPositions,
    positions: given.positions ?? defaultPositions(gated, maxPositions.value),
    norm:
      given.norm ??
      (gated
        ? byDefault('rmsnorm' as const, sentence`models with a gated MLP, as Llama, use RMSNorm`)
        : byDefault('layernorm' as const, sentence`models without a gated MLP, as GPT-2, use LayerNorm`)),
    qkvBias: given.qkvBias ?? biases,
    attentionOutputBias: given.attentionOutputBias ?? biases,
    mlpBias: given.mlpBias ?? biases,
    qkNorm: given.qkNorm ?? byDefault(false, sentence`no norm of queries and keys unless qkNorm is set`),
  };
}

/**
 * Fills a model again after some of its fields were replaced: what was only derived or defaulted follows the new numbers.
 * @throws ExpectedError as `completeInline`.
 */
export function overrideModel(model: LocatedFields<WrittenModel>, overrides: LocatedPartial<WrittenModel>): LocatedFields<WrittenModel> {
  const given: LocatedPartial<WrittenModel> = { ...withoutDefaults(model), ...overrides };
  const { modelType } = model;
  const family = familyOfModel(modelType);
  return family === null ? completeInline({ ...given, modelType }, undefined) : completeFamily(family, modelType, given);
}

function withoutDefaults(model: LocatedFields<WrittenModel>): LocatedPartial<WrittenModel> {
  return Object.fromEntries(Object.entries(model).filter(([, { source }]) => source.kind !== 'default'));
}

function defaultFfn(hidden: number, gated: boolean) {
  return gated
    ? byDefault(
        Math.max(64, Math.floor((8 * hidden) / 3 / 64) * 64),
        sentence`Megatron-LM: a gated MLP is 8/3 times the hidden size, in multiples of 64`,
      )
    : byDefault(4 * hidden, sentence`Megatron-LM: 4 times the hidden size`);
}

function defaultPositions(gated: boolean, maxPositions: number | null) {
  if (gated) return byDefault('rotary' as const, sentence`models with a gated MLP use rotary positions`);
  return maxPositions === null
    ? byDefault('none' as const, sentence`no number of positions given`)
    : byDefault('learned' as const, sentence`models without a gated MLP learn a position table`);
}

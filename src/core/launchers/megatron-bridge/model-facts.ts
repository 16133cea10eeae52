import { byDefault, from } from '../../domain/located';
import type { RopeScaling } from '../../domain/model';
import type { Fact, Facts } from '../../run/facts';
import { count, on, positiveNumber } from '../../languages/reads';
import { sentence } from '../../sentence';
import { coefficient } from '../megatron/detail-keys';
import { normalisedByScore, skippedLayers } from '../megatron/detail-facts';
import { llama3Scaling } from '../megatron/megatron-defaults';
import type { KeyReader } from '../tables/keys';
import { layerPattern } from '../tables/reads';

/** Sizes of yarn by the names of `GPTModelProvider`, and of `MLATransformerConfig`. */
const yarnSizes = [
  ['factor', 'yarn_rotary_scaling_factor', 'rotary_scaling_factor'],
  ['originalPositions', 'yarn_original_max_position_embeddings', 'original_max_position_embeddings'],
  ['betaFast', 'yarn_beta_fast', 'beta_fast'],
  ['betaSlow', 'yarn_beta_slow', 'beta_slow'],
  ['mscale', 'yarn_mscale', 'mscale'],
  ['mscaleAllDim', 'yarn_mscale_all_dim', 'mscale_all_dim'],
] as const satisfies readonly (readonly [size: keyof RopeScaling, plain: string, latent: string])[];

/** What several keys of a model mean together, or follow from others in Megatron Core, whatever the recipe. */
export function bridgeModelFacts(reader: KeyReader, facts: Facts): Facts {
  const { latentAttention, experts, bias, activeExperts, routerGroupTopk } = facts;
  const scaling = readScaling(reader, facts);
  return {
    ...normalisedByScore(facts),
    ...(scaling && { ropeScaling: scaling }),
    ...skippedLayers(reader.one('model.no_rope_freq', layerPattern), facts),
    ...(latentAttention?.value === true && {
      rotaryInterleaved: byDefault(true, sentence`latent attention rotates neighbours`),
    }),
    ...(experts && bias?.value === true && { routerBias: byDefault(true, sentence`the router has a bias where linear layers have one`) }),
    ...(experts &&
      activeExperts &&
      routerGroupTopk && { routerGroupBest: from(activeExperts, Math.floor(activeExperts.value / routerGroupTopk.value)) }),
  };
}

function readScaling(reader: KeyReader, { latentAttention }: Facts): Fact<RopeScaling> | undefined {
  const isLatent = latentAttention?.value === true;
  const isScaled = reader.one('model.rope_scaling', on(true));
  if (isScaled?.value === true) {
    const factor = reader.one('model.rope_scaling_factor', positiveNumber)?.value ?? 1;
    return { ...isScaled, value: { ...llama3Scaling, factor } };
  }
  const divided = reader.one('model.seq_len_interpolation_factor', positiveNumber);
  if (divided !== undefined) return { ...divided, value: { kind: 'linear', factor: divided.value } };
  const sizes = yarnSizes.flatMap(([size, plain, latent]) => {
    const read = size === 'originalPositions' ? count(1) : coefficient;
    const given = reader.one(`model.${isLatent ? latent : plain}`, read);
    return given === undefined ? [] : [[size, given] as const];
  });
  const [first] = sizes;
  if (first === undefined) return undefined;
  const isRounded = reader.one('model.yarn_correction_range_round_to_int', on(true))?.value ?? true;
  const value = { kind: 'yarn', ...Object.fromEntries(sizes.map(([size, { value: given }]) => [size, given])) };
  return { ...first[1], value: isRounded || isLatent ? value : { ...value, isUnrounded: true } };
}

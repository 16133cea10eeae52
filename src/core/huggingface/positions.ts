import { ropeScalingSizes, type RopeScaling } from '../domain/model';
import type { Located, LocatedFields } from '../domain/located';
import type { FactName, FactValues } from '../run/facts';
import type { WrittenModel } from '../run/written-model';
import { classDefault, readFlag, mapped, readNumber, objectIn, readWord } from './lenient-members';
import { located, type Members, type Source } from './members';

const epsilonKeys = ['rms_norm_eps', 'layer_norm_eps', 'layer_norm_epsilon', 'layernorm_epsilon', 'norm_eps', 'norm_epsilon'] as const;

const scalingKeys: Readonly<Record<(typeof ropeScalingSizes)[number], string>> = {
  factor: 'factor',
  lowFrequencyFactor: 'low_freq_factor',
  highFrequencyFactor: 'high_freq_factor',
  originalPositions: 'original_max_position_embeddings',
  betaFast: 'beta_fast',
  betaSlow: 'beta_slow',
  mscale: 'mscale',
  mscaleAllDim: 'mscale_all_dim',
  attentionFactor: 'attention_factor',
};

/**
 * Rotary base, rotated share and scaling of positions, and the epsilon of the norms, as a config or its class sets them: `rope_theta` and
 * `rope_scaling` of transformers 4, `rope_parameters` of transformers 5, where layers with a window may have parameters of their own. A
 * `rope_theta` of null leaves the base open. No plan depends on them, so one that is not positive is left out, not refused.
 */
export function positionsIn(
  source: Source,
  { positions, headDim, maxPositions }: LocatedFields<WrittenModel>,
): Partial<{ -readonly [K in FactName]: Located<FactValues[K]> }> {
  const epsilon = readNumber(source, epsilonKeys) ?? classDefault(source, 'normEpsilon', 'epsilon of the norms');
  const ofNorms = epsilon === undefined ? {} : { normEpsilon: epsilon };
  if (positions.value !== 'rotary') return ofNorms;
  const parameters = ofWholeLayers(source, objectIn(source, 'rope_parameters'));
  const base =
    readNumber(source, ['rope_theta'], parameters) ??
    readNumber(source, ['rope_theta', 'rotary_emb_base']) ??
    readNumber(source, ['rope_theta'], objectIn(source, 'attn_config')) ??
    (source.members.get('rope_theta')?.value.type === 'null' ? undefined : classDefault(source, 'rotaryBase', 'rope_theta'));
  const shares = ['partial_rotary_factor', 'rotary_pct', 'rope_pct'];
  const rotated =
    readNumber(source, shares, parameters) ??
    readNumber(source, shares) ??
    mapped(readNumber(source, ['rotary_dim']), (width) => Math.min(1, width / headDim.value));
  const scaling =
    scalingIn(source, 'rope_parameters', parameters, maxPositions.value) ??
    scalingIn(source, 'rope_scaling', objectIn(source, 'rope_scaling'), maxPositions.value);
  return {
    ...ofNorms,
    ...(base && { rotaryBase: base }),
    ...(rotated && { rotaryShare: rotated }),
    ...(scaling && { ropeScaling: scaling }),
  };
}

function ofWholeLayers(source: Source, parameters: Members): Members {
  const whole = objectIn(source, 'full_attention', parameters);
  return whole.size > 0 ? whole : parameters;
}

function scalingIn(source: Source, name: string, members: Members, maxPositions: number | null): Located<RopeScaling> | undefined {
  const around = source.members.get(name);
  const kind = readWord(source, ['rope_type', 'type'], members)?.value;
  if (around === undefined || kind === undefined || kind === 'default') return undefined;
  const written = ropeScalingSizes.map((size) => [size, readNumber(source, [scalingKeys[size]], members, 0)?.value] as const);
  const sizes: Partial<RopeScaling> = Object.fromEntries(written.filter(([, value]) => value !== undefined));
  const isUnrounded = readFlag(source, ['truncate'], members)?.value === false;
  const all = kind === 'yarn' ? yarnSizes(sizes, maxPositions) : sizes;
  return located(source.document, around, { ...all, kind, ...(isUnrounded && { isUnrounded }) });
}

/** What transformers takes of yarn where a config leaves it open (`_compute_yarn_parameters`); only one of both scales means nothing. */
function yarnSizes(sizes: Partial<RopeScaling>, maxPositions: number | null): Partial<RopeScaling> {
  const {
    originalPositions = maxPositions ?? undefined,
    betaFast = 32,
    betaSlow = 1,
    mscale = 0,
    mscaleAllDim = 0,
    attentionFactor,
  } = sizes;
  const scales =
    attentionFactor !== undefined
      ? { attentionFactor }
      : mscale > 0 && mscaleAllDim > 0
        ? { mscale, mscaleAllDim }
        : { mscale: 1, mscaleAllDim: 0 };
  return { factor: sizes.factor ?? 1, ...(originalPositions !== undefined && { originalPositions }), betaFast, betaSlow, ...scales };
}

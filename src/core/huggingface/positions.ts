import { ropeScalingSizes, type RopeScaling } from '../domain/model';
import type { Located } from '../domain/located';
import type { FactName, FactValues } from '../run/facts';
import { readMembers } from '../languages/json/document';
import { located, memberNamed, type Members, type Source } from './members';

const epsilonKeys = ['rms_norm_eps', 'layer_norm_eps', 'layer_norm_epsilon', 'layernorm_epsilon', 'norm_eps', 'norm_epsilon'] as const;

const scalingKeys = {
  factor: 'factor',
  lowFrequencyFactor: 'low_freq_factor',
  highFrequencyFactor: 'high_freq_factor',
  originalPositions: 'original_max_position_embeddings',
} as const;

/**
 * Rotary base, rotated share and scaling of positions, and the epsilon of the norms, where a config gives them: `rope_theta` and
 * `rope_scaling` of transformers 4, `rope_parameters` of transformers 5. No plan depends on them, so one that is not positive is left out,
 * not refused.
 */
export function positionsIn(source: Source): Partial<{ -readonly [K in FactName]: Located<FactValues[K]> }> {
  const { members } = source;
  const parameters = objectIn(source, 'rope_parameters');
  const base = numberIn(source, parameters, ['rope_theta']) ?? numberIn(source, members, ['rope_theta', 'rotary_emb_base']);
  const shares = ['partial_rotary_factor', 'rotary_pct', 'rope_pct'];
  const rotated = numberIn(source, parameters, shares) ?? numberIn(source, members, shares);
  const scaling = scalingIn(source, 'rope_parameters') ?? scalingIn(source, 'rope_scaling');
  const epsilon = numberIn(source, members, epsilonKeys);
  return {
    ...(base && { rotaryBase: base }),
    ...(rotated && { rotaryShare: rotated }),
    ...(scaling && { ropeScaling: scaling }),
    ...(epsilon && { normEpsilon: epsilon }),
  };
}

function objectIn({ members, document }: Source, name: string): Members {
  const member = members.get(name);
  return member?.value.type === 'object' ? readMembers(document, member.value, name) : new Map();
}

function numberIn({ document }: Source, members: Members, keys: readonly string[]): Located<number> | undefined {
  const member = memberNamed(members, keys);
  const value: unknown = member?.value.value;
  return member !== undefined && typeof value === 'number' && value > 0 && Number.isFinite(value)
    ? located(document, member, value)
    : undefined;
}

function scalingIn(source: Source, name: string): Located<RopeScaling> | undefined {
  const around = source.members.get(name);
  const members = objectIn(source, name);
  const kind: unknown = memberNamed(members, ['rope_type', 'type'])?.value.value;
  if (around === undefined || typeof kind !== 'string' || kind === 'default') return undefined;
  const sizes = ropeScalingSizes.map((size) => [size, numberIn(source, members, [scalingKeys[size]])?.value] as const);
  return located(source.document, around, { kind, ...Object.fromEntries(sizes.filter(([, value]) => value !== undefined)) });
}

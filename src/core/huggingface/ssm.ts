import * as v from 'valibot';
import { byDefault, from, type Located, type LocatedFields } from '../domain/located';
import type { StateMixer } from '../domain/model';
import type { FactValues } from '../run/facts';
import { integer, list, positive, type Rule } from '../domain/settings/rules';
import type { WrittenModel } from '../run/written-model';
import type { StateField } from './family';
import { flag, memberNamed, readMember, type Source } from './members';
import { sentence, type Sentence } from '../sentence';

/** What a config sets for its layers with a state, and for the kind of every layer. */
export interface StateRead {
  readonly facts: { readonly [K in keyof FactValues]?: Located<FactValues[K]> };
  readonly state: StateMixer;
}

const size = integer(1, 10_000_000);
/** Mamba's widening need not be whole. */
const widening = positive(1000);

/**
 * The mixer with a state that a config describes; null for families without one.
 * @throws ExpectedError `config-wrong-type`, `config-out-of-range`; placed.
 */
export function readState(source: Source, model: LocatedFields<WrittenModel>): StateRead | null {
  const { family } = source;
  const given = family.state;
  if (given === undefined) return null;
  const { kind } = given;
  const hidden = model.hidden.value;
  const read = (field: StateField): Located<number> | undefined => {
    const member = memberNamed(source.members, given.keys[field]);
    const isOpen = member === undefined || member.value.type === 'null' || member.value.value === 'auto';
    const otherwise = given.defaults[field];
    // A null width is derived though the class has a default of it.
    if (!isOpen) return readMember(source, member, field === 'expand' ? widening : size);
    if (otherwise === undefined || (field === 'inner' && member !== undefined)) return undefined;
    return byDefault(otherwise, sentence`${family.configClass} default: ${given.keys[field]?.[0] ?? field} ${otherwise}`);
  };
  const expanded = (): Located<number> => {
    const expand = read('expand') ?? byDefault(2, sentence``);
    return read('inner') ?? from(expand, Math.max(1, Math.floor(expand.value * hidden)));
  };
  const derived = (value: number, reason: Sentence): Located<number> => byDefault(Math.max(1, Math.floor(value)), reason);
  const isLightning = kind === 'lightning';
  const heads = isLightning ? model.heads : kind === 'mamba' ? expanded() : (read('heads') ?? derived(1, sentence`one head`));
  const headDim =
    kind === 'mamba'
      ? derived(1, sentence`every channel has a state of its own`)
      : isLightning
        ? model.headDim
        : (read('headDim') ?? derived(expanded().value / heads.value, sentence`the width of the state over its heads`));
  const stateDim = isLightning ? model.headDim : (read('stateDim') ?? derived(1, sentence``));
  const groups = isLightning
    ? model.heads
    : kind === 'mamba'
      ? derived(1, sentence`all channels share B and C`)
      : (read('groups') ?? derived(1, sentence``));
  const stepRank =
    kind === 'mamba' ? (read('stepRank') ?? derived(Math.ceil(hidden / 16), sentence`a sixteenth of the hidden size`)) : undefined;
  const convolution = isLightning ? undefined : read('convolution');
  const values = heads.value * headDim.value;
  const switched = (named: { readonly key: string; readonly otherwise: boolean } | undefined): boolean =>
    named !== undefined && flag(source, named.key, named.otherwise).value;
  const normed = typeof given.norm === 'string' ? given.norm : flag(source, given.norm.key, false).value ? 'values' : 'none';
  const norms = { values, head: headDim.value, steps: (stepRank?.value ?? 0) + 2 * stateDim.value, none: 0 };
  const chunk = given.chunk.key === undefined ? undefined : readMember(source, written(source, given.chunk.key), size);
  return {
    facts: {
      stateKind: byDefault(kind, sentence`the same in all ${model.modelType.value} models`),
      ...(kind === 'mamba' ? { stateHeads: heads } : { stateHeads: heads, stateHeadDim: headDim, stateGroups: groups }),
      stateDim,
      ...(stepRank === undefined ? {} : { stateStepRank: stepRank }),
      ...(convolution === undefined ? {} : { stateConvolution: convolution }),
    },
    state: {
      kind,
      heads: heads.value,
      headDim: headDim.value,
      stateDim: stateDim.value,
      groups: groups.value,
      convolution: convolution?.value ?? 0,
      chunk: chunk?.value ?? given.chunk.otherwise,
      ...(stepRank === undefined ? {} : { stepRank: stepRank.value }),
      convolutionBias: switched(given.convolutionBias),
      projectionBias: switched(given.projectionBias),
      normParameters: norms[normed],
    },
  };
}

/** A member that is not null. */
function written({ members }: Source, key: string) {
  const member = members.get(key);
  return member?.value.type === 'null' ? undefined : member;
}

const kindNames = list(v.pipe(v.string(), v.maxLength(64)), 1, 10_000, sentence`a list of layer types, one per layer`);
const layerIndices = list(v.pipe(v.number(), v.integer(), v.minValue(0)), 0, 10_000, sentence`a list of layer indices`);
const patternRule: Rule<string> = {
  schema: v.pipe(v.string(), v.regex(/^[ME*-]+$/), v.maxLength(10_000)),
  type: 'string',
  expects: sentence`a letter of M, E, * and - for each layer`,
};
const letters: ReadonlyMap<string, string> = new Map([
  ['M', 'mamba'],
  ['E', 'moe'],
  ['*', 'attention'],
  ['-', 'mlp'],
]);

/** The kinds of all layers of a family with a state, as its config lists them or as they follow from it; null for other families. */
export function stateLayers(source: Source, layers: number): Located<readonly string[]> | null {
  const { family, members } = source;
  if (family.state === undefined) return null;
  const listed = memberNamed(members, ['layer_types', 'layers_block_type']);
  if (listed?.value.type === 'array') {
    const kinds = readMember(source, listed, kindNames);
    if (kinds !== undefined) return kinds;
  }
  const of = (kindAt: (layer: number) => string): readonly string[] => Array.from({ length: layers }, (_, layer) => kindAt(layer));
  const number = (key: string, otherwise: number): Located<number> =>
    readMember(source, written(source, key), integer(0, 10_000)) ??
    byDefault(otherwise, sentence`${family.configClass} default: ${key} ${otherwise}`);
  switch (family.state.layers) {
    case 'all':
      return byDefault(
        of(() => 'mamba'),
        sentence`every layer of a ${family.configClass} has a state unless it lists them`,
      );
    case 'parallel':
      return byDefault(
        of(() => 'hybrid'),
        sentence`every layer has attention and a state side by side`,
      );
    case 'periods': {
      const [period, offset] = [number('attn_layer_period', 8), number('attn_layer_offset', 4)];
      return from(
        period,
        of((layer) => (layer % Math.max(1, period.value) === offset.value ? 'attention' : 'mamba')),
      );
    }
    case 'indices': {
      const found =
        readMember(source, written(source, 'attn_layer_indices'), layerIndices) ??
        byDefault([], sentence`no layer attends unless it is listed`);
      const attending = new Set(found.value);
      return from(
        found,
        of((layer) => (attending.has(layer) ? 'attention' : 'mamba')),
      );
    }
    case 'pattern': {
      const found =
        readMember(source, written(source, 'hybrid_override_pattern'), patternRule) ??
        byDefault('ME*-', sentence`${family.configClass} default`);
      return from(
        found,
        Array.from(found.value, (letter) => letters.get(letter) ?? 'mamba'),
      );
    }
    case 'interval': {
      const interval = number('full_attention_interval', 4);
      return from(
        interval,
        of((layer) => ((layer + 1) % Math.max(1, interval.value) === 0 ? 'full_attention' : 'linear_attention')),
      );
    }
    case 'alternating':
      return byDefault(
        of((layer) => (layer % 2 === 0 ? 'full_attention' : 'linear_attention')),
        sentence`${family.configClass}: every other layer`,
      );
  }
}

/** Layers of a Jamba without experts; null where it has one network for all. */
export function denseByPeriod(source: Source, layers: number): Located<readonly number[]> | null {
  if (source.family.state?.layers !== 'periods') return null;
  const number = (key: string, otherwise: number): Located<number> =>
    readMember(source, written(source, key), integer(0, 10_000)) ??
    byDefault(otherwise, sentence`${source.family.configClass} default: ${key} ${otherwise}`);
  const [period, offset] = [number('expert_layer_period', 2), number('expert_layer_offset', 1)];
  const dense = Array.from({ length: layers }, (_, layer) => layer).filter((layer) => layer % Math.max(1, period.value) !== offset.value);
  return from(period, dense);
}

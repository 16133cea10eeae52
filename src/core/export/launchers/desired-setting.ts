import type { FactName, Facts } from '../../formats/facts';
import type { LauncherFormat } from '../../formats/config-format';
import type { NarrowFormat } from '../../spec/number-formats';
import { formatNumber } from '../../format';
import type { countOf } from '../../rules/launchers/derived';

/** A value as it is written; undefined: the setting is not there. */
export type PutValue = number | string | boolean | readonly (string | readonly string[])[] | undefined;

/** One setting to write. */
export interface Put {
  readonly fact: FactName;
  readonly value?: PutValue;
}

/** Settings that are written together or not at all. */
export type Way = readonly Put[];

/** What a plan can say to a launcher. */
export type Said = (typeof allSaid)[number];

export const allSaid = [
  ...(['tensor', 'pipeline', 'context', 'expert', 'expertTensor', 'data', 'virtualStages', 'stageLayers', 'schedule'] as const),
  ...(['sequenceLength', 'microBatch', 'globalBatch', 'precision', 'gemmPrecision', 'zeroStage', 'sequenceParallel'] as const),
  ...(['overlapGradients', 'overlapParameters', 'recompute', 'offloadLayers', 'offloadOptimizer', 'contextExchange'] as const),
] as const;

/** One thing that a launcher should be told. */
export interface Wish {
  /** In words and numbers: `tensor parallel size 8`. */
  readonly what: string;
  /** Facts it is read from. */
  readonly facts: readonly FactName[];
  /** What of the plan it is about, where facts do not tell. */
  readonly about?: readonly Said[];
  /** Whether a file says so; `text` is its text, for values that facts count only. */
  readonly isMet: (facts: Facts, text: string) => boolean;
  /** What to write, best first; empty where this launcher has no setting for it. Hangs on what a file has already. */
  readonly ways: (facts: Facts) => readonly Way[];
  /** Why it cannot be told, and what happens instead: a sentence without its end. */
  readonly because: string;
}

/** Numeric facts. */
type Counted = Parameters<typeof countOf>[1];

const never = 'the file has no place for it that can be edited; edit it yourself';

/** A number under one fact; `fallback` is what the launcher takes where the file is silent, null: unknown. */
export function countWish(what: string, fact: Counted, value: number, fallback: number | null): Wish {
  return {
    what: `${what} ${formatNumber(value)}`,
    facts: [fact],
    isMet: (facts) => (facts[fact] === undefined ? fallback : facts[fact].value) === value,
    ways: () => [[{ fact, value }]],
    because: never,
  };
}

/** A switch under one fact. */
export function switchWish(
  what: string,
  fact: 'sequenceParallel' | 'overlapGradients' | 'overlapParameters',
  value: boolean,
  fallback: boolean | null,
  matters: (facts: Facts) => boolean,
): Wish {
  return {
    what: `${what} ${value ? 'on' : 'off'}`,
    facts: [fact],
    isMet: (facts) => !matters(facts) || (facts[fact] === undefined ? fallback : facts[fact].value) === value,
    ways: () => [[{ fact, value }]],
    because: never,
  };
}

/** Products in a narrow format: a new file says so, in an existing one it is up to a person, since recipes hang on it. */
export function narrowWish(format: NarrowFormat | undefined, written: readonly NarrowFormat[], how: string): readonly Wish[] {
  if (format === undefined) return [];
  return [
    {
      what: `GEMMs in ${format}`,
      facts: ['precision'],
      about: ['gemmPrecision'],
      isMet: ({ precision }) => precision?.value === format,
      ways: (facts) => (facts === newFile && written.includes(format) ? [[{ fact: 'precision', value: format }]] : []),
      because: how,
    },
  ];
}

/** The optimizer and its state on the host or on the GPU. Taking it back is an edit; how to offload hangs on more than one switch, so that is left to a person. */
export function offloadWish(offload: boolean): Wish {
  return {
    what: `optimizer on the ${offload ? 'host' : 'GPU'}`,
    facts: ['offloadOptimizer'],
    isMet: ({ offloadOptimizer }) => offload === (offloadOptimizer !== undefined && offloadOptimizer.value !== 'none'),
    ways: () => (offload ? [] : [gone('offloadOptimizer')]),
    because: `switch the offload of the optimizer ${offload ? 'on' : 'off'} yourself`,
  };
}

/** Something that a launcher has no setting for. Met only where the plan asks for nothing. */
export function lacking(about: Said | readonly Said[], what: string, because: string, isAsked = true): readonly Wish[] {
  return isAsked ? [{ what, about: [about].flat(), facts: [], isMet: () => false, ways: () => [], because }] : [];
}

/** What a file that is written from nothing says so far. */
export const newFile: Facts = {};

/** Whether a file itself gives a fact. */
export function isGiven(facts: Facts, fact: FactName): boolean {
  return facts[fact]?.source.kind === 'file';
}

/** Puts that take settings out. */
export function gone(...names: readonly FactName[]): Way {
  return names.map((fact) => ({ fact }));
}

export const because = { never } as const;

/** Launchers whose missing parallel sizes are 1; a Megatron-Bridge file leaves them to a recipe in Python. */
export function silentSize(format: LauncherFormat): number | null {
  return format === 'megatron-bridge' ? null : 1;
}

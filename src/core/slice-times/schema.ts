import * as v from 'valibot';
import { providerNames, type Profile } from '../spec/profile';

/** Most samples, cells or points of a table that a profile may hold, in each list. */
export const mostSamples = 10_000;
const mostWarnings = 200;
const mostVersions = 100;

const integerFrom = (least: number, most: number) => v.pipe(v.number(), v.integer(), v.minValue(least), v.maxValue(most));
const text = v.pipe(v.string(), v.maxLength(4000));
const ms = v.pipe(v.number(), v.minValue(1e-6), v.maxValue(1e9));
const coefficient = v.pipe(v.number(), v.minValue(-1e9), v.maxValue(1e9));
const percent = v.pipe(v.number(), v.minValue(0), v.maxValue(1e12));
const count = integerFrom(1, 1e8);
const countOrNone = integerFrom(0, 1e8);
const cell = { batch: count, tokens: count, context: countOrNone };

const samples = v.pipe(
  v.array(v.object({ ...cell, forwardMs: ms, backwardMs: ms, rounds: countOrNone, holdOut: v.boolean() })),
  v.maxLength(mostSamples),
);
const part = v.picklist(['layer', 'embedding', 'head']);
const points = <T extends v.GenericSchema>(item: T) => v.pipe(v.array(item), v.minLength(1), v.maxLength(mostSamples));
const timeFit = v.object({
  rows: v.object({ tokens: points(count), ms: points(ms) }),
  square: v.pipe(coefficient, v.minValue(0)),
  context: v.object({
    constant: coefficient,
    perRow: coefficient,
    perContext: coefficient,
    perRowContext: coefficient,
    perContextSquare: coefficient,
  }),
});
const partFit = v.object({ forward: timeFit, backward: timeFit });
const fitError = v.object({
  meanPercent: percent,
  maxPercent: percent,
  cells: count,
  method: v.picklist(['hold-out', 'leave-one-out']),
});

const shape = v.object({
  hidden: count,
  heads: count,
  kvHeads: count,
  headDim: count,
  ffn: count,
  gatedMlp: v.boolean(),
  norm: v.picklist(['layernorm', 'rmsnorm']),
  rotary: v.boolean(),
  qkvBias: v.boolean(),
  attentionOutputBias: v.boolean(),
  mlpBias: v.boolean(),
  qkNorm: v.boolean(),
  experts: v.nullable(v.object({ count, active: count })),
  vocab: countOrNone,
  learnedPositions: v.boolean(),
});

/**
 * A profile as it is stored, value by value; keys it does not know are left out. What values must be to each other (ascending tables) is checked by `parseProfile`.
 * media/schemas/profile.schema.json says the same, and a test holds the two together.
 */
export const profileSchema = v.object({
  version: v.literal(1),
  kind: v.literal('terapipe-profile'),
  status: v.picklist(['complete', 'partial']),
  error: v.nullable(text),
  measuredAt: v.pipe(v.string(), v.regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?Z$/)),
  source: v.picklist(['onnxruntime', 'imported']),
  device: v.object({
    kind: v.picklist(['gpu', 'cpu', 'software']),
    name: text,
    memoryBytes: v.nullable(v.pipe(v.number(), v.minValue(0), v.maxValue(1e18))),
    driver: v.nullable(text),
  }),
  provider: v.nullable(v.picklist(providerNames)),
  versions: v.pipe(
    v.unknown(),
    v.check((value) => !Array.isArray(value)),
    v.record(v.string(), text),
    v.maxEntries(mostVersions),
  ),
  title: text,
  tensor: count,
  shape,
  precision: v.picklist(['fp32', 'fp16', 'bf16']),
  sequenceLength: countOrNone,
  largestBatch: count,
  attention: v.object({ forward: text, backward: text }),
  threads: v.nullable(count),
  samples: v.object({ layer: samples, embedding: samples, head: samples }),
  skipped: v.pipe(
    v.array(v.object({ ...cell, part, reason: v.picklist(['out-of-memory', 'failed']), detail: text })),
    v.maxLength(mostSamples),
  ),
  twoLayerRatio: v.nullable(v.pipe(v.number(), v.gtValue(0), v.maxValue(1e6))),
  fit: v.nullable(v.object({ layer: partFit, embedding: v.nullable(partFit), head: v.nullable(partFit) })),
  errors: v.nullable(v.object({ forward: fitError, backward: fitError })),
  seconds: v.pipe(v.number(), v.minValue(0), v.maxValue(1e9)),
  warnings: v.pipe(v.array(text), v.maxLength(mostWarnings)),
}) satisfies v.GenericSchema<unknown, Profile>;

import * as v from 'valibot';
import { providerNames, type Profile } from '../domain/profile';

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

/** A value with its description in the JSON schema. */
const described = <const S extends v.GenericSchema>(description: string, schema: S) => v.pipe(schema, v.description(description));

const cell = {
  batch: described('Sequences in the slice.', count),
  tokens: described('Tokens of each sequence.', count),
  context: described('Earlier tokens of each sequence.', countOrNone),
};

const sample = v.object({
  ...cell,
  forwardMs: described('Least forward time over the rounds, ms.', ms),
  backwardMs: described('Least backward time over the rounds, ms.', ms),
  rounds: described('How often it ran.', countOrNone),
  holdOut: described('Never used in the fit, only to judge it.', v.boolean()),
});
const samples = described('Measured times.', v.pipe(v.array(described('Times of one cell.', sample)), v.maxLength(mostSamples)));
const points = <const S extends v.GenericSchema>(item: S) => v.pipe(v.array(item), v.minLength(1), v.maxLength(mostSamples));

const rows = v.object({
  tokens: described('Ascending numbers of rows (batch x tokens).', points(count)),
  ms: described('Their times without the square term, ms.', points(ms)),
});
const contextTerms = v.object({
  constant: described('ms.', coefficient),
  perRow: described('ms per batch x tokens.', coefficient),
  perContext: described('ms per batch x context.', coefficient),
  perRowContext: described('ms per batch x tokens x context.', coefficient),
  perContextSquare: described('ms per batch x context^2; 0 unless it lowers the error.', coefficient),
});
const timeFit = described(
  'Time of a slice in ms: rows(batch x tokens) + square x batch x tokens^2 + the context terms.',
  v.object({
    rows: described('Table, linear between its points.', rows),
    square: described('ms per batch x tokens^2.', v.pipe(coefficient, v.minValue(0))),
    context: described('What a context above 0 adds.', contextTerms),
  }),
);
const partFit = described('Fits of forward and backward.', v.object({ forward: timeFit, backward: timeFit }));
const fitError = described(
  'Relative error of a fit on cells held out of it.',
  v.object({
    meanPercent: described('Mean relative error, percent.', percent),
    maxPercent: described('Worst relative error, percent.', percent),
    cells: described('Cells it was judged on.', count),
    method: described('On cells kept apart, or by leaving each sample out in turn.', v.picklist(['hold-out', 'leave-one-out'])),
  }),
);

const experts = v.object({
  count: described('Experts held by the rank.', count),
  active: described('Experts that each token visits.', count),
});
const shape = described(
  'The layer as one rank of a tensor-parallel group runs it.',
  v.object({
    hidden: described('Width of the residual stream, not divided.', count),
    heads: described('Attention heads per rank.', count),
    kvHeads: described('Key/value heads per rank.', count),
    headDim: described('Width of a head.', count),
    ffn: described('Feed-forward width per rank; of one expert when there are experts.', count),
    gatedMlp: described('SiLU(gate) * up, as SwiGLU; otherwise GELU.', v.boolean()),
    norm: described('Normalisation.', v.picklist(['layernorm', 'rmsnorm'])),
    rotary: described('Rotary positions.', v.boolean()),
    qkvBias: described('Biases of the query, key and value projections.', v.boolean()),
    attentionOutputBias: described("Bias of the attention's output projection.", v.boolean()),
    mlpBias: described('Biases of the MLP.', v.boolean()),
    qkNorm: described('RMSNorm of each head of q and k.', v.boolean()),
    experts: described('Routed experts held by the rank; null for a dense layer.', v.nullable(experts)),
    vocab: described('Columns of the head per rank; 0: the model has neither head nor embedding.', countOrNone),
    learnedPositions: described('The embedding adds a learned position table.', v.boolean()),
  }),
);

const device = v.object({
  kind: described(
    '`software`: a GPU interface drawn by the CPU; its times mean nothing for a GPU.',
    v.picklist(['gpu', 'cpu', 'software']),
  ),
  name: described('As the driver names it.', text),
  memoryBytes: described('Memory of the device, bytes.', v.nullable(v.pipe(v.number(), v.minValue(0), v.maxValue(1e18)))),
  driver: described('Version of the driver.', v.nullable(text)),
});
const attention = v.object({
  forward: described('Operators of the forward.', text),
  backward: described('Operators of the backward.', text),
});
const skippedCell = v.object({
  part: described('What was to be run.', v.picklist(['layer', 'embedding', 'head'])),
  ...cell,
  reason: described('Why it could not.', v.picklist(['out-of-memory', 'failed'])),
  detail: described("The error's own words.", text),
});
const launchTime = v.pipe(v.number(), v.minValue(0), v.maxValue(1e6));
const launches = v.object({
  perNodeUs: described('A node that does nothing, µs.', launchTime),
  perProductUs: described('A GEMM of nothing, µs.', launchTime),
  forwardMs: described('All nodes of the forward of a slice, ms.', launchTime),
  backwardMs: described('All nodes of its backward, ms.', launchTime),
});
const fit = v.object({
  layer: partFit,
  embedding: described('Of the embedding.', v.nullable(partFit)),
  head: described('Of the head and the loss.', v.nullable(partFit)),
});

/** Names and texts. Without the check `v.record` accepts a list too. */
const versions = v.pipe(
  v.unknown(),
  v.check((value) => !Array.isArray(value)),
  v.record(v.string(), text),
  v.maxEntries(mostVersions),
);

/**
 * A profile as it is stored, value by value; keys it does not know are left out. What values must be to each other (ascending tables) is
 * checked by `parseProfile`. media/schemas/profile.schema.json is written from it: `npm run docs -- --write`.
 */
export const profileSchema = v.pipe(
  v.object({
    version: described('Version of this format.', v.literal(1)),
    kind: described('Tells a profile from other files.', v.literal('terapipe-profile')),
    status: described(
      '`partial`: measuring stopped early; the samples are valid, and `error` gives the reason.',
      v.picklist(['complete', 'partial']),
    ),
    error: described('Why measuring stopped; null when it did not.', v.nullable(text)),
    measuredAt: described(
      'ISO 8601 in UTC. Of profiles that serve a plan the newest complete one is taken.',
      v.pipe(v.string(), v.regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?Z$/)),
    ),
    source: described('Measured by `terapipe profile`, or imported from a table of times.', v.picklist(['onnxruntime', 'imported'])),
    device: described('What the slices ran on.', device),
    provider: described('Execution provider of ONNX Runtime; null for imported times.', v.nullable(v.picklist(providerNames))),
    versions: described('Versions of what took part: `onnxruntime`, `terapipe`, `node`, `os`, `cuda`.', versions),
    title: described('Of the model, for the eye; `shape` decides.', text),
    tensor: described('Ranks of the tensor-parallel group whose share was measured.', count),
    shape,
    precision: described('Data type of weights and activations.', v.picklist(['fp32', 'fp16', 'bf16'])),
    tf32: v.optional(described('Whether products of fp32 ran in TF32 on CUDA; null elsewhere.', v.nullable(v.boolean())), null),
    launches: v.optional(described('What launching the nodes of a layer takes; null when not measured.', v.nullable(launches)), null),
    sequenceLength: described('Longest context + tokens that was measured.', countOrNone),
    largestBatch: described('Largest batch that was measured.', count),
    attention: described('What ran the attention.', attention),
    threads: described('CPU threads inside an operator; null where the provider decides.', v.nullable(count)),
    samples: described(
      'Measured times of one layer and of the two ends of the model.',
      v.object({ layer: samples, embedding: samples, head: samples }),
    ),
    skipped: described('Cells that could not be run.', v.pipe(v.array(skippedCell), v.maxLength(mostSamples))),
    twoLayerRatio: described(
      'Time of two layers over time of one: 2 when layers scale linearly. Null when not checked.',
      v.nullable(v.pipe(v.number(), v.gtValue(0), v.maxValue(1e6))),
    ),
    fit: described('What fits the samples; null while there are too few.', v.nullable(fit)),
    errors: described(
      "Error of the layer's fit on cells held out of it; null when not judged.",
      v.nullable(v.object({ forward: fitError, backward: fitError })),
    ),
    seconds: described('Time that measuring took, s.', v.pipe(v.number(), v.minValue(0), v.maxValue(1e9))),
    warnings: described(
      'What to distrust: noise, drift, heavy nodes on the CPU, a software adapter.',
      v.pipe(v.array(text), v.maxLength(mostWarnings)),
    ),
  }),
  v.title('TeraPipe profile'),
  v.description(
    'Measured slice times of one Transformer layer on one device, with what fits them. Written by `terapipe profile`; times in ms, memory in bytes, lengths in tokens.',
  ),
) satisfies v.GenericSchema<unknown, Profile>;

/** Parts of a profile that come more than once: the definitions of the JSON schema. */
export const profileParts = { shape, samples, partFit, timeFit, fitError };

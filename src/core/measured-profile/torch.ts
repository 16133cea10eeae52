import * as v from 'valibot';
import type { TransferTimes } from '../domain/cluster';
import type { Profile, Sample, TimeFit, TrainerTimes } from '../domain/profile';
import { paddedVocab } from '../model/parameters';
import { maximum, median } from '../numbers';
import { fitErrors, fitPart } from './fit';
import { leastSquares } from './least-squares';
import { mostSamples, profileParts } from './schema';

/** `kind` of the file that `train.py --profile` writes. */
export const torchProfileKind = 'terapipe-torch-profile';

const number = (least: number, most: number) => v.pipe(v.number(), v.minValue(least), v.maxValue(most));
const count = v.pipe(number(0, 1e12), v.integer());
const text = v.pipe(v.string(), v.maxLength(4000));
const list = <const S extends v.GenericSchema>(item: S) => v.pipe(v.array(item), v.maxLength(mostSamples));
/** A median. A W pass of nothing takes less than any other. */
const time = v.object({ ms: number(0, 1e9) });

const sample = v.object({
  batch: v.pipe(count, v.minValue(1)),
  tokens: v.pipe(count, v.minValue(1)),
  context: count,
  rounds: count,
  forward: time,
  backward: time,
  backwardWeight: time,
});
const transfer = { bytes: v.pipe(count, v.minValue(1)), joined: v.boolean(), ms: number(1e-6, 1e9) };

/** What the PyTorch runtime measures, value by value. */
export const torchProfileSchema = v.object({
  version: v.literal(1),
  kind: v.literal(torchProfileKind),
  measuredAt: v.pipe(v.string(), v.regex(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?Z$/)),
  title: text,
  device: v.object({ kind: v.picklist(['gpu', 'cpu']), name: text, memoryBytes: v.nullable(number(0, 1e18)) }),
  versions: v.record(v.string(), text),
  threads: v.nullable(count),
  precision: v.picklist(['fp32', 'fp16', 'bf16']),
  sequenceLength: count,
  tensor: v.pipe(count, v.minValue(1)),
  shape: profileParts.shape,
  attention: text,
  layers: v.pipe(list(v.object({ layer: count, count, samples: list(sample) })), v.minLength(1)),
  embedding: list(sample),
  head: list(sample),
  optimizer: v.object({ ranks: list(v.object({ parameters: count, ms: number(0, 1e9) })) }),
  sends: list(v.object(transfer)),
  collectives: list(v.object({ ...transfer, kind: v.picklist(['all-reduce', 'all-gather']), ranks: v.pipe(count, v.minValue(2)) })),
  warnings: v.pipe(v.array(text), v.maxLength(200)),
});
type TorchProfile = v.InferOutput<typeof torchProfileSchema>;
type TorchSample = v.InferOutput<typeof sample>;

/** What the PyTorch runtime measured as a profile: of the kind of layer that the model has most of. */
export function profileOfTorch(measured: TorchProfile): Profile {
  const { layers, embedding, head, shape, tensor, attention, device } = measured;
  const most = layers.reduce((a, b) => (b.count > a.count ? b : a));
  const samples = { layer: most.samples.map(toSample), embedding: embedding.map(toSample), head: head.map(toSample) };
  const layer = fitPart(samples.layer);
  const weights = weightFit(most.samples);
  return {
    version: 1,
    kind: 'terapipe-profile',
    status: 'complete',
    error: null,
    measuredAt: measured.measuredAt,
    source: 'pytorch',
    device: { ...device, driver: null },
    provider: null,
    versions: measured.versions,
    title: measured.title,
    tensor,
    shape: { ...shape, vocab: paddedVocab(shape.vocab, tensor) / tensor },
    precision: measured.precision,
    tf32: null,
    launches: null,
    sequenceLength: measured.sequenceLength,
    largestBatch: samples.layer.reduce((largest, { batch }) => Math.max(largest, batch), 1),
    attention: { forward: attention, backward: attention },
    threads: measured.threads,
    ...(weights === null ? {} : { trainer: trainerTimes(measured, weights) }),
    samples,
    skipped: [],
    twoLayerRatio: null,
    fit: layer === null ? null : { layer, embedding: fitPart(samples.embedding), head: fitPart(samples.head) },
    errors: layer === null ? null : fitErrors(layer, samples.layer),
    seconds: 0,
    warnings: measured.warnings,
  };
}

/** Less than a profile's least time is that. */
const leastMs = 1e-6;

function toSample({ batch, tokens, context, rounds, forward, backward }: TorchSample): Sample {
  const [forwardMs, backwardMs] = [Math.max(leastMs, forward.ms), Math.max(leastMs, backward.ms)];
  return { batch, tokens, context, forwardMs, backwardMs, rounds, holdOut: false };
}

/** Gradients of weights take the same time whatever the context: the table of slices without one is enough. */
function weightFit(samples: readonly TorchSample[]): TimeFit | null {
  const ofWeights = samples
    .filter(({ context }) => context === 0)
    .map((one): Sample => toSample({ ...one, forward: one.backwardWeight, backward: one.backwardWeight }));
  return fitPart(ofWeights)?.forward ?? null;
}

function trainerTimes({ head, optimizer, sends, collectives }: TorchProfile, layer: TimeFit): TrainerTimes {
  const updates = optimizer.ranks.flatMap(({ parameters, ms }) => (parameters > 0 ? [(1e6 * ms) / parameters] : []));
  return {
    sends: { joined: transferTimes(sends.filter((one) => one.joined)), network: transferTimes(sends.filter((one) => !one.joined)) },
    allReduces: allReduceLines(collectives.filter((one) => one.joined && one.kind === 'all-reduce')),
    optimizerNsPerParameter: updates.length === 0 ? null : maximum(updates),
    weights: { layer, head: weightFit(head) },
  };
}

/** The median over all pairs of ranks, for each size; never shorter for more bytes. */
function transferTimes(sends: readonly { readonly bytes: number; readonly ms: number }[]): TransferTimes | null {
  const bytes = [...new Set(sends.map((one) => one.bytes))].sort((a, b) => a - b);
  if (bytes.length === 0) return null;
  const ms = bytes.map((size) => median(sends.filter((one) => one.bytes === size).map((one) => one.ms)));
  for (let at = ms.length - 2; at >= 0; at--) ms[at] = Math.min(ms[at] ?? 0, ms[at + 1] ?? Infinity);
  return { bytes, ms };
}

/** Least latency, µs, and bandwidth, GB/s, that a line through noise may have. */
const [leastLatencyUs, leastGBps] = [0.1, 1e-3];

/** Straight lines through the all-reduces of each group size: latency and bus bandwidth, small messages as important as large ones. */
function allReduceLines(measured: TorchProfile['collectives']): TrainerTimes['allReduces'] {
  return [...new Set(measured.map(({ ranks }) => ranks))].map((ranks) => {
    const own = measured.filter((one) => one.ranks === ranks);
    const volumes = own.map(({ bytes }) => (2 * (ranks - 1) * bytes) / ranks);
    const rows = volumes.map((volume) => [1, volume]);
    const fit = leastSquares(rows, own.map(({ ms }) => ms), own.map(({ ms }) => 1 / ms)); // prettier-ignore
    const [latencyMs = 0, msPerByte = 0] = fit.coefficients;
    return {
      ranks,
      latencyUs: Math.max(leastLatencyUs, 1e3 * latencyMs),
      busGBps: msPerByte > 0 ? Math.max(leastGBps, 1e-6 / msPerByte) : maximum(own.map(({ ms }, at) => ((volumes[at] ?? 0) / ms) * 1e-6)),
    };
  });
}

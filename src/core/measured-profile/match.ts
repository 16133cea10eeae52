import { matchGpuPreset } from '../cluster/presets';
import type { Precision } from '../domain/cluster';
import { formatCount } from '../format';
import type { PlanRequest } from '../domain/request';
import { timeFunction } from './fit';
import type { NamedProfile, Profile, TimeFit, LayerShape } from '../domain/profile';
import { rankLayerShape, unlikeOneLayer } from './shape';
import { sentence, type Sentence, type Value } from '../sentence';

/** Sequences up to this many times the measured length are extrapolated; longer ones are refused. */
const extrapolation = 2;

/** Whether the profile's attention was one fused operator; its name has softmax, plain or unfused where it was not. */
function profiledAttention({ attention }: Profile): 'flash' | 'unfused' {
  return /softmax|plain|unfused/i.test(attention.forward) ? 'unfused' : 'flash';
}

type Rule = (profile: Profile, request: PlanRequest) => Sentence | null;

/** In the order in which a reason is most use. */
const rules: readonly Rule[] = [
  ({ fit, error, samples }) =>
    fit !== null
      ? null
      : error === null
        ? sentence`it has too few samples to fit (${samples.layer.length})`
        : sentence`it has too few samples to fit (${samples.layer.length}); measuring stopped: ${error}`,
  ({ device }) =>
    device.kind !== 'software'
      ? null
      : sentence`it was measured on ${device.name}, which runs on the CPU: its times mean nothing for a GPU`,
  deviceReason,
  ({ tensor }, { layout }) => (tensor === layout.tensor ? null : sentence`it is of tensor size ${tensor}, not ${layout.tensor}`),
  (_, { model }) => unlikeOneLayer(model),
  (profile, { model, layout }) => shapeReason(profile.shape, rankLayerShape(model, layout.tensor, layout.expert), measuredEnds(profile)),
  ({ precision }, { training, cluster }) =>
    precision === training.precision ||
    (standsFor(precision, training.precision) && cluster.gpu.peakTflops.fp16 === cluster.gpu.peakTflops.bf16)
      ? null
      : sentence`it was measured in ${precision}, not ${training.precision}`,
  (_, { training: { gemmPrecision } }) => (gemmPrecision === undefined ? null : sentence`it has no products in ${gemmPrecision}`),
  (_, { training: { adapter } }) =>
    adapter === undefined ? null : sentence`its backward makes gradients of weights, which are frozen here`,
  (_, { model: { mtpLayers = 0 } }) => (mtpLayers === 0 ? null : sentence`it has no times of multi-token prediction`),
  (_, { training: { activationOffloadLayers = 0 } }) =>
    activationOffloadLayers === 0 ? null : sentence`it has no times of copies to the host`,
  (_, { layout }) =>
    layout.context === 1
      ? null
      : sentence`context parallelism of ${layout.context} cuts the sequence over ranks, and a profile is of whole sequences`,
  ({ sequenceLength }, { training }) =>
    training.sequenceLength <= extrapolation * sequenceLength
      ? null
      : sentence`it was measured up to ${formatCount(sequenceLength)} tokens, too far from ${formatCount(training.sequenceLength)}`,
  (profile, { training }) =>
    profiledAttention(profile) === training.attention
      ? null
      : profiledAttention(profile) === 'flash'
        ? sentence`its attention ran fused, and training.attention is "${training.attention}"`
        : sentence`its attention ran unfused, and training.attention is "${training.attention}"`,
];

/** fp16 for bf16: elements of the same size, and products at the same rate where the tensor cores have both. */
function standsFor(measured: Precision, planned: Precision): boolean {
  return measured === 'fp16' && planned === 'bf16';
}

/**
 * Why a profile cannot serve a plan, as a clause for `This profile cannot serve the plan: ...`: another device, tensor size, layer,
 * precision (fp16 serves bf16 where the GPU has one rate for both), multi-token prediction, offload, context parallelism, a sequence over
 * twice as long as measured, another attention, no fit. A device without a preset (a CPU, say) serves the cluster whose GPU bears its name.
 * @returns null when it can.
 */
export function profileMismatch(profile: Profile, request: PlanRequest): Sentence | null {
  for (const rule of rules) {
    const reason = rule(profile, request);
    if (reason !== null) return reason;
  }
  return null;
}

/** What to do about a profile that `profileMismatch` refuses, beginning with a small letter. */
export function mismatchRemedy(profile: Profile, request: PlanRequest): Sentence {
  const { training } = request;
  const isOfPrecision = profileMismatch(profile, { ...request, training: { ...training, precision: profile.precision } }) === null;
  return isOfPrecision
    ? sentence`profile in ${training.precision} where a GPU has it, or plan with training.precision=${profile.precision}`
    : sentence`profile this layer on this GPU, name another profile, or write "none"`;
}

function deviceReason({ device }: Profile, { cluster }: PlanRequest): Sentence | null {
  const planned = cluster.gpu.name;
  if (device.name === planned) return null;
  if (device.kind === 'cpu') return sentence`it was measured on a CPU (${device.name}), not on ${planned}`;
  const preset = matchGpuPreset(device.name, device.memoryBytes);
  return preset === planned ? null : sentence`it was measured on ${device.name}, not on ${planned}`;
}

/** Whether the profile measured embedding or head; otherwise the vocabulary does not matter. */
function measuredEnds({ fit }: Profile): boolean {
  return fit !== null && (fit.embedding !== null || fit.head !== null);
}

const normNames: Readonly<Record<LayerShape['norm'], string>> = { layernorm: 'LayerNorm', rmsnorm: 'RMSNorm' };

/** How a field of a shape reads: `32 heads per rank`. */
const shapeWords: Readonly<Record<keyof LayerShape, (shape: LayerShape) => Sentence>> = {
  hidden: ({ hidden }) => sentence`hidden width ${exact(hidden)}`,
  heads: ({ heads }) => sentence`${exact(heads)} heads per rank`,
  kvHeads: ({ kvHeads }) => sentence`${exact(kvHeads)} key/value heads per rank`,
  headDim: ({ headDim }) => sentence`head dimension ${exact(headDim)}`,
  ffn: ({ ffn }) => sentence`feed-forward width ${exact(ffn)} per rank`,
  gatedMlp: ({ gatedMlp }) => (gatedMlp ? sentence`a gated MLP` : sentence`an MLP without a gate`),
  norm: ({ norm }) => sentence`${normNames[norm]}`,
  rotary: ({ rotary }) => (rotary ? sentence`rotary positions` : sentence`no rotary positions`),
  qkvBias: ({ qkvBias }) => (qkvBias ? sentence`query, key and value biases` : sentence`no query, key and value biases`),
  attentionOutputBias: ({ attentionOutputBias }) =>
    attentionOutputBias ? sentence`a bias of the attention output` : sentence`no bias of the attention output`,
  mlpBias: ({ mlpBias }) => (mlpBias ? sentence`biases of the MLP` : sentence`no biases of the MLP`),
  qkNorm: ({ qkNorm }) => (qkNorm ? sentence`a norm of q and k` : sentence`no norm of q and k`),
  experts: ({ experts }) =>
    experts === null ? sentence`no experts` : sentence`${experts.count} experts per rank, ${experts.active} active`,
  vocab: ({ vocab }) => sentence`a vocabulary of ${exact(vocab)} per rank`,
  learnedPositions: ({ learnedPositions }) => (learnedPositions ? sentence`learned positions` : sentence`no learned positions`),
};

/** `it has 32 heads per rank, not 16` of the first field that differs. */
function shapeReason(measured: LayerShape, wanted: LayerShape, ends: boolean): Sentence | null {
  for (const key of shapeKeys) {
    if (!ends && (key === 'vocab' || key === 'learnedPositions')) continue;
    if (JSON.stringify(measured[key]) === JSON.stringify(wanted[key])) continue;
    const [has, wants] = [shapeWords[key](measured), shapeWords[key](wanted)];
    return sentence`its layer has ${has}, not ${withoutRepeat(has, wants)}`;
  }
  return null;
}

/** All digits, grouped: two sizes that differ read differently. */
function exact(count: number): string {
  return count.toLocaleString('en-US');
}

const shapeKeys = Object.keys(shapeWords) as (keyof LayerShape)[];

/** `32 heads per rank` and `16 heads per rank`: the second as `16`; where they differ in more than a number, whole. */
function withoutRepeat(has: Sentence, wants: Sentence): Value {
  const [number] = wants.values;
  return has.template === wants.template && wants.values.length === 1 && number !== undefined ? number : wants;
}

/** What `chooseProfile` found: the profile to plan with, and why the others cannot serve. */
interface ProfileChoice {
  readonly chosen: NamedProfile | null;
  readonly refused: readonly { readonly file: string; readonly reason: Sentence }[];
}

/**
 * The profile of `named` to plan with. Among matching ones, those in the plan's own precision come first, complete before partial, then the
 * newest, then the first by name.
 * `refused` is in the order of `named`.
 */
export function chooseProfile(request: PlanRequest, named: readonly NamedProfile[]): ProfileChoice {
  const judged = named.map((one) => ({ ...one, reason: profileMismatch(one.profile, request) }));
  const refused = judged.flatMap(({ file, reason }) => (reason === null ? [] : [{ file, reason }]));
  const [best] = judged.filter(({ reason }) => reason === null).sort((a, b) => byPreference(a, b, request));
  return { chosen: best === undefined ? null : { file: best.file, profile: best.profile }, refused };
}

function byPreference(a: NamedProfile, b: NamedProfile, { training }: PlanRequest): number {
  const own = Number(b.profile.precision === training.precision) - Number(a.profile.precision === training.precision);
  if (own !== 0) return own;
  const complete = Number(b.profile.status === 'complete') - Number(a.profile.status === 'complete');
  if (complete !== 0) return complete;
  // ISO 8601 in UTC sorts as text.
  return compared(b.profile.measuredAt, a.profile.measuredAt) || compared(a.file, b.file);
}

function compared(a: string, b: string): number {
  return Number(a > b) - Number(a < b);
}

/**
 * Two profiles of one layer: times of the second over times of the first, geometric means over forward and backward and the contexts both
 * have.
 */
interface ProfileComparison {
  readonly ratio: number;
  readonly byTokens: readonly {
    readonly tokens: number;
    readonly ratio: number;
    readonly forwardRatio: number;
    readonly backwardRatio: number;
  }[];
}

/**
 * How much longer `other` takes than `one`, on the slice lengths of either table that both cover, after no context and after half and all
 * of the shorter one's.
 * @returns the reason when they are of different layers, or one has no fit.
 */
export function compareProfiles(one: Profile, other: Profile): ProfileComparison | { readonly reason: Sentence } {
  const different = shapeReason(one.shape, other.shape, measuredEnds(one) && measuredEnds(other));
  if (different !== null) return { reason: different };
  if (one.fit === null || other.fit === null) return { reason: sentence`one has too few samples to fit` };
  const [a, b] = [one.fit.layer, other.fit.layer];
  const lengths = commonLengths(a.forward, b.forward);
  if (lengths.length === 0) return { reason: sentence`they have no slice length in common` };
  const sequence = Math.min(one.sequenceLength, other.sequenceLength);
  const [forward, backward] = [timeRatio(a.forward, b.forward), timeRatio(a.backward, b.backward)];
  const byTokens = lengths.map((tokens) => {
    const contexts = [...new Set([0, Math.floor((sequence - tokens) / 2), sequence - tokens])].filter((context) => context >= 0);
    const forwardRatio = geometricMean(contexts.map((context) => forward(tokens, context)));
    const backwardRatio = geometricMean(contexts.map((context) => backward(tokens, context)));
    return { tokens, ratio: geometricMean([forwardRatio, backwardRatio]), forwardRatio, backwardRatio };
  });
  return { ratio: geometricMean(byTokens.map(({ ratio }) => ratio)), byTokens };
}

function commonLengths(a: TimeFit, b: TimeFit): number[] {
  const least = Math.max(a.rows.tokens[0] ?? Infinity, b.rows.tokens[0] ?? Infinity);
  const most = Math.min(a.rows.tokens.at(-1) ?? 0, b.rows.tokens.at(-1) ?? 0);
  const all = new Set([...a.rows.tokens, ...b.rows.tokens]);
  return [...all].filter((length) => least <= length && length <= most).sort((x, y) => x - y);
}

function timeRatio(a: TimeFit, b: TimeFit): (tokens: number, context: number) => number {
  const [one, other] = [timeFunction(a), timeFunction(b)];
  return (tokens, context) => other(1, tokens, context) / one(1, tokens, context);
}

function geometricMean(values: readonly number[]): number {
  return Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
}

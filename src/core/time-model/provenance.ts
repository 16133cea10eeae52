import { formatDuration, formatNumber } from '../format';
import { baseName } from '../text';
import { readsFrozen } from '../domain/adapter';
import type { Calibration, Layout, PlanRequest } from '../domain/request';
import { otherPrecisionPercent, type NamedProfile, type Profile } from '../domain/profile';
import { joinedGpus } from '../domain/cluster';
import { fusedAttentionNames, runtimeProfile } from '../domain/runtime';
import { assumedAttention, type CostInputs } from './rates';
import { nearestRuns } from './error-bars';
import { replacesLaunches } from './launches';
import { attentionShare, floorShare } from './stage-cost';
import type { CostProvenance } from '../domain/slice-cost';
import { joinClauses, counted, listOf, say, sentence, type Sentence } from '../sentence';
import { maximum } from '../numbers';

/**
 * What the times of a request rest on, and how far to trust them.
 *
 * @param nodeKinds the inputs of its stages that differ: one for each kind of node.
 */
export function costProvenance(
  request: Pick<PlanRequest, 'training' | 'costTable' | 'profile' | 'calibration' | 'leftOut' | 'capabilities'>,
  { inputs, nodeKinds }: { readonly inputs: CostInputs; readonly nodeKinds: readonly CostInputs[] },
): CostProvenance {
  const { training, costTable, profile, calibration, capabilities, leftOut = [] } = request;
  const ofStage = (own: CostInputs): CostProvenance =>
    rooflineProvenance(own, training.microBatch, training.sequenceLength, capabilities, calibration);
  const [first = inputs, ...others] = nodeKinds;
  const cost =
    costTable !== null
      ? tableProvenance(costTable.tokens.length * costTable.contexts.length)
      : profile !== null
        ? profileProvenance(profile, inputs)
        : joinedProvenance([ofStage(first), ...others.map(ofStage)]);
  return withLeftOut(cost, leftOut);
}

/**
 * Where the analytic times come from and how far to trust them: the range of the measured runs nearest in kind, wider
 * where something was not measured: a program of its own, a GPU without its own efficiency, a kernel of attention, Ethernet-class links,
 * layers with a state, encoders, experts between nodes, tensor parallelism across nodes, kernel-launch overhead. After a measured step of
 * the same machine +-10 %. See docs/model/time.md, Error bars.
 */
function rooflineProvenance(
  inputs: CostInputs,
  batch: number,
  tokens: number,
  program: Program | undefined,
  calibration?: Calibration,
): CostProvenance {
  const { gpu } = inputs.cluster;
  const description = sentence`Analytic model of ${gpu.name}: large GEMMs at ${Number(gpu.gemmEfficiency.toPrecision(3))} of peak, ${inputs.constants.issueFloorUs} µs kernel-launch overhead per operation`;
  if (calibration !== undefined) return calibratedProvenance(description, calibration);
  const { range, text } = nearestRuns(inputs.cluster, inputs.training, inputs.model);
  const [wider] = unmeasured(inputs, batch, tokens, program).sort((a, b) => b.percent - a.percent);
  const more = (wider?.percent ?? 0) / 100;
  const [low, high] = [Math.min(range.low, wider?.onlySlower === true ? 1 : 1 - more), Math.max(range.high, 1 + more)];
  const measured = sentence`steps take ${formatNumber(range.low)} to ${formatNumber(range.high)} times what is predicted without runs of their source, by ${text}`;
  return {
    kind: 'roofline',
    description,
    range: [low, high],
    errorPercent: Math.round(100 * Math.max(1 - low, high - 1)),
    errorBecause: wider === undefined ? measured : sentence`${wider.reason}; ${measured}`,
  };
}

/** Where times come from whose constants measured steps corrected. */
function calibratedProvenance(description: Sentence, calibration: Calibration): CostProvenance {
  const { before, iterationMs, predictedMs, steps, errorPercent } = calibration;
  const rescaled = sentence`${description}, rescaled from ${formatNumber(before)}`;
  const others = counted(steps.length, 'measured step');
  return {
    kind: 'roofline',
    description:
      iterationMs === null || predictedMs === null
        ? sentence`${rescaled} by ${others} of the machine`
        : sentence`${rescaled}, which predicted ${formatDuration(predictedMs)}, to meet a measured step of ${formatDuration(iterationMs)}`,
    ...halfWidth(errorPercent),
    errorBecause:
      iterationMs === null
        ? sentence`corrected by ${others} of the same machine`
        : sentence`rescaled to one measured step; other layouts on the same machine follow`,
  };
}

/** A range as wide on both sides. */
function halfWidth(percent: number): Pick<CostProvenance, 'range' | 'errorPercent'> {
  return { range: [1 - percent / 100, 1 + percent / 100], errorPercent: percent };
}

/** What widens a range: by this many percent at least, to both sides or only towards slower runs. */
interface Unmeasured {
  readonly percent: number;
  readonly onlySlower?: true;
  readonly reason: Sentence;
}

/** What is known of the program that a run is of. */
type Program = Pick<NonNullable<PlanRequest['capabilities']>, 'name' | 'ownTraining'>;

/**
 * How far attention may be off, as a fraction of its time, whose kernel is known by benchmarks only: about as far as from its whole
 * benchmark to the least that any kernel reaches of its own in runs, 0.57 (docs/model/time.md, Attention).
 */
const benchmarkSpread = 0.4;

/** A smaller share of attention is left out: it widens no range, as the narrowest of measured runs has more to each side. */
const leastAttended = 0.05;

/** Kinds of runs that are not measured, each with the least half width of its range. */
function unmeasured(inputs: CostInputs, batch: number, tokens: number, program: Program | undefined): Unmeasured[] {
  const { model, training, layout } = inputs;
  const { adapter } = training;
  const { gpu, links, nodes } = inputs.cluster;
  const { tensor, expert } = layout;
  const joined = joinedGpus(inputs.cluster);
  const share = floorShare(inputs, batch, tokens);
  const kernel = assumedAttention(inputs.cluster, training);
  const attended = kernel === null ? 0 : attentionShare(inputs, batch, tokens);
  const isBenchmarked = kernel !== null && gpu.attentionByBenchmark?.[kernel] !== undefined;
  const name = kernel === null ? '' : fusedAttentionNames[kernel];
  const part = `${Math.round(100 * attended)} % of a layer's time`;
  const others = [
    {
      holds: attended > leastAttended,
      percent: Math.round(100 * attended * (isBenchmarked ? benchmarkSpread : 1)),
      reason: isBenchmarked
        ? sentence`the rate of ${name} on ${gpu.name} is from kernel benchmarks, not from runs: ${part}`
        : sentence`${name} was not measured on ${gpu.name}: ${part}`,
    },
    { holds: !gpu.gemmEfficiencyKnown, percent: 35, reason: sentence`no GEMM efficiency was measured on ${gpu.name}` },
    { holds: nodes > 1 && links.nicGBps < 10, percent: 35, reason: sentence`nodes are linked by only ${links.nicGBps} GB/s` },
    {
      holds: adapter !== undefined,
      percent: 40,
      reason: sentence`adapters are timed by GEMMs and bytes: four published FP8 steps took 0.88x to 1.37x the prediction`,
    },
    {
      holds: adapter?.baseBits !== undefined && !readsFrozen(training),
      percent: 60,
      onlySlower: true as const,
      reason: sentence`dequantizing frozen ${adapter?.baseBits ?? 0}-bit weights for each GEMM is not measured`,
    },
    {
      holds: model.state !== undefined,
      percent: 35,
      reason: sentence`SSM and linear-attention times are 21 to 46 % too fast for the one published model`,
    },
    {
      holds: model.attentionSinks === true,
      percent: 60,
      onlySlower: true as const,
      reason: sentence`attention sinks are not measured: published steps took up to 1.6x the predicted time, MXFP8 2.4x`,
    },
    { holds: model.stacks !== undefined, percent: 20, reason: sentence`no measured run of an encoder-decoder model is known` },
    {
      holds: model.experts !== null && expert > 1 && tensor * expert > joined,
      percent: 35,
      reason: sentence`experts are exchanged between nodes`,
    },
    { holds: tensor > joined, percent: 20, reason: sentence`tensor parallelism crosses nodes` },
    { holds: share > 0.2, percent: 20, reason: sentence`${Math.round(100 * share)} % of a layer's time is kernel-launch overhead` },
  ];
  return [...unmeasuredProgram(program, training), ...others.flatMap(({ holds, ...why }) => (holds ? [why] : []))];
}

/** A program with training code of its own. */
function unmeasuredProgram(program: Program | undefined, training: CostInputs['training']): Unmeasured[] {
  const { name: as, publishedOverPredicted } = runtimeProfile(training);
  if (publishedOverPredicted !== undefined) {
    const [least, most] = publishedOverPredicted;
    return [
      {
        percent: Math.round(100 * (most - 1)),
        onlySlower: true,
        reason: sentence`published runs of ${as} took ${least} to ${most} times as long as planned, for reasons that are not known`,
      },
    ];
  }
  if (program?.ownTraining !== true) return [];
  return [{ percent: 35, reason: sentence`no run of ${program.name} is among those that ranges are made from: timed as ${as}` }];
}

/** Several provenances of the analytic model as one, those of the stages of a step: the widest error bar holds. */
function joinedProvenance([first, ...others]: readonly [CostProvenance, ...CostProvenance[]]): CostProvenance {
  const widest = others.reduce((most, other) => (other.errorPercent > most.errorPercent ? other : most), first);
  const descriptions = new Map([first, ...others].map(({ description }) => [say(description), description]));
  return { ...widest, description: sentence`${joinClauses([...descriptions.values()])}` };
}

/** Half width that settings ask for which the plan leaves out, percent: as what was never measured. */
const leftOutPercent = 35;

/** The same where settings of the files are left out. */
function withLeftOut(cost: CostProvenance, names: readonly string[]): CostProvenance {
  if (names.length === 0) return cost;
  const range = [Math.min(cost.range[0], 1 - leftOutPercent / 100), Math.max(cost.range[1], 1 + leftOutPercent / 100)] as const;
  const listed = names.slice(0, 3).join(', ');
  const shown = names.length > 3 ? sentence`${listed} and ${names.length - 3} more` : listed;
  return {
    ...cost,
    range,
    errorPercent: Math.max(cost.errorPercent, leftOutPercent),
    errorBecause:
      names.length === 1 ? sentence`${shown} is left out; ${cost.errorBecause}` : sentence`${shown} are left out; ${cost.errorBecause}`,
  };
}

/** Times interpolated in a table that the user gave. */
function tableProvenance(points: number): CostProvenance {
  return {
    kind: 'table',
    description: sentence`Interpolated between ${points} measured slice times given in the config`,
    ...halfWidth(10),
    errorBecause: sentence`measured here and interpolated; weight gradients' share of backward is from the analytic model`,
  };
}

/**
 * Least half width of the error bar of a step from measured slices, percent: what one calibrated run reaches (docs/model/time.md, Error
 * bars).
 */
const calibratedPercent = 10;
/** The same when collectives inside a layer are analytic, and when the plan asks for what was not measured and has to be extrapolated. */
const exchangedPercent = 15;
const extrapolatedPercent = 25;

/** What a plan asks of a profile. */
type ProfiledRun = Pick<CostInputs, 'model' | 'training' | 'layout'>;

/**
 * Times fitted to a profile. The layer's are as good as the fit on slices it was not fitted to; sends, gradient exchange, optimizer and,
 * under tensor or expert parallelism, the exchanges inside a layer stay analytic. What lies outside the measured lengths and batches is
 * extrapolated, which widens the bar and is reported.
 */
function profileProvenance({ file, profile }: NamedProfile, asked: ProfiledRun): CostProvenance {
  const { device, errors, samples, source, provider, status } = profile;
  const measuredBy =
    source === 'pytorch'
      ? sentence`PyTorch ${profile.versions['torch'] ?? ''}`
      : source === 'imported'
        ? sentence`imported times`
        : sentence`ONNX Runtime, ${provider ?? sentence`unknown`} provider`;
  const measured = sentence`Measured on ${device.name} (${measuredBy}), ${counted(samples.layer.length, 'slice')} of one layer, profile ${baseName(file)}`;
  const worst = errors === null ? 0 : Math.max(errors.forward.maxPercent, errors.backward.maxPercent);
  const exchanges = missingCollectives(profile, asked.layout);
  const beyond = extrapolations(profile, asked);
  const isOtherPrecision = profile.precision !== asked.training.precision;
  const analytic = [...exchanges, ...unmeasuredEnds(profile, asked.model.vocab), ...unmeasuredOfTrainer(profile, asked.layout)];
  const also = trainerParts(profile);
  const least = beyond.length > 0 ? extrapolatedPercent : exchanges.length > 0 ? exchangedPercent : calibratedPercent;
  return {
    kind: 'profile',
    description: sentence`${joinClauses([status === 'partial' ? sentence`${measured}, measuring was stopped early` : measured, ...errorClause(errors)])}`,
    ...halfWidth(Math.round(Math.max(least, worst)) + (isOtherPrecision ? otherPrecisionPercent : 0)),
    errorBecause: sentence`${joinClauses([
      ...(isOtherPrecision
        ? [sentence`${profile.precision} was measured for ${asked.training.precision} (${otherPrecisionPercent} % more, assumed)`]
        : []),
      analytic.length === 0
        ? sentence`${listOf([sentence`layer times`, ...also])} are measured where it trains`
        : sentence`${listOf([sentence`layer times`, ...also])} are measured; ${listOf(analytic)} are not`,
      ...(profile.trainer === undefined ? [sentence`weight gradients' share of a split backward is from the analytic model`] : []),
      ...(replacesLaunches(profile, asked.training)
        ? [sentence`launches that the profile measured are counted as those of CUDA graphs`]
        : []),
      ...beyond,
    ])}`,
  };
}

/** What a trainer measured in addition to slices. */
function trainerParts({ trainer }: Profile): Sentence[] {
  if (trainer === undefined) return [];
  const { sends, allReduces, optimizerNsPerParameter } = trainer;
  return [
    ...((sends.joined ?? sends.network) !== null ? [sentence`sends`] : []),
    ...(allReduces.length > 0 ? [sentence`all-reduces inside a node`] : []),
    ...(optimizerNsPerParameter === null ? [] : [sentence`the optimizer`]),
    sentence`weight gradients`,
  ];
}

function unmeasuredOfTrainer({ trainer }: Profile, { pipeline, data, context }: Layout): Sentence[] {
  const isReplicated = data * context > 1;
  if (trainer === undefined) return [...(pipeline > 1 ? [sentence`sends`] : []), sentence`gradient exchange and optimizer`];
  const { sends, allReduces, optimizerNsPerParameter } = trainer;
  return [
    ...(pipeline > 1 && (sends.joined ?? sends.network) === null ? [sentence`sends`] : []),
    ...(isReplicated && allReduces.length === 0 ? [sentence`the gradient exchange`] : []),
    ...(optimizerNsPerParameter === null ? [sentence`the optimizer`] : []),
  ];
}

function errorClause(errors: Profile['errors']): Sentence[] {
  if (errors === null) return [];
  const judged = errors.forward.method === 'hold-out' ? sentence`on slices held out of the fit` : sentence`on samples left out in turn`;
  return [
    sentence`error ${judged} ${formatNumber(errors.forward.meanPercent)} % forward, ${formatNumber(errors.backward.meanPercent)} % backward`,
  ];
}

function missingCollectives({ shape }: Profile, { tensor, expert }: Pick<Layout, 'tensor' | 'expert'>): Sentence[] {
  const expertParallel = shape.experts !== null && expert > 1;
  if (tensor > 1 && expertParallel) return [sentence`exchanges between tensor- and expert-parallel ranks`];
  if (tensor > 1) return [sentence`exchanges between tensor-parallel ranks`];
  return expertParallel ? [sentence`exchanges between expert-parallel ranks`] : [];
}

function unmeasuredEnds({ fit }: Profile, vocab: number): Sentence[] {
  if (vocab === 0) return [];
  return [...(fit?.embedding ? [] : [sentence`the embedding`]), ...(fit?.head ? [] : [sentence`the head`])];
}

function extrapolations({ sequenceLength, largestBatch, samples }: Profile, { training }: ProfiledRun): Sentence[] {
  const longest = Math.max(0, maximum(samples.layer.map(({ batch, tokens }) => batch * tokens)));
  return [
    ...(training.sequenceLength > sequenceLength ? [sentence`sequences were measured to ${counted(sequenceLength, 'token')} only`] : []),
    ...(training.sequenceLength > longest ? [sentence`slices were measured to ${counted(longest, 'token')} only`] : []),
    ...(training.microBatch > largestBatch ? [sentence`micro-batches were measured to ${counted(largestBatch, 'sequence')} only`] : []),
  ];
}

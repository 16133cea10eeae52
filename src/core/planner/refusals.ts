import { formatCount, formatNumber } from '../format';
import { scheduleOn, runsVirtualStages, plainName } from '../schedules/on-layout';
import { requireCut } from '../partition/stages';
import { requestedSchedule } from './choose';
import { dividesIntoGroups, groupedRanks } from '../model/parameters';
import { greatestCommonDivisor } from '../numbers';
import { scheduleKind } from '../schedules/registry';
import type { Run } from '../run/run';
import { ExpectedError } from '../errors';
import type { Located, Place } from '../domain/located';
import type { ModelSpec } from '../domain/model';
import type { ScheduleName } from '../domain/schedule-names';
import type { PlanRequest } from '../domain/request';
import { counted, sentence, type Sentence, type Value } from '../sentence';

/**
 * Candidates with more operations (forward and backward of each unit on each stage) are left out: seconds of work and hundreds of
 * megabytes.
 */
export const maximumOperations = 7_000_000;
/**
 * The same of more pieces (micro-batches, or slices of them): each is an object in every candidate, so that two million on two stages took
 * 2 GB where seven million operations of few pieces take less than one.
 */
export const maximumUnits = 100_000;

/**
 * Refuses a request that no schedule can run, before anything is made for it.
 * @throws ExpectedError `plan-encoder-decoder`, `plan-virtual-stages`, `plan-stage-layers`, `plan-more-stages-than-layers`,
 * `plan-batch-not-divisible`, `plan-replicate-groups`, `plan-too-large`.
 */
export function requireRunnable(request: PlanRequest): void {
  const { model, training, layout } = request;
  requireStacks(request);
  const asked = requestedSchedule(request);
  if (asked !== null && !runsVirtualStages(scheduleOn(asked, layout), layout.virtualStages))
    throw virtualStagesError(asked, layout.virtualStages);
  requireCut(layout, model);
  if (layout.pipeline > model.layers && !layout.stageLayers)
    throw new ExpectedError(
      'plan-more-stages-than-layers',
      sentence`${counted(layout.pipeline, 'stage')} for ${counted(model.layers, 'layer')} leaves stages empty`,
      sentence`use at most ${formatCount(model.layers)} stages`,
    );
  if (training.globalBatch % layout.data !== 0)
    throw new ExpectedError(
      'plan-batch-not-divisible',
      sentence`A global batch of ${formatCount(training.globalBatch)} is not divisible by ${counted(layout.data, 'replica')}`,
      sentence`use a multiple of ${formatCount(layout.data)}`,
    );
  requireGroups(request);
  requireCountable(request);
}

/** @throws ExpectedError `plan-replicate-groups` for replicas that do not divide into the groups of HSDP. */
function requireGroups({ model, training, layout }: PlanRequest): void {
  if (dividesIntoGroups(model, training, layout)) return;
  const { dataReplicate = 1 } = training;
  const [ranks = layout.data, ofExperts = ranks] = groupedRanks(model, training, layout);
  const isExperts = ranks % dataReplicate === 0;
  const divided = isExperts ? sentence`${counted(ofExperts, 'replica')} of the experts` : counted(ranks, 'replica');
  throw new ExpectedError(
    'plan-replicate-groups',
    sentence`${divided} cannot be divided into ${counted(dataReplicate, 'group')} of HSDP`,
    sentence`set training.dataReplicate to a divisor of ${formatCount(greatestCommonDivisor(ranks, ofExperts))}`,
  );
}

function virtualStagesError(asked: ScheduleName, virtualStages: number): ExpectedError {
  const { chunksPerStage: chunks } = scheduleKind(asked);
  return new ExpectedError(
    'plan-virtual-stages',
    sentence`${asked} cannot run ${counted(virtualStages, 'virtual stage')} on each stage`,
    sentence`set layout.virtualStages to ${chunks}, or schedule to "1F1B"`,
  );
}

/** Why no candidate is left. */
export function nothingToPlan({ training, layout }: Pick<PlanRequest, 'training' | 'layout'>): ExpectedError {
  const batch = training.globalBatch / layout.data;
  if (batch % training.microBatch !== 0)
    return new ExpectedError(
      'plan-batch-not-divisible',
      sentence`${counted(batch, 'sequence')} on each replica cannot be split in micro-batches of ${formatCount(training.microBatch)}`,
      sentence`use a global batch that is a multiple of ${formatCount(layout.data * training.microBatch)}`,
    );
  return tooLarge();
}

/**
 * Refuses a step of too many operations however it is run, before anything is made for each of them.
 * @throws ExpectedError `plan-too-large`.
 */
export function requireCountable({ training, layout, slicing }: Pick<PlanRequest, 'training' | 'layout' | 'slicing'>): void {
  const microBatches = Math.ceil(training.globalBatch / layout.data / training.microBatch);
  const units = slicing.scheme === null ? microBatches : Math.min(microBatches, slicing.scheme.length);
  if (units > maximumUnits) throw tooLarge(counted(maximumUnits, 'micro-batch', 'micro-batches'));
  if (2 * units * layout.pipeline * layout.virtualStages > maximumOperations) throw tooLarge();
}

function tooLarge(most = counted(maximumOperations, 'operation')): ExpectedError {
  return new ExpectedError(
    'plan-too-large',
    sentence`The step has more than ${most}`,
    sentence`raise training.microBatch or lower training.globalBatch`,
  );
}

/**
 * Whether a schedule runs encoder-decoder models: whole sequences, one chunk a stage. Every token of the source attends to all others, so
 * that it cannot be cut; and launchers refuse to interleave such a model (Megatron-LM:
 * "Interleaving is not supported with an encoder and decoder model.").
 */
export function runsStacks(schedule: ScheduleName): boolean {
  return !scheduleKind(schedule).sliced && scheduleKind(schedule).chunksPerStage === 1;
}

/** The text on the schedules that are left out. */
export const stackReason = sentence`token slices and virtual stages are not compared: encoders read whole sequences`;

/**
 * Refuses what no encoder-decoder model is planned with: a stack without layers, token slices, virtual stages, context parallelism, several
 * kinds of nodes, measured slice times.
 * @throws ExpectedError `plan-encoder-decoder`.
 */
export function requireStacks({ model, cluster, layout, schedule, slicing, costTable }: PlanRequest): void {
  const { stacks } = model;
  if (stacks === undefined) return;
  requireBoth(model);
  const refuse = (what: Value, why: Sentence, remedy: Sentence): never => {
    throw new ExpectedError('plan-encoder-decoder', sentence`An encoder-decoder model is not planned with ${what}: ${why}`, remedy);
  };
  if (schedule !== null && plainName(schedule, layout) === schedule && !runsStacks(schedule))
    refuse(schedule, stacksReason(schedule), sentence`set schedule to "1F1B"`);
  if (slicing.scheme !== null)
    refuse(sentence`token slices`, sentence`an encoder reads its sequence whole`, sentence`remove slicing.scheme`);
  if (layout.virtualStages > 1)
    refuse(sentence`virtual stages`, sentence`launchers interleave no encoder with a decoder`, sentence`set layout.virtualStages to 1`);
  if (layout.context > 1)
    refuse(
      sentence`context parallelism`,
      sentence`its exchange for attention to another sequence is not timed`,
      sentence`set layout.context to 1, or use layout.tensor`,
    );
  if (cluster.groups !== undefined)
    refuse(sentence`several kinds of nodes`, sentence`stages of two stacks are not placed on them`, sentence`give one kind of node`);
  if (costTable !== null) refuse('cost.table', sentence`its times are of stages that are all alike`, sentence`remove cost.table`);
}

function stacksReason(schedule: ScheduleName): Sentence {
  return scheduleKind(schedule).sliced
    ? sentence`an encoder reads its sequence whole`
    : sentence`launchers interleave no encoder with a decoder`;
}

function requireBoth({ layers, stacks }: ModelSpec, place?: Place): void {
  const encoderLayers = stacks?.encoderLayers ?? 0;
  if (encoderLayers > 0 && encoderLayers < layers) return;
  throw new ExpectedError(
    'plan-encoder-decoder',
    sentence`Of ${formatCount(layers)} layers, ${formatCount(encoderLayers)} of the encoder leave none for the decoder`,
    sentence`set model.layers to the layers of both, and model.encoderLayers to those of the encoder`,
    place,
  );
}

/**
 * As `requireStacks` for the sizes that a run's files give, where they are.
 * @throws ExpectedError `plan-encoder-decoder`, placed.
 */
export function requireStacksGiven({ model: { encoderLayers, experts }, training: { mtpLayers }, groups }: Run, model: ModelSpec): void {
  if (model.stacks === undefined) return;
  requireBoth(model, filePlace(encoderLayers));
  const refuse = (given: Located<unknown> | undefined, what: Sentence, remedy: Sentence): void => {
    if (given === undefined) return;
    throw new ExpectedError(
      'plan-encoder-decoder',
      sentence`An encoder-decoder model is not planned with ${what}`,
      remedy,
      filePlace(given),
    );
  };
  refuse(groups, sentence`several kinds of nodes: stages of two stacks are not placed on them`, sentence`give one kind of node`);
  const routed = experts.value === null ? undefined : experts;
  refuse(routed, sentence`experts: which of its layers would have them is not known`, sentence`remove the experts, or the encoder`);
  const mtp = (mtpLayers?.value ?? 0) === 0 ? undefined : mtpLayers;
  refuse(mtp, sentence`multi-token prediction: no launcher is known that trains both`, sentence`set training.mtpLayers to 0`);
}

/** That heads without a size of their own do not share the hidden size evenly. */
export function unevenHeads(hidden: number, heads: number): Sentence {
  return sentence`A hidden size of ${formatNumber(hidden)} is not divisible by ${counted(heads, 'attention head', undefined, formatNumber)}`;
}

/**
 * Refuses more heads than the hidden size has elements for, where nothing gives the size of a head. Fewer are rounded down, as Megatron-LM
 * does.
 * @throws ExpectedError `hidden-heads`, placed.
 */
export function requireHeadSize({ model: { hidden, heads, headDim }, traits }: Run): void {
  if (heads.value <= hidden.value || headDim.source.kind !== 'default' || (traits?.latent ?? null) !== null) return;
  throw new ExpectedError(
    'hidden-heads',
    unevenHeads(hidden.value, heads.value),
    sentence`use ${formatNumber(hidden.value)} heads, or give the size of a head`,
    filePlace(heads),
  );
}

function filePlace({ source }: Located<unknown>): Place | undefined {
  return source.kind === 'file' ? source.place : undefined;
}

import { scheduleKind } from '../schedules/registry';
import type { Run } from '../formats/run';
import { ExpectedError } from '../errors';
import { formatCount } from '../format';
import type { Located, Place } from '../spec/located';
import type { ModelSpec } from '../spec/model';
import type { ScheduleName } from '../spec/schedule-names';
import type { PlanRequest } from '../spec/request';

/**
 * Whether a schedule runs encoder-decoder models: whole sequences, one chunk a stage. Every token of the source attends to all others, so that it cannot be cut; and launchers refuse to interleave such a model (Megatron-LM:
 * "Interleaving is not supported with an encoder and decoder model.").
 */
export function runsStacks(schedule: ScheduleName): boolean {
  return !scheduleKind(schedule).sliced && scheduleKind(schedule).chunksPerStage === 1;
}

/** What is said of the schedules that are left out. */
export const stackReason =
  'token slices and several chunks on a stage are not compared: an encoder reads its sequence whole, and launchers interleave no encoder with a decoder';

/**
 * Refuses what no encoder-decoder model is planned with: a stack without layers, token slices, virtual stages, context parallelism, several kinds of nodes, measured slice times.
 * @throws ExpectedError `plan-encoder-decoder`.
 */
export function requireStacks({ model, cluster, layout, schedule, slicing, costTable }: PlanRequest): void {
  const { stacks } = model;
  if (stacks === undefined) return;
  requireBoth(model);
  const refuse = (what: string, why: string, remedy: string): never => {
    throw new ExpectedError('plan-encoder-decoder', `An encoder-decoder model is not planned with ${what}: ${why}`, remedy);
  };
  if (schedule !== null && !runsStacks(schedule) && !(schedule === 'Interleaved1F1B' && layout.virtualStages > 1))
    refuse(schedule, reasonOf(schedule), 'set schedule to "1F1B"');
  if (slicing.scheme !== null) refuse('token slices', 'an encoder reads its sequence whole', 'remove slicing.scheme');
  if (layout.virtualStages > 1) refuse('virtual stages', 'launchers interleave no encoder with a decoder', 'set layout.virtualStages to 1');
  if (layout.context > 1)
    refuse(
      'context parallelism',
      'its exchange for attention to another sequence is not timed',
      'set layout.context to 1, or use layout.tensor',
    );
  if (cluster.groups !== undefined)
    refuse('several kinds of nodes', 'stages of two stacks are not placed on them', 'give one kind of node');
  if (costTable !== null) refuse('cost.table', 'its times are of stages that are all alike', 'remove cost.table');
}

function reasonOf(schedule: ScheduleName): string {
  return scheduleKind(schedule).sliced ? 'an encoder reads its sequence whole' : 'launchers interleave no encoder with a decoder';
}

function requireBoth({ layers, stacks }: ModelSpec, place?: Place): void {
  const encoderLayers = stacks?.encoderLayers ?? 0;
  if (encoderLayers > 0 && encoderLayers < layers) return;
  throw new ExpectedError(
    'plan-encoder-decoder',
    `Of ${formatCount(layers)} layers, ${formatCount(encoderLayers)} of the encoder leave none for the decoder`,
    'let model.layers count the layers of both, and model.encoderLayers those of the encoder',
    place,
  );
}

/**
 * As `requireStacks` for the sizes that a run's files give, where they stand.
 * @throws ExpectedError `plan-encoder-decoder`, placed.
 */
export function requireStacksOf({ model: { encoderLayers, experts }, training: { mtpLayers }, groups }: Run, model: ModelSpec): void {
  if (model.stacks === undefined) return;
  requireBoth(model, placeOf(encoderLayers));
  const refuse = (given: Located<unknown> | undefined, what: string, remedy: string): void => {
    if (given === undefined) return;
    throw new ExpectedError('plan-encoder-decoder', `An encoder-decoder model is not planned with ${what}`, remedy, placeOf(given));
  };
  refuse(groups, 'several kinds of nodes: stages of two stacks are not placed on them', 'give one kind of node');
  const routed = experts.value === null ? undefined : experts;
  refuse(routed, 'experts: which of its layers would have them is not known', 'remove the experts, or the encoder');
  const further = (mtpLayers?.value ?? 0) === 0 ? undefined : mtpLayers;
  refuse(further, 'multi-token prediction: no launcher is known that trains both', 'set training.mtpLayers to 0');
}

function placeOf({ source }: Located<unknown>): Place | undefined {
  return source.kind === 'file' ? source.place : undefined;
}

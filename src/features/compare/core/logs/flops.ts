import { sequenceFlops, type SequenceLengths } from '../../../../core/model/flops';
import { gpusUsed, type PlanRequest } from '../../../../core/domain/request';
import type { LogFacts } from './facts';

/** What a trainer's TFLOP/s may be off by: it counts what is small otherwise, norms, routers and a padded vocabulary. */
const tolerance = 0.12;

/** TFLOP/s of a GPU as logged, and by the model FLOPs that are counted here, of a step that takes as long. */
export interface FlopsAgainst {
  readonly logged: number;
  readonly counted: number;
  /** Whether the trainer counts the same model and batch: TorchTitan and older Megatron-LM count causal attention as if it were full. */
  readonly agree: boolean;
}

/**
 * Counts the FLOPs of a step of a log by the planned model, at the sequence length of the log where it has one.
 * @param step its `ms`, the sequences of its `batch` and the logged `tflopsPerGpu`.
 */
export function flopsAgainst(
  request: PlanRequest,
  facts: LogFacts,
  step: { ms: number; batch: number; tflopsPerGpu: number },
): FlopsAgainst {
  const { model, layout } = request;
  const training = loggedTraining(request, facts);
  const gpus = facts.gpus ?? gpusUsed(layout);
  const perGpu = (flopsOfSequence: number): number => (step.batch * flopsOfSequence) / gpus / step.ms / 1e9;
  const counted = perGpu(sequenceFlops(model, training));
  const most = perGpu(sequenceFlops(model, sequenceLengths(training)) + causalHalf(model, training));
  const logged = step.tflopsPerGpu;
  return { logged, counted, agree: logged >= counted * (1 - tolerance) && logged <= most * (1 + tolerance) };
}

/** The planned training, at the sequence length of a log; a model of two stacks keeps both of its own. */
function loggedTraining({ model, training }: PlanRequest, facts: LogFacts): PlanRequest['training'] {
  const { 'training.sequenceLength': sequenceLength = training.sequenceLength } = facts;
  return model.stacks === undefined ? { ...training, sequenceLength } : training;
}

/** FLOPs of a sequence for the half of the attention scores that a causal mask leaves out, forward and backward. */
function causalHalf(model: PlanRequest['model'], { sequenceLength }: SequenceLengths): number {
  const { layers, heads, headDim, latent } = model;
  const width = latent ? latent.nopeHeadDim + latent.ropeHeadDim + latent.vHeadDim : 2 * headDim;
  return 3 * layers * heads * width * sequenceLength ** 2;
}

/** Trainers count adapters as if all weights were trained. */
function sequenceLengths({ sequenceLength, decoderSequenceLength }: PlanRequest['training']): SequenceLengths {
  return { sequenceLength, ...(decoderSequenceLength === undefined ? {} : { decoderSequenceLength }) };
}

import { sequenceFlops, type SequenceLengths } from '../model/flops';
import { gpusUsed, type PlanRequest } from '../spec/request';
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

/** @param ms of a step of the log. @param batch its sequences. */
export function flopsAgainst(
  request: PlanRequest,
  facts: LogFacts,
  step: { ms: number; batch: number; tflopsPerGpu: number },
): FlopsAgainst {
  const { model, training, layout } = request;
  const gpus = facts.gpus ?? gpusUsed(layout);
  const perGpu = (flopsOfSequence: number): number => (step.batch * flopsOfSequence) / gpus / step.ms / 1e9;
  const counted = perGpu(sequenceFlops(model, training));
  const most = perGpu(sequenceFlops(model, lengthsOf(training)) + causalHalf(request));
  const logged = step.tflopsPerGpu;
  return { logged, counted, agree: logged >= counted * (1 - tolerance) && logged <= most * (1 + tolerance) };
}

/** FLOPs of a sequence for the half of the attention scores that a causal mask leaves out, forward and backward. */
function causalHalf({ model, training: { sequenceLength } }: PlanRequest): number {
  const { layers, heads, headDim, latent } = model;
  const width = latent ? latent.nopeHeadDim + latent.ropeHeadDim + latent.vHeadDim : 2 * headDim;
  return 3 * layers * heads * width * sequenceLength ** 2;
}

/** Trainers count adapters as if all weights were trained. */
function lengthsOf({ sequenceLength, decoderSequenceLength }: PlanRequest['training']): SequenceLengths {
  return { sequenceLength, ...(decoderSequenceLength === undefined ? {} : { decoderSequenceLength }) };
}

import { formatCount } from '../format';
import { splitsModel } from '../model/mixers';
import type { Layout, PlanRequest } from '../domain/request';
import { isLikeMegatron } from '../domain/runtime-habits';
import { counted, sentence, type Sentence } from '../sentence';

/**
 * Why a launcher does not start sizes of parallel groups on a model, whatever their GPUs; null where it does. The end of a sentence.
 * Megatron-LM, nanotron and TorchTitan check them, and a config without a launcher is written for any of them: DeepSpeed's AutoTP divides
 * heads unevenly.
 *
 * Sources: `heads-tp`, `kv-heads-tp`, `width-tensor`, `experts-not-divisible`, `expert-world-factor`, `expert-overlap` and `expert-bias` of
 * `src/core/rules/checks`.
 */
export function refusedSizes(request: PlanRequest, sizes: Omit<Layout, 'virtualStages'>): Sentence | null {
  return refusedTensor(request, sizes.tensor) ?? (checksSizes(request) ? refusedExperts(request, sizes) : null);
}

function checksSizes({ capabilities, training: { runtime } }: PlanRequest): boolean {
  return capabilities === undefined || isLikeMegatron(runtime) || runtime === 'torchtitan';
}

/** The same for a tensor size, whatever the other sizes. */
export function refusedTensor(request: PlanRequest, tensor: number): Sentence | null {
  const { model, training } = request;
  if (!checksSizes(request)) return null;
  const { heads, kvHeads, latent, state } = model;
  if (!splitsModel(model, tensor))
    return heads % tensor === 0 || state !== undefined
      ? sentence`the model's heads and widths are not divisible by a tensor size of ${formatCount(tensor)}`
      : sentence`${counted(heads, 'attention head')} are not divisible by a tensor size of ${formatCount(tensor)}`;
  // TorchTitan keeps each head of keys and values once
  if (training.runtime !== 'torchtitan' || latent || kvHeads % tensor === 0) return null;
  return sentence`${counted(kvHeads, 'key/value head')} are not divisible by a tensor size of ${formatCount(tensor)}`;
}

function refusedExperts({ model, training }: PlanRequest, sizes: Omit<Layout, 'virtualStages'>): Sentence | null {
  const { experts, mlpBias } = model;
  const { tensor, context, data, expert, expertTensor = tensor } = sizes;
  if (experts === null) return null;
  if (expert === 1 && training.overlapExpertComm === true) return sentence`expert 1 has no exchange to overlap`;
  const gpus = tensor * context * data;
  if (expertTensor > 1 && mlpBias && (training.runtime ?? 'megatron') === 'megatron')
    return sentence`expert tensor ${formatCount(expertTensor)} divides experts with biases`;
  if (expert === 1 && sizes.expertTensor === undefined) return null;
  if (experts.count % expert !== 0)
    return sentence`${counted(experts.count, 'expert')} are not divisible by an expert size of ${formatCount(expert)}`;
  if (gpus % (expert * expertTensor) === 0) return null;
  return sentence`expert ${formatCount(expert)} x expert tensor ${formatCount(expertTensor)} does not divide the ${counted(gpus, 'GPU')} of a stage`;
}

import { ExpectedError } from '../../../core/errors';
import { unlikeOneLayer } from '../../../core/measured-profile/shape';
import type { PlanRequest } from '../../../core/domain/request';
import { counted, sentence, type Sentence } from '../../../core/sentence';

/** What cannot be run here yet, in words. @throws ExpectedError `rehearsal-model`, `rehearsal-layout`, `rehearsal-recompute`. */
export function requireRehearsable(request: PlanRequest): void {
  const { model, layout, training } = request;
  const unlike = unlikeModel(request);
  if (unlike !== null)
    throw new ExpectedError(
      'rehearsal-model',
      sentence`This model cannot be rehearsed: ${unlike}`,
      sentence`rehearse a model of alike attention layers`,
    );
  if (layout.context > 1)
    throw new ExpectedError(
      'rehearsal-layout',
      sentence`Context parallelism splits the sequence inside a layer, which a rehearsal does not run`,
      sentence`rehearse with --set layout.context=1`,
    );
  if (layout.expert > 1)
    throw new ExpectedError(
      'rehearsal-layout',
      sentence`Expert parallelism exchanges tokens between ranks, which a rehearsal does not run`,
      sentence`rehearse with --set layout.expert=1`,
    );
  if (model.heads % layout.tensor !== 0 || model.ffn % layout.tensor !== 0)
    throw new ExpectedError(
      'rehearsal-layout',
      sentence`${counted(model.heads, 'head')} and a feed-forward size of ${model.ffn} are not both divisible by ${counted(layout.tensor, 'tensor-parallel rank')}`,
      sentence`set layout.tensor to a divisor of both`,
    );
  if (training.recompute !== 'none' && (training.recompute !== 'full' || (training.recomputeGroup ?? 1) > 1))
    throw new ExpectedError(
      'rehearsal-recompute',
      sentence`Recomputation (${training.recompute}) is not rehearsed yet`,
      sentence`rehearse with --set training.recompute=none, or full, layer by layer`,
    );
}

/** What of the model has no graph yet, as a clause; null: nothing. */
function unlikeModel({ model, training, layout }: PlanRequest): Sentence | null {
  if (layout.stageLayers?.slice(1, -1).includes(0) === true) return sentence`a stage without layers, embedding or head has no graph yet`;
  if (model.latent) return sentence`latent attention has no graph yet`;
  if (model.state !== undefined) return sentence`state-space and linear-attention layers have no graph yet`;
  if ((model.experts?.sharedFfn ?? 0) > 0) return sentence`shared experts have no graph yet`;
  if (model.experts !== null) return sentence`experts, routed for a whole sequence, have no graph yet`;
  if (model.stacks !== undefined) return sentence`it has an encoder in addition to its decoder`;
  if ((model.mtpLayers ?? 0) > 0) return sentence`multi-token prediction has no graph yet`;
  if (model.attentionSinks === true) return sentence`attention sinks have no graph yet`;
  if (model.layerKinds?.some(({ window }) => window !== null && window < training.sequenceLength) === true)
    return sentence`a window of attention has no graph yet`;
  return unlikeOneLayer(model);
}

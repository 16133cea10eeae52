import { ExpectedError } from '../../errors';
import { isRecomputed } from '../../domain/recompute';
import { isNoDetail, type ModelDetails } from '../../domain/settings/model-details';
import type { ModelSpec } from '../../domain/model';
import type { PlanRequest, TrainingSpec } from '../../domain/request';
import { placementText } from '../../cluster/groups';
import type { Candidate } from '../../planner/plan';
import { sentence, type Sentence } from '../../sentence';
import type { Refusal } from '../slices/runs';

/** Names of AdamW with the states that the runtime keeps. */
const adamNames: ReadonlySet<string> = new Set([
  'adam',
  'adamw',
  'adamw_torch',
  'adamw_torch_fused',
  'adamw_apex_fused',
  'adamw_hf',
  'decoupled_adamw',
  'fused_adam',
  'fused_adamw',
  'megatron_fused_adam',
  'distributed_fused_adam',
  'mcore_distributed_optim',
]);

/**
 * Refuses a plan for the first thing in it that the PyTorch runtime does not train.
 * @throws ExpectedError `export-torchrun`.
 */
export function requireTrainable(request: PlanRequest, candidate: Candidate): void {
  const refusals = [...modelRefusals(request.model), ...trainingRefusals(request.training), ...layoutRefusals(request, candidate)];
  const [, what, remedy = sentence`plan without that, or export for another launcher`] = refusals.find(([isPlanned]) => isPlanned) ?? [];
  if (what !== undefined)
    throw new ExpectedError('export-torchrun', sentence`The PyTorch runtime does not train this plan: it has ${what}`, remedy);
}

function modelRefusals(model: ModelSpec): readonly Refusal[] {
  const { stacks, state, attentionSinks, mtpLayers = 0, vocab, layerKinds = [], outputGate, embeddingNorm, rotary } = model;
  const lacksPart = layerKinds.some(({ mixer = 'attention', feedForward }) => mixer !== 'attention' || feedForward === 'none');
  const scaling = rotary?.scaling?.kind ?? '';
  return [
    [stacks !== undefined, sentence`an encoder in addition to its decoder`],
    [state !== undefined, sentence`state-space or linear-attention layers`],
    [lacksPart, sentence`layers without attention or without a feed-forward network`],
    [attentionSinks === true, sentence`attention sinks`],
    [mtpLayers > 0, sentence`multi-token prediction`, setting('model.mtpLayers=0')],
    [vocab === 0, sentence`no vocabulary`, sentence`set model.vocab`],
    [outputGate === true, sentence`a gate of the output of attention`],
    [embeddingNorm === true, sentence`a norm of the embedding`],
    [(model.normsPerLayer ?? 2) !== 2, sentence`${model.normsPerLayer ?? 0} norms a layer`],
    [model.qkNormAcrossHeads === true, sentence`norms of queries and keys across heads`],
    [(model.unusedPositions ?? 0) > 0, sentence`positions that no token uses`],
    [model.smallParameters !== undefined, sentence`parameters that only models of type ${model.modelType} have`],
    [scaling !== '' && !rotaryScalings.has(scaling), sentence`rotary positions scaled by "${scaling}"`],
    ...detailRefusals(model.details ?? {}),
  ];
}

/** Scalings of rotary positions in `model/rotary.py` of the runtime. */
const rotaryScalings: ReadonlySet<string> = new Set(['linear', 'llama3', 'yarn']);

/** What only some families have, in words. */
const details: Partial<Record<keyof ModelDetails, Sentence>> = {
  activationClamp: sentence`a clamped activation`,
  gluOffset: sentence`an offset in its gated activation`,
  normPlacement: sentence`norms of outputs, not of inputs`,
  parallelResidual: sentence`attention and feed-forward on one input`,
  localRotaryBase: sentence`another rotary base in layers with a window`,
  noRopeLayers: sentence`layers without rotary positions`,
  alibi: sentence`ALiBi`,
  attentionSoftCap: sentence`a soft cap of attention scores`,
  routerInputScaling: sentence`router scores that multiply the input of the experts`,
};

function detailRefusals(values: ModelDetails): readonly Refusal[] {
  return Object.entries(details).map(([name, what]) => {
    const key = name as keyof ModelDetails;
    const value = values[key];
    return [value !== undefined && !isNoDetail(key, value), what];
  });
}

function trainingRefusals(training: TrainingSpec): readonly Refusal[] {
  const { gemmPrecision, optimizer, recompute, recomputeModules } = training;
  const isOtherModule = recompute === 'selective' && recomputeModules !== undefined;
  const isCore = isRecomputed(training, 'core_attn') && recomputeModules?.length === 1;
  const isPartial = recompute === 'full' && (training.recomputeLayers !== undefined || (training.recomputeGroup ?? 1) > 1);
  const toFull = sentence`plan with --set training.recompute=full, or none`;
  return [
    [gemmPrecision !== undefined, sentence`GEMMs in ${gemmPrecision ?? ''}`, sentence`plan without training.gemmPrecision`],
    [training.adapter !== undefined, sentence`adapters on frozen weights`],
    [training.lengths !== undefined, sentence`documents of many lengths`, sentence`plan without training.lengths`],
    [!adamNames.has(optimizer), sentence`the optimizer ${optimizer}`, setting('training.optimizer=adam')],
    [training.zeroStage === 3, sentence`ZeRO stage 3`, setting('training.zeroStage=1')],
    [training.offloadOptimizer === true, sentence`an optimizer on the host`, setting('training.offloadOptimizer=false')],
    [(training.activationOffloadLayers ?? 0) > 0, sentence`activations on the host`, setting('training.activationOffloadLayers=0')],
    [recompute === 'op' || recompute === 'every', sentence`recompute by "${recompute}"`, toFull],
    [isOtherModule && !isCore, sentence`recompute of ${(recomputeModules ?? []).join(', ')}`, toFull],
    [isPartial, sentence`recompute of some layers or of several together`, toFull],
  ];
}

function layoutRefusals({ cluster, layout }: PlanRequest, { timeline }: Candidate): readonly Refusal[] {
  const placement = placementText(cluster, layout);
  return [
    [placement !== null, sentence`${placement ?? ''}`, sentence`plan one kind of nodes: torchrun cannot choose the nodes of a stage`],
    [layout.expert > 1, sentence`expert parallelism`, setting('layout.expert=1')],
    [timeline?.forwardOnly === true, sentence`no backward`],
    [timeline?.units.some(({ documents }) => documents !== undefined) === true, sentence`packed documents`],
  ];
}

function setting(set: string): Sentence {
  return sentence`plan with --set ${set}`;
}

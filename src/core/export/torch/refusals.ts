import { elementBytes } from '../../domain/number-formats';
import { ExpectedError } from '../../errors';
import { formatBytes } from '../../format';
import { isRecomputed } from '../../domain/recompute';
import type { ModelSpec } from '../../domain/model';
import { heldParameters } from '../../memory-model/held';
import { maximum, minimum } from '../../numbers';
import type { PlanRequest, TrainingSpec } from '../../domain/request';
import { placementText } from '../../cluster/groups';
import type { Candidate } from '../../planner/plan';
import { counted, sentence, type Sentence } from '../../sentence';
import type { Refusal } from '../slices/runs';
import { plannedChunks } from './chunks';

/** Names of AdamW with the states that the runtime keeps. */
export const adamNames: ReadonlySet<string> = new Set([
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
  refuseFirst([...modelRefusals(request.model), ...trainingRefusals(request.training), ...layoutRefusals(request, candidate)]);
}

/**
 * Refuses a run that freezes layers for the first thing in it that the PyTorch runtime does not train.
 * @param more what only such a run has.
 * @throws ExpectedError `export-torchrun`.
 */
export function requireElasticTrainable(model: ModelSpec, training: TrainingSpec, more: readonly Refusal[]): void {
  refuseFirst([...modelRefusals(model), ...trainingRefusals({ ...training, optimizer: 'adam' }), ...more]);
}

function refuseFirst(refusals: readonly Refusal[]): void {
  const [, what, remedy = sentence`plan without that, or export for another launcher`] = refusals.find(([isPlanned]) => isPlanned) ?? [];
  if (what !== undefined)
    throw new ExpectedError('export-torchrun', sentence`The PyTorch runtime does not train this plan: it has ${what}`, remedy);
}

function modelRefusals(model: ModelSpec): readonly Refusal[] {
  const { stacks, state, attentionSinks, mtpLayers = 0, vocab, layerKinds = [], outputGate, embeddingNorm } = model;
  const lacksPart = layerKinds.some(({ mixer = 'attention', feedForward }) => mixer !== 'attention' || feedForward === 'none');
  return [
    [stacks !== undefined, sentence`an encoder in addition to its decoder`],
    [state !== undefined, sentence`state-space or linear-attention layers`],
    [lacksPart, sentence`layers without attention or without a feed-forward network`],
    [attentionSinks === true, sentence`attention sinks`],
    [mtpLayers > 0, sentence`multi-token prediction`, setting('model.mtpLayers=0')],
    [vocab === 0, sentence`no vocabulary`, sentence`set model.vocab`],
    [outputGate === true, sentence`a gate on the output of attention`],
    [embeddingNorm === true, sentence`a norm of the embedding`],
    [(model.unusedPositions ?? 0) > 0, sentence`positions that no token uses`],
    [model.smallParameters !== undefined, sentence`parameters that only models of type ${model.modelType} have`],
    ...normRefusals(model),
    ...functionRefusals(model),
  ];
}

function normRefusals({ normsPerLayer: norms = 2, norm, qkNorm, latent, details = {} }: ModelSpec): readonly Refusal[] {
  return [
    [![1, 2, 4].includes(norms), sentence`${norms} norms per layer`],
    [norms === 1 && details.parallelResidual !== true, sentence`one norm per layer, for attention and then the feed-forward network`],
    [details.normPlacement === 'post', sentence`norms of the sum of a layer's input and output`],
    [qkNorm && norm === 'layernorm', sentence`LayerNorms of queries and keys`],
    [qkNorm && Boolean(latent), sentence`latent attention with norms of queries and keys`],
  ];
}

/** What the runtime has of each kind of function (terapipe_torch/model/functions.py, rotary.py). */
export const runtimeFunctions = {
  activations: ['gelu', 'gelu_new', 'gelu_pytorch_tanh', 'gelu_fast', 'silu', 'swish', 'relu', 'relu2', 'quick_gelu'],
  rotaryScalings: ['default', 'linear', 'llama3', 'yarn'],
} as const;

function functionRefusals({ rotary, experts, mlpBias, details = {} }: ModelSpec): readonly Refusal[] {
  const { activation } = details;
  const scaling = rotary?.scaling?.kind;
  const lacks = (known: readonly string[], name: string | undefined): boolean => name !== undefined && !known.includes(name);
  return [
    [lacks(runtimeFunctions.activations, activation), sentence`the activation ${activation ?? ''}`],
    [lacks(runtimeFunctions.rotaryScalings, scaling), sentence`rotary positions scaled by "${scaling ?? ''}"`],
    [experts?.latent !== undefined, sentence`experts that work on compressed tokens`],
    [experts !== null && mlpBias, sentence`experts with biases`],
    [details.activationClamp !== undefined, sentence`a clamped activation`],
    [(details.gluOffset ?? 0) !== 0, sentence`an offset in its gated activation`],
    [details.alibi === true || details.alibiRange !== undefined, sentence`ALiBi`],
    [(details.attentionTemperature ?? 0) !== 0, sentence`queries that grow with their position`],
    [details.attentionChunk !== undefined, sentence`attention within chunks of a sequence`],
    [details.attentionByLayer === true, sentence`scores of attention divided by the number of their layer`],
    [details.normResidual === true, sentence`outputs that are added to the normed input`],
    [details.residualWeights !== undefined, sentence`factors of the residual stream`],
    [details.branchMultipliers !== undefined, sentence`multipliers within attention, SSM and feed-forward`],
    [details.routerJitter !== undefined, sentence`a router with random factors`],
    [details.qkL2Norm === true, sentence`the L2 norm of queries and keys`],
    [details.qkvClip !== undefined, sentence`clamped queries, keys and values`],
    [details.routerInputScaling === true, sentence`router scores that multiply the input of the experts`],
  ];
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
    [(training.dataReplicate ?? 1) > 1, sentence`optimizer state in groups of replicas`, setting('training.dataReplicate=1')],
    [training.offloadOptimizer === true, sentence`an optimizer on the host`, setting('training.offloadOptimizer=false')],
    [(training.activationOffloadLayers ?? 0) > 0, sentence`activations on the host`, setting('training.activationOffloadLayers=0')],
    [recompute === 'op' || recompute === 'every', sentence`recompute by "${recompute}"`, toFull],
    [isOtherModule && !isCore, sentence`recompute of ${(recomputeModules ?? []).join(', ')}`, toFull],
    [isPartial, sentence`recompute of some layers or of several together`, toFull],
  ];
}

function layoutRefusals(request: PlanRequest, candidate: Candidate): readonly Refusal[] {
  const { model, cluster, layout, training } = request;
  const { timeline, memory } = candidate;
  const { tensor } = layout;
  const wholeBytes = wholeWeightBytes(request, candidate);
  const usableBytes = minimum(memory.stages.map((stage) => stage.usableBytes));
  const placement = placementText(cluster, layout);
  const shared = [model.heads, model.latent ? 0 : model.kvHeads, model.ffn, model.denseFfn ?? 0, model.experts?.sharedFfn ?? 0];
  return [
    [
      shared.some((size) => size % tensor !== 0),
      sentence`heads or widths that ${counted(tensor, 'tensor-parallel rank')} cannot share`,
      sentence`set layout.tensor to a divisor of all of them`,
    ],
    [
      training.zeroStage === 3 && wholeBytes > usableBytes,
      sentence`weights that are whole on each GPU before the first step: ${formatBytes(wholeBytes)} of ${formatBytes(usableBytes)} usable`,
      sentence`raise layout.tensor or layout.pipeline`,
    ],
    [placement !== null, sentence`${placement ?? ''}`, sentence`plan one kind of nodes: torchrun cannot choose the nodes of a stage`],
    [layout.expert > 1, sentence`expert parallelism`, setting('layout.expert=1')],
    [timeline?.forwardOnly === true, sentence`no backward`],
    [timeline?.units.some(({ documents }) => documents !== undefined) === true, sentence`packed documents`],
  ];
}

/** Of the rank with the most: with ZeRO 3, too, the runtime makes a stage whole and then cuts it, and gathers it whole to save it. */
function wholeWeightBytes(request: PlanRequest, candidate: Candidate): number {
  const { inputs, stageContents } = plannedChunks(request, candidate);
  const parameters = stageContents.map((contents) => heldParameters(inputs, contents));
  return elementBytes(request.training) * maximum(parameters.map(({ shared, experts }) => shared + experts));
}

function setting(set: string): Sentence {
  return sentence`plan with --set ${set}`;
}

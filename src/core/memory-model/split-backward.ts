import { isTrained } from '../domain/adapter';
import { elementBytes, inputBytes } from '../domain/number-formats';
import { mtpDepths } from '../model/multi-token-prediction';
import { usualKind } from '../model/layers';
import { hasAttention } from '../model/mixers';
import { layerExperts, paddedVocab, upProjections } from '../model/parameters';
import type { LayerKind } from '../domain/model';
import { runtimeProfile } from '../domain/runtime';
import type { WorkUnit } from '../schedules/schedule';
import { crossBytes, layerSizes, type LayerSizes, type StageContents, type WorkingSet } from './layer-tensors';
import { sumOverLayers, unitLayers, type LayerRuns, type UnitLayer } from './unit-layers';
import { headUnit, hiddenShare, localTokens, stackUnit } from './unit-sizes';
import type { MemoryInputs } from '../domain/request';
import { adapterFactors } from './adapter-tensors';
import { hasHead } from './activation-memory';
import { stateWorkingSet } from './ssm-tensors';

/*
 * What a backward in two halves holds (zero-bubble schedules, arXiv 2401.10241). The input gradient frees everything saved but the inputs
 * of GEMMs, and leaves the gradient of each product's output; both wait for the weight gradient. Which tensors those are: Transformer
 * Engine's delayed weight gradients (`wgrad_store.put([inputmat_total, grad_output])`, 2.x), which keep them gathered over tensor-parallel
 * ranks, for the modules whose `backward_dw` Megatron-LM (core 0.15) calls: attention with all its projections, experts and shared experts.
 * The head waits the same way (sail-sg/zero-bubble); the router of experts, no module of Transformer Engine, and the embedding do not.
 * PyTorch's own runtime keeps the whole graph instead (`splitKeeps` of `domain/runtime`).
 */

/** One GEMM of a layer: bytes of its input and of its output's gradient on one rank, gathered. */
interface MatrixProduct {
  readonly name: string;
  readonly input: number;
  readonly outputGradient: number;
}

/**
 * The GEMMs of one layer whose weight gradients can wait: 32 s b h bytes together for a GPT layer on one rank (arXiv 2401.10241, Table 1);
 * fewer where both factors are kept in a narrow format.
 */
export function matrixProducts(
  inputs: MemoryInputs,
  unit: WorkUnit,
  kind: LayerKind = usualKind(inputs.model),
  sizes = layerSizes(inputs, unit, kind),
): MatrixProduct[] {
  const narrower = inputBytes(inputs.training) / elementBytes(inputs.training);
  const all = inputs.training.adapter === undefined ? wideProducts(inputs, unit, kind, sizes) : [];
  const products = all.map(({ name, input, outputGradient }) => ({
    name,
    input: narrower * input,
    outputGradient: narrower * outputGradient,
  }));
  return [...products, ...adapterFactors(inputs, stackUnit(inputs, unit, kind), kind)];
}

function wideProducts(inputs: MemoryInputs, unit: WorkUnit, kind: LayerKind, sizes: LayerSizes): MatrixProduct[] {
  const { hidden, experts, activated, up, attention, state, cross } = sizes;
  const rows = experts === null ? hidden : experts.rows;
  const shared = sharedBytes(inputs, unit, kind);
  return [
    ...(hasAttention(kind)
      ? [...projections(inputs, unit, sizes), { name: 'attention output', input: attention.output, outputGradient: hidden }]
      : []),
    ...(cross === null
      ? []
      : [
          { name: 'queries of the encoder', input: hidden, outputGradient: cross.attention.query },
          { name: 'keys and values of the encoder', input: cross.source, outputGradient: cross.attention.key + cross.attention.value },
          { name: 'cross-attention output', input: cross.attention.output, outputGradient: hidden },
        ]),
    ...(state === null
      ? []
      : [
          { name: 'state input', input: hidden, outputGradient: state.projected },
          { name: 'state output', input: state.value, outputGradient: hidden },
        ]),
    ...(kind.feedForward === 'none'
      ? []
      : [
          { name: 'first feed-forward', input: rows, outputGradient: up },
          { name: 'second feed-forward', input: activated, outputGradient: rows },
        ]),
    ...(shared > 0
      ? [
          { name: 'first shared experts', input: hidden, outputGradient: upProjections(inputs.model) * shared },
          { name: 'second shared experts', input: shared, outputGradient: hidden },
        ]
      : []),
  ];
}

/**
 * Products that make queries, keys and values. Those that compress them (latent attention) work on the rank's share of the tokens; of one
 * tensor, the input of several counts once.
 */
function projections(inputs: MemoryInputs, unit: WorkUnit, { hidden, boundary, gathered, attention }: LayerSizes): MatrixProduct[] {
  const { query, key, value, gate } = attention;
  const { model, training, layout } = inputs;
  const { latent } = model;
  if (!latent) return [{ name: 'queries, keys and values', input: hidden, outputGradient: query + key + value + gate }];
  const { qRank, kvRank, ropeHeadDim, nopeHeadDim, vHeadDim } = latent;
  const perElement = elementBytes(training) * localTokens(inputs, unit);
  const compressed = perElement * hiddenShare(inputs) * ((qRank ?? 0) + kvRank + ropeHeadDim);
  return [
    { name: 'compression', input: qRank === null && gathered === 0 ? 0 : boundary, outputGradient: compressed },
    { name: 'queries', input: qRank === null ? hidden : perElement * qRank, outputGradient: query },
    {
      name: 'keys and values',
      input: perElement * kvRank,
      outputGradient: (perElement * model.heads * (nopeHeadDim + vHeadDim)) / layout.tensor,
    },
  ];
}

/** Input of the shared experts' second matrix; 0 without any. */
function sharedBytes(inputs: MemoryInputs, unit: WorkUnit, kind: LayerKind): number {
  const width = layerExperts(inputs.model, kind)?.sharedFfn ?? 0;
  return (elementBytes(inputs.training) * localTokens(inputs, unit) * width) / inputs.layout.tensor;
}

/**
 * Kept from the end of a layer's input gradient to the end of its weight gradient, on one rank. PyTorch's `stage_backward_input` (torch
 * 2.14) runs the first half with `retain_graph=True`: all that the layer saved stays, and the gradients of its products' outputs come on
 * top.
 */
function layerKeptForWeights(inputs: MemoryInputs, unit: WorkUnit, { kind, sizes, kept }: UnitLayer, activationFactor: number): number {
  const products = matrixProducts(inputs, unit, kind, sizes);
  const gradients = products.reduce((bytes, { outputGradient }) => bytes + outputGradient, 0);
  if (runtimeProfile(inputs.training).splitKeeps === 'graph') return activationFactor * kept + gradients;
  return products.reduce((bytes, { input }) => bytes + input, gradients);
}

/** Kept for weight gradients: by one layer of each kind of `UnitLayer`, by all layers, and by the head. */
export interface KeptForWeights {
  readonly each: readonly number[];
  readonly layers: number;
  readonly head: number;
}

/**
 * Kept from the end of a unit's input gradient to the end of its weight gradient, on one rank: of all layers of a chunk, and of the head,
 * with that and the projection of each further token.
 */
export function keptForWeights(
  inputs: MemoryInputs,
  chunk: StageContents,
  unit: WorkUnit,
  runs: LayerRuns<UnitLayer> = unitLayers(inputs, chunk, unit),
  activationFactor = 1,
): KeptForWeights {
  const each = runs.alike.map((layer) => layerKeptForWeights(inputs, unit, layer, activationFactor));
  const layers = sumOverLayers(runs, (_, index) => each[index] ?? 0);
  const { model, training, layout } = inputs;
  const isWhole = isTrained(training, 'head');
  if (!hasHead(inputs, chunk) || (!isWhole && training.adapter?.onHead !== true)) return { each, layers, head: 0 };
  const perElement = elementBytes(training) * localTokens(inputs, headUnit(inputs, unit));
  const depths = mtpDepths(model);
  const low = isWhole ? 0 : 2 * (training.adapter?.rank ?? 0);
  const one = perElement * (model.hidden + low + paddedVocab(model.vocab, layout.tensor) / layout.tensor);
  return { each, layers, head: (1 + depths) * one + depths * perElement * (2 * model.hidden + model.hidden / layout.tensor) };
}

/**
 * The operations of a layer's input gradient that can make the peak, each with what it holds in addition to what the layer saved: as in a
 * whole backward, but inputs and output gradients of GEMMs stay. From the activation on, the gradient of the first feed-forward's output
 * has taken the place of that output. Shared experts come after the routed ones.
 */
export function layerInputGradientOperations(inputs: MemoryInputs, unit: WorkUnit, layer: UnitLayer): WorkingSet[] {
  const { hidden, gathered, experts, activated, up, attention, scores, state, cross } = layer.sizes;
  const rows = experts === null ? hidden : experts.rows;
  const kept = layer.recreated + rows;
  const shared = sharedBytes(inputs, unit, layer.kind) > 0 ? hidden + gathered : 0;
  const input = experts === null ? gathered : shared;
  const { query, key, value, output, gate } = attention;
  const before = kept + input + hidden;
  const networks = [
    { name: 'second feed-forward backward', bytes: kept + activated },
    { name: 'activation backward', bytes: kept + activated + up },
    { name: 'first feed-forward backward', bytes: kept + (experts === null ? gathered : 0) + rows },
    ...(experts !== null && inputs.layout.expert > 1 ? [{ name: 'expert exchange backward', bytes: kept + experts.sent + rows }] : []),
  ];
  return [
    ...(layer.kind.feedForward === 'none' ? [] : networks),
    ...(cross === null ? [] : [{ name: 'cross-attention backward', bytes: before + crossBytes(cross) }]),
    ...(state === null ? [] : [{ name: 'state backward', bytes: before + stateWorkingSet(state) }]),
    ...(hasAttention(layer.kind) ? [{ name: 'attention backward', bytes: before + query + key + value + output + 2 * gate + scores }] : []),
  ];
}

import { elementBytes, inputBytes } from '../domain/number-formats';
import { usualKind } from '../model/layers';
import type { LayerKind } from '../domain/model';
import { hasAttention, layerStateMixer, stateWidths } from '../model/mixers';
import { layerExperts, feedForwardWidth, upProjections, attentionWidths } from '../model/parameters';
import { runtimeProfile } from '../domain/runtime';
import { overlapsInPieces } from '../domain/runtime-habits';
import { allReduceSeconds, exposedSeconds, gatherSeconds } from './collectives';
import { deviceRates, type CostInputs } from './rates';
import type { Product } from './tally';

/** A mixer or a feed-forward network between the collectives of tensor parallelism. */
interface Sublayer {
  /** What its gathered input is multiplied by, and what makes the output that is scattered. */
  readonly first: readonly Product[];
  readonly last: Product;
}

/** The sublayers of a layer that all tokens pass, for `rows` rows. */
function layerSublayers(inputs: CostInputs, rows: number, kind: LayerKind): readonly Sublayer[] {
  const { model, layout } = inputs;
  const state = layerStateMixer(model, kind);
  const experts = layerExperts(model, kind);
  const ffn = (experts === null ? feedForwardWidth(model, kind) : (experts.sharedFfn ?? 0)) / layout.tensor;
  const { before, up, out } = attentionProjections(inputs)(rows);
  const projected = state === null ? 0 : stateWidths(state, layout.tensor).projected;
  return [
    ...(hasAttention(kind) ? [{ first: model.latent ? up : before, last: out }] : []),
    ...(state === null ? [] : [{ first: [[rows, projected, model.hidden] as const], last: [rows, model.hidden, projected] as const }]),
    ...(ffn > 0 ? [{ first: [[rows, upProjections(model) * ffn, model.hidden] as const], last: [rows, model.hidden, ffn] as const }] : []),
  ];
}

/**
 * Collectives of one layer between its tensor-parallel ranks for `localTokens` rows of hidden states, around each mixer and around a
 * feed-forward network that all tokens pass, seconds. Without sequence parallelism an all-reduce each way. With it a gather and a scatter
 * in forward. In backward Megatron-LM and Transformer Engine gather before the last projection, and once more the first projection's input,
 * during its first GEMM, while the scatter of its gradient runs during the second: only what is longer than the GEMM counts; of latent
 * attention those are the up projections, which tensor-parallel ranks share. TorchTitan keeps the gathered input and overlaps nothing,
 * unless asynchronous tensor parallelism overlaps pieces of collectives with their GEMMs. In a narrow format Transformer Engine casts
 * before it gathers.
 */
export function tensorParallelSeconds(
  inputs: CostInputs,
  localTokens: number,
  kind: LayerKind = usualKind(inputs.model),
): { forward: number; backward: number } {
  const { model, training, layout, cluster } = inputs;
  if (layout.tensor <= 1) return { forward: 0, backward: 0 };
  const bytes = elementBytes(training) * localTokens * model.hidden;
  const sublayers = layerSublayers(inputs, localTokens, kind);
  if (!training.sequenceParallel) {
    const exchange = sublayers.length * allReduceSeconds(bytes / runtimeProfile(training).tensorBusShare, layout.tensor, cluster);
    return { forward: exchange, backward: exchange };
  }
  const { linear, floor, frozen } = deviceRates(inputs);
  /** As `addProduct` counts it: an exchange continues while its product is issued. */
  const product = (rows: number, columns: number, inner: number): number => Math.max(linear(rows, columns, inner), floor);
  const scatter = gatherSeconds(bytes, layout.tensor, cluster);
  const gather = gatherSeconds((bytes * inputBytes(training)) / elementBytes(training), layout.tensor, cluster);
  const isAsync = overlapsInPieces(training);
  const { overlapsTensorParallel, gathersInputAgain = false } = runtimeProfile(training);
  const isAsked = overlapsTensorParallel === 'if asked' && training.asyncTensorParallel === true;
  const overlapsBackward = overlapsTensorParallel === true || isAsked;
  /** What outlasts a rank's own part of a product, which needs nothing of the others. */
  const outlastingOwn = (seconds: number, whole: number): number => (isAsked ? Math.max(0, seconds - whole / layout.tensor) : seconds);
  let forward = 0;
  let backward = 0;
  for (const { first, last } of sublayers) {
    const ofFirst = sum(first, ([rows, columns, inner]) => product(rows, columns, inner));
    const inputGradient = sum(first, ([rows, columns, inner]) => product(rows, inner, columns));
    const weightGradient = frozen ? 0 : sum(first, ([rows, columns, inner]) => product(inner, columns, rows));
    forward += isAsync
      ? exposedSeconds(gather, ofFirst) + exposedSeconds(scatter, product(...last))
      : outlastingOwn(gather, ofFirst) + scatter;
    if (overlapsBackward)
      backward +=
        (isAsync ? exposedSeconds(gather, product(last[0], last[2], last[1])) : outlastingOwn(gather, product(last[0], last[2], last[1]))) +
        Math.max(0, gather - inputGradient) +
        Math.max(0, scatter - weightGradient);
    else
      backward += isAsync
        ? exposedSeconds(scatter, product(last[0], last[2], last[1])) + exposedSeconds(scatter, inputGradient)
        : 2 * scatter + (gathersInputAgain ? gather : 0);
  }
  return { forward, backward };
}

function sum<T>(parts: readonly T[], value: (part: T) => number): number {
  return parts.reduce((total, part) => total + value(part), 0);
}

/** GEMMs of a layer's attention for some rows: before the up projections of latent attention, those, and that of the output. */
type Projections = (rows: number) => { readonly before: readonly Product[]; readonly up: readonly Product[]; readonly out: Product };

/** `before` of latent attention compress the rank's share of the tokens; `up` has nothing in any other. */
export function attentionProjections({ model, training, layout }: CostInputs): Projections {
  const { query, key, value, output, gate } = attentionWidths(model, layout.tensor);
  const { hidden, latent, heads } = model;
  const width = query + key + value + gate;
  if (!latent) return (rows) => ({ before: [[rows, width, hidden]], up: [], out: [rows, hidden, output] });
  const keysAndValues = (heads / layout.tensor) * (latent.nopeHeadDim + latent.vHeadDim);
  return (rows) => {
    const share = training.sequenceParallel ? rows / layout.tensor : rows;
    return {
      before: [
        ...(latent.qRank === null ? [] : [[share, latent.qRank, hidden] as const]),
        [share, latent.kvRank + latent.ropeHeadDim, hidden],
      ],
      up: [
        [rows, query, latent.qRank ?? hidden],
        [rows, keysAndValues, latent.kvRank],
      ],
      out: [rows, hidden, output],
    };
  };
}

import { adapterTargets, expertTargets, type Adapter, type AdapterTarget } from '../domain/adapter';
import type { LatentAttention, LayerKind, ModelSpec, StateMixer } from '../domain/model';
import { hasAttention, layerStateMixer, stateWidths } from './mixers';
import {
  attentionWidths,
  expertInput,
  layerExperts,
  expertTensorSize,
  feedForwardWidth,
  upProjections,
  type AttentionWidths,
  type LayerDivision,
} from './parameters';

/** A matrix with an adapter, as one rank has it: elements of its input and of its output, a token. */
export interface AdaptedProduct {
  readonly target: AdapterTarget;
  /** What has the matrix. Routed `experts` see the tokens that visit them, `sharedExperts` and the rest of the `layer` all tokens. */
  readonly of: 'layer' | 'sharedExperts' | 'experts';
  readonly inner: number;
  readonly columns: number;
}

/** Parameters of the adapters of a layer on one rank; those of routed experts have other replicas. */
interface AdapterParameters {
  readonly shared: number;
  readonly experts: number;
}

type Size = readonly [inner: number, columns: number];

/** A layer whole on one rank. */
export const undivided: LayerDivision = { tensor: 1, expert: 1 };
const readByAttention: readonly AdapterTarget[] = ['query', 'key', 'value', 'qkv', 'queryDown', 'keyValueDown'];
const readByState: readonly AdapterTarget[] = [
  'stateInput',
  'stateValues',
  'stateGate',
  'stateGated',
  'stateWrite',
  'stateDecay',
  'stateSteps',
];
const readByFeedForward: readonly AdapterTarget[] = ['gate', 'up', 'gateUp'];

const readBy = { attention: readByAttention, state: readByState, feedForward: readByFeedForward } as const;

/** The matrices of `targets` that a layer of a kind has, in the order of `adapterTargets`, as one rank has them; of its experts one. */
export function adaptedProducts(
  model: ModelSpec,
  { targets }: Pick<Adapter, 'targets'>,
  kind: LayerKind,
  division: LayerDivision,
): AdaptedProduct[] {
  const state = layerStateMixer(model, kind);
  const sizes = [
    ...(hasAttention(kind) ? [attentionSizes(model, division.tensor)] : []),
    ...(state === null ? [] : [stateSizes(model, state, division.tensor)]),
    ...feedForwardSizes(model, kind, division),
  ];
  return adapterTargets
    .filter((target) => targets.includes(target))
    .flatMap((target) =>
      sizes.flatMap(({ of, [target]: size }) =>
        size === undefined || size[0] === 0 || size[1] === 0 ? [] : [{ target, of, inner: size[0], columns: size[1] }],
      ),
    );
}

type Sizes = Pick<AdaptedProduct, 'of'> & Partial<Record<AdapterTarget, Size>>;

function attentionSizes(model: ModelSpec, tensor: number): Sizes {
  const widths = attentionWidths(model, tensor);
  const { hidden, latent } = model;
  const { query, key, value, output, gate } = widths;
  const projections: Omit<Sizes, 'of'> = latent
    ? latentSizes(model, latent, widths, tensor)
    : {
        query: [hidden, query + gate],
        key: [hidden, key],
        value: [hidden, value],
        qkv: [hidden, query + key + value + gate],
      };
  return { of: 'layer', ...projections, output: [output, hidden] };
}

/**
 * The input projection of Mamba-2 and Gated DeltaNet is one matrix (`in_proj` of Megatron-LM's mixers and of `Mamba2Mixer`), two
 * (`in_proj_qkvz` and `in_proj_ba` of `Qwen3NextGatedDeltaNet`) or four (`in_proj_qkv`, `z`, `b` and `a` of `Qwen3_5GatedDeltaNet`).
 */
function stateSizes({ hidden }: ModelSpec, state: StateMixer, tensor: number): Sizes {
  const { heads, value, key, projected } = stateWidths(state, tensor);
  return {
    of: 'layer',
    stateInput: [hidden, projected],
    stateValues: [hidden, value + 2 * key],
    stateGate: [hidden, value],
    stateGated: [hidden, 2 * (value + key)],
    stateWrite: [hidden, heads],
    stateDecay: [hidden, heads],
    stateSteps: [hidden, 2 * heads],
    stateOutput: [value, hidden],
  };
}

/**
 * Latent attention compresses queries, where it has a rank for them, and keys with values; each tensor-parallel rank does so whole.
 * MindSpeed-LLM's `linear_qkv` does both (`LinearNoTP` of its `multi_latent_attention.py`).
 */
function latentSizes(
  { hidden, heads }: ModelSpec,
  { qRank, kvRank, nopeHeadDim, ropeHeadDim, vHeadDim }: LatentAttention,
  { query }: AttentionWidths,
  tensor: number,
): Omit<Sizes, 'of'> {
  return {
    ...(qRank === null ? { query: [hidden, query] } : { queryDown: [hidden, qRank], queryUp: [qRank, query] }),
    qkv: [hidden, (qRank ?? heads * (nopeHeadDim + ropeHeadDim)) + kvRank + ropeHeadDim],
    keyValueDown: [hidden, kvRank + ropeHeadDim],
    keyValueUp: [kvRank, (heads / tensor) * (nopeHeadDim + vHeadDim)],
  };
}

/** Whether a matrix compresses for latent attention, which no tensor-parallel rank divides. */
export function isCompression({ latent }: ModelSpec, target: AdapterTarget): boolean {
  return target === 'queryDown' || target === 'keyValueDown' || (target === 'qkv' && latent !== undefined && latent !== null);
}

/** Matrices of routed experts (column 1 of {@link expertTargets}) or of shared ones (2), which are also meant by themselves. */
function withOwnNames(network: Sizes, column: 1 | 2): Sizes {
  return { ...network, ...Object.fromEntries(expertTargets.map((row) => [row[column], network[row[0]]])) };
}

function feedForwardSizes(model: ModelSpec, kind: LayerKind, division: LayerDivision): Sizes[] {
  const { hidden } = model;
  const network = (of: Sizes['of'], input: number, width: number): Sizes => ({
    of,
    gate: [input, model.gatedMlp ? width : 0],
    up: [input, width],
    gateUp: [input, upProjections(model) * width],
    down: [width, input],
  });
  const experts = layerExperts(model, kind);
  if (experts === null) return [network('layer', hidden, feedForwardWidth(model, kind) / division.tensor)];
  return [
    withOwnNames(network('sharedExperts', hidden, (experts.sharedFfn ?? 0) / division.tensor), 2),
    withOwnNames(network('experts', expertInput(model, experts), model.ffn / expertTensorSize(division)), 1),
  ];
}

/** Parameters of one adapter: its two matrices, and where it is decomposed a magnitude for each column. */
function adapterSize({ rank, decomposed }: Adapter, inner: number, columns: number): number {
  return rank * (inner + columns) + (decomposed === true ? columns : 0);
}

/**
 * Parameters of the adapters of one layer on one rank: rank x (input + output) of each matrix over the ranks that divide it, which share
 * both matrices of each adapter (`ParallelLinearAdapter` of NeMo and Megatron-Bridge). The experts of a rank share one or have one each.
 */
export function adapterParameters(model: ModelSpec, adapter: Adapter, kind: LayerKind, division: LayerDivision): AdapterParameters {
  let shared = 0;
  let ofExpert = 0;
  for (const { of, inner, columns } of adaptedProducts(model, adapter, kind, undivided)) {
    const parameters = adapterSize(adapter, inner, columns);
    if (of === 'experts') ofExpert += parameters;
    else shared += parameters;
  }
  const adapters = adapter.perExpert === true ? (layerExperts(model, kind)?.count ?? 0) / division.expert : 1;
  return { shared: shared / division.tensor, experts: (ofExpert * adapters) / expertTensorSize(division) };
}

/** Parameters of the adapter of the head, whole; 0 without one. */
export function headAdapterParameters({ hidden, vocab }: Pick<ModelSpec, 'hidden' | 'vocab'>, adapter: Adapter | undefined): number {
  return adapter?.onHead === true && vocab > 0 ? adapterSize(adapter, hidden, vocab) : 0;
}

/** Parameters of the adapters of one layer that a token meets, of the whole layer: those of each expert that it visits. */
export function activeAdapterParameters(model: ModelSpec, adapter: Adapter, kind: LayerKind): number {
  return adaptedProducts(model, adapter, kind, undivided).reduce((sum, { of, inner, columns }) => {
    const visits = of === 'experts' ? (layerExperts(model, kind)?.active ?? 0) : 1;
    return sum + visits * adapterSize(adapter, inner, columns);
  }, 0);
}

/**
 * Whether backward reads what the products of a part of the layer read: its normed input, attention's output, the activated width. Of a
 * feed-forward network without experts.
 */
export function readsInput({ targets }: Adapter, part: keyof typeof readBy | 'output' | 'down'): boolean {
  if (part === 'output' || part === 'down') return targets.includes(part);
  return readBy[part].some((target) => targets.includes(target));
}

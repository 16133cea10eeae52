import { ropeScalingSizes, type ModelSpec, type RopeScaling } from '../../domain/model';
import { formatCount } from '../../format';
import { sentence, type Sentence } from '../../sentence';
import { latentYarn, llama3Scaling, rotaryDefaults } from './megatron-defaults';
import {
  hasLatent,
  inexpressible,
  inexpressibleDetail,
  isOfConfig,
  layerList,
  takes,
  valued,
  when,
  wordsIf,
  type ModelPart,
} from './model-part';

/** The heads of attention. */
export const attentionParts: readonly ModelPart[] = [
  {
    fields: ['kvHeads'],
    flags: (model) =>
      when(!hasLatent(model) && model.kvHeads !== model.heads, '--group-query-attention', `--num-query-groups ${model.kvHeads}`),
  },
  {
    fields: ['headDim'],
    flags: (model) => when(!hasLatent(model) && model.headDim * model.heads !== model.hidden, `--kv-channels ${model.headDim}`),
  },
  { fields: ['latent'], flags: latentFlags },
];

const rotaryParts: readonly ModelPart[] = [
  {
    fields: ['rotary.base'],
    flags: ({ rotary: { base } = {} }) => when(base !== undefined && Number.isInteger(base), `--rotary-base ${base ?? 0}`),
    lacks: ({ rotary: { base } = {} }) =>
      wordsIf(base !== undefined && !Number.isInteger(base), sentence`a rotary base that is not whole (${base ?? 0})`),
    open: ({ rotary: { base } = {} }) => wordsIf(base === undefined, takes(sentence`rotary base`, formatCount(rotaryDefaults.rotaryBase))),
  },
  { fields: ['rotary.share'], flags: ({ rotary: { share = 1 } = {} }) => when(share < 1, `--rotary-percent ${share}`) },
  {
    fields: ['rotary.scaling'],
    flags: (model) => (model.rotary?.scaling === undefined ? [] : (scalingFlags(model, model.rotary.scaling) ?? [])),
    lacks: (model) => {
      const { scaling } = model.rotary ?? {};
      return scaling === undefined || scalingFlags(model, scaling) !== null ? null : sentence`its RoPE scaling (${scalingText(scaling)})`;
    },
  },
  {
    fields: ['details.rotaryInterleaved'],
    flags: (model) => when(!hasLatent(model) && model.details?.rotaryInterleaved === true, '--rotary-interleaved'),
    // latent attention always rotates neighbours
    lacks: (model) =>
      wordsIf(
        hasLatent(model) && model.details?.rotaryInterleaved !== true && isOfConfig(model),
        sentence`rotary positions by halves in latent attention`,
      ),
  },
  {
    fields: ['details.noRopeLayers'],
    flags: ({ layers, details }) =>
      details?.noRopeLayers === undefined
        ? []
        : [`--no-rope-freq ${layerList(Array.from({ length: layers }, (_, layer) => details.noRopeLayers?.includes(layer) === true))}`],
  },
];

/** Positions, after what the layers are made of; only rotary ones have a base and the like. */
export const positionParts: readonly ModelPart[] = [
  { fields: ['positions', 'maxPositions'], flags: (model) => [`--position-embedding-type ${positionKind(model)}`] },
  ...rotaryParts.map(({ fields, flags, lacks, open }): ModelPart => ({
    fields,
    flags: (model) => (model.positions === 'rotary' ? (flags?.(model) ?? []) : []),
    lacks: (model) => (model.positions === 'rotary' ? (lacks?.(model) ?? null) : null),
    open: (model) => (model.positions === 'rotary' ? (open?.(model) ?? null) : null),
  })),
];

/** What changes scores of attention. */
export const scoreParts: readonly ModelPart[] = [
  {
    fields: ['layerKinds'],
    flags: windowFlags,
    lacks: ({ layerKinds = [] }) => wordsIf(new Set(windowSizes(layerKinds)).size > 1, sentence`windows of several sizes`),
  },
  { fields: ['attentionSinks'], flags: ({ attentionSinks }) => when(attentionSinks === true, '--softmax-type learnable') },
  { fields: ['outputGate'], flags: ({ outputGate }) => when(outputGate === true, '--attention-output-gate') },
  inexpressibleDetail('alibi', sentence`ALiBi`),
  inexpressibleDetail('alibiRange', sentence`its slopes of ALiBi`),
  inexpressibleDetail('localRotaryBase', sentence`another rotary base in layers with a window`),
  inexpressibleDetail('attentionScale', sentence`its scale of attention scores`),
  inexpressibleDetail('attentionChunk', sentence`attention within chunks of a sequence`),
  inexpressibleDetail('attentionByLayer', sentence`scores of attention divided by the number of their layer`),
  inexpressibleDetail('attentionTemperature', sentence`queries that grow with their position`),
  inexpressibleDetail('qkL2Norm', sentence`the L2 norm of queries and keys with rotary positions only`),
  inexpressibleDetail('qkvClip', sentence`clamped queries, keys and values`),
  inexpressibleDetail('attentionSoftCap', sentence`the soft cap of attention scores`),
  inexpressible('qkNormAcrossHeads', sentence`norms of queries and keys across heads`),
];

function positionKind({ positions, rotary, latent }: ModelSpec): string {
  const isYarn = positions === 'rotary' && rotary?.scaling?.kind === 'yarn' && (latent ?? null) === null;
  return isYarn ? 'yarn' : { learned: 'learned_absolute', rotary: 'rope', none: 'none' }[positions];
}

/** Null where no flags have the scaling. */
function scalingFlags(model: ModelSpec, scaling: RopeScaling): readonly string[] | null {
  const { kind, factor = 1 } = scaling;
  const isLatent = hasLatent(model);
  if (kind === 'yarn') return yarnFlags(scaling, isLatent);
  if (isLatent) return null;
  if (kind === 'linear' && Number.isInteger(factor)) return [`--rotary-seq-len-interpolation-factor ${factor}`];
  return kind === 'llama3' && isFixedLlama3(scaling) ? ['--use-rope-scaling', `--rope-scaling-factor ${factor}`] : null;
}

/** Whether a scaling has the sizes of Llama 3.1; only its factor can be set. */
export function isFixedLlama3(scaling: RopeScaling): boolean {
  return ropeScalingSizes.every((size) => size === 'factor' || scaling[size] === llama3Scaling[size]);
}

/** In latent attention all but the factor and its scales are fixed. */
function yarnFlags(scaling: RopeScaling, isLatent: boolean): readonly string[] | null {
  const { factor, originalPositions, betaFast, betaSlow, mscale, mscaleAllDim, attentionFactor, isUnrounded } = scaling;
  if (attentionFactor !== undefined) return null;
  const isFixed =
    originalPositions === latentYarn.originalPositions &&
    betaFast === latentYarn.betaFast &&
    betaSlow === latentYarn.betaSlow &&
    isUnrounded === undefined;
  if (isLatent && !isFixed) return null;
  return [
    ...valued('rotary-scaling-factor', factor),
    ...(isLatent
      ? []
      : [
          ...valued('yarn-original-max-position-embeddings', originalPositions),
          ...valued('yarn-beta-fast', betaFast),
          ...valued('yarn-beta-slow', betaSlow),
        ]),
    ...valued('mscale', mscale),
    ...valued('mscale-all-dim', mscaleAllDim),
    ...when(isUnrounded === true, '--no-yarn-correction-range-round-to-int'),
  ];
}

/** `yarn, factor 4, 32,768 original positions`. */
export function scalingText({ kind, factor, originalPositions }: RopeScaling): Sentence {
  const ofFactor = factor === undefined ? '' : sentence`, factor ${factor}`;
  return sentence`${kind}${ofFactor}${originalPositions === undefined ? '' : sentence`, from ${formatCount(originalPositions)} tokens`}`;
}

function latentFlags({ latent }: ModelSpec): readonly string[] {
  if (latent === undefined || latent === null) return [];
  const { qRank, kvRank, nopeHeadDim, ropeHeadDim, vHeadDim } = latent;
  return [
    '--multi-latent-attention',
    ...when(qRank !== null, `--q-lora-rank ${String(qRank)}`),
    `--kv-lora-rank ${kvRank}`,
    `--qk-head-dim ${nopeHeadDim}`,
    `--qk-pos-emb-head-dim ${ropeHeadDim}`,
    `--v-head-dim ${vHeadDim}`,
  ];
}

function windowSizes(kinds: NonNullable<ModelSpec['layerKinds']>): readonly number[] {
  return kinds.flatMap(({ window }) => window ?? []);
}

/** A window of W tokens is a token and the W - 1 before it. */
function windowFlags({ layerKinds = [] }: ModelSpec): readonly string[] {
  const [window] = windowSizes(layerKinds);
  if (window === undefined) return [];
  const isWindowed = layerKinds.map((kind) => kind.window !== null);
  return [`--window-size ${window - 1},0`, ...when(isWindowed.includes(false), `--window-attn-skip-freq ${layerList(isWindowed)}`)];
}

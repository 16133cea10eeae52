import type { ConfigView } from '../view';
import type { FactName, Facts } from '../../formats/facts';
import type { ModelTraits } from '../../formats/written-model';
import type { ConfigFormat } from '../../formats/config-format';
import { formatNumber } from '../../format';
import { hasAttention } from '../../model/mixers';
import { divisorsOf } from '../../numbers';
import { countOf, countOrZeroOf, dealtLayersOf, modelGpusOf, sizeOf, worldOf, type SizeName } from '../derived';
import { isPlannedAlone, launcherTraits, megatronAndRuns, megatronFormats, runFormats, withTorchtitan } from '../launchers/formats';
import { greatestCommonDivisor, listed, many, nearestFitting, setTo, type Change, type Issue, type Rule } from '../rule';

/** How layers, heads and GPUs are divided. */
export const layoutRules: readonly Rule[] = [
  {
    code: 'pp-layers-not-divisible',
    planCode: 'layers-not-divisible',
    severity: 'error',
    formats: megatronAndRuns,
    check: layersOverStages,
    doc: 'Megatron: "Number of layers should be divisible by the pipeline-model-parallel size". Every pipeline stage gets the same number of layers unless the file says otherwise; older versions built fewer layers without a word. Choose a number of stages that divides the layers, or give the first and last stage numbers of their own (`--decoder-first-pipeline-num-layers`, `--decoder-last-pipeline-num-layers`), count the embedding and the loss as a layer each, or write a layout. The fixes offer the nearest numbers of stages.',
  },
  {
    code: 'pp-uneven-middle',
    severity: 'error',
    formats: megatronFormats,
    check: middleLayers,
    doc: 'Megatron: "number of middle layers must be divisible by middle pipeline size". What the first and last stage leave is dealt evenly to the stages between. The fix offers ends, or a number of stages, that work out.',
  },
  {
    code: 'world-size-factor',
    severity: 'error',
    formats: withTorchtitan,
    check: worldFactor,
    doc: 'Megatron: "world size is not divisible by total_model_size". A replica of the model lies on tensor x pipeline x context GPUs, and only whole replicas can run. The remedy names the smallest number of nodes.',
  },
  {
    code: 'heads-tp',
    planCode: 'heads-tensor',
    severity: 'error',
    formats: [...withTorchtitan, ...runFormats],
    check: headsOverTensor,
    doc: 'Megatron: "num_attention_heads must be a multiple of tensor_model_parallel_size". Tensor parallelism gives every GPU the same number of attention heads. Choose a tensor size that divides them.',
  },
  {
    code: 'kv-heads-tp',
    planCode: 'kv-heads-tensor',
    severity: 'warning',
    formats: [...withTorchtitan, ...runFormats],
    check: keyValueHeadsOverTensor,
    doc: 'Megatron: "num_query_groups must be a multiple or divisor of tensor parallel size"; TorchTitan refuses every tensor size that does not divide the key/value heads. As a warning or information: there are fewer key/value heads than GPUs, so each is kept and computed more than once, which costs memory and time.',
  },
  {
    code: 'width-tensor',
    severity: 'error',
    formats: megatronAndRuns,
    check: widthsOverTensor,
    doc: 'Tensor parallelism cuts feed-forward widths into equal parts: those of dense layers and of shared experts by the tensor size, that of each expert by the expert tensor size (the tensor size, where none is given; at 1 an expert is not divided). Choose a size that divides them.',
  },
];

function layersOverStages(view: ConfigView): Issue | null {
  const { facts, format, dealsOtherwise } = view;
  if (facts.encoderLayers !== undefined && facts.decoderLayers !== undefined) return stacksOverStages(view);
  const layers = dealtLayersOf(facts);
  const stages = sizeOf(facts, format, 'pipeline');
  if (layers === null || stages === null || dealsOtherwise || layers % stages === 0) return null;
  const near = nearestFitting(divisorsOf(layers), stages, (size) => fitsWorld(facts, format, 'pipeline', size));
  const counted = layers === countOf(facts, 'layers') ? many(layers, 'layer') : `${many(layers, 'layer')} (embedding or loss counted in)`;
  return {
    at: ['pipeline', 'layers'],
    message:
      stages > layers
        ? `${many(stages, 'stage')} for ${many(layers, 'layer')}: ${formatNumber(stages - layers)} would have none`
        : `${counted} cannot be dealt evenly to ${many(stages, 'pipeline stage')}`,
    remedy: [`use ${listedStages(near)}`, unevenDeal(layers, stages)].filter((part) => part !== '').join(', or '),
    changes: setTo('pipeline', near),
  };
}

/** `3 or 9 stages`, `1 stage`. */
function listedStages(sizes: readonly number[]): string {
  return `${listed(sizes)} ${sizes.length === 1 && sizes[0] === 1 ? 'stage' : 'stages'}`;
}

/** Each stack of an encoder-decoder model is dealt evenly to its own stages. */
function stacksOverStages({ facts, format }: ConfigView): Issue | null {
  const stages = sizeOf(facts, format, 'pipeline');
  const split = countOf(facts, 'splitRank');
  if (stages === null || split === null || split >= stages) return null;
  const uneven = (
    [
      ['encoder', countOf(facts, 'encoderLayers'), split],
      ['decoder', countOf(facts, 'decoderLayers'), stages - split],
    ] as const
  ).find(([, layers, own]) => layers !== null && layers % own !== 0);
  if (uneven === undefined) return null;
  const [stack, layers, own] = uneven;
  const near = nearestFitting(divisorsOf(layers ?? 1), own, () => true).map((size) => (stack === 'encoder' ? size : stages - size));
  return {
    at: ['splitRank', 'pipeline'],
    message: `${many(layers ?? 0, 'layer')} of the ${stack} cannot be dealt evenly to its ${many(own, 'stage')}`,
    remedy: `split at stage ${listed(near)}`,
    changes: setTo('splitRank', near),
  };
}

/** In words, ends that take fewer layers so that the stages between them get the same: `7 layers on the first and last stage and 8 on each of the other 2`. */
function unevenDeal(layers: number, stages: number): string {
  const each = Math.ceil(layers / stages);
  const middle = stages - 2;
  const ends = layers - each * middle;
  if (middle < 1 || ends < 2) return '';
  const [first, last] = [Math.floor(ends / 2), Math.ceil(ends / 2)];
  return `give the first stage ${formatNumber(first)}, the last ${formatNumber(last)} and each of the ${formatNumber(middle)} between ${many(each, 'layer')}`;
}

function middleLayers({ facts, format }: ConfigView): Issue | null {
  const layers = dealtLayersOf(facts);
  const stages = sizeOf(facts, format, 'pipeline');
  const ends = (['firstStageLayers', 'lastStageLayers'] as const).filter((name) => facts[name] !== undefined);
  const given = ends.map((name) => countOrZeroOf(facts, name));
  if (layers === null || stages === null || ends.length === 0 || facts.pipelineLayout !== undefined || given.includes(null)) return null;
  const middle = layers - given.reduce<number>((sum, count) => sum + (count ?? 0), 0);
  const between = stages - ends.length;
  if (between < 1 ? middle === 0 && between === 0 : middle > 0 && middle % between === 0) return null;
  const sizes = divisorsOf(Math.max(1, middle)).map((size) => size + ends.length);
  const near = middle < 1 ? [] : nearestFitting(sizes, stages, (size) => fitsWorld(facts, format, 'pipeline', size));
  const shares = evenShares(layers, between, ends.length);
  const share =
    shares === null ? [] : [`give ${ends.length === 2 ? 'the first and the last stage' : 'the end stage'} ${shares.join(' and ')}`];
  return {
    at: [...ends, 'pipeline'],
    message: `${many(Math.max(0, middle), 'layer')} left between the ends cannot be dealt evenly to ${many(Math.max(0, between), 'middle stage')}`,
    remedy: [...(near.length > 0 ? [`use ${listedStages(near)}`] : []), ...share].join(', or ') || 'give the end stages fewer layers',
    changes: [
      ...(shares === null ? [] : [ends.map((name, index) => ({ name, value: shares[index] ?? shares[0] ?? 1 }))]),
      ...setTo('pipeline', near),
    ],
  };
}

/** Layers for `ends` end stages (at least one each, about as many as a middle stage or fewer) that leave the same for `between` others; null when there are none. */
function evenShares(layers: number, between: number, ends: number): number[] | null {
  if (between < 1) return null;
  for (let each = Math.ceil(layers / (between + ends)); each >= 1; each--) {
    const left = layers - each * between;
    if (left >= ends) return ends === 1 ? [left] : [Math.floor(left / 2), Math.ceil(left / 2)];
  }
  return null;
}

function worldFactor({ facts, format }: ConfigView): Issue | null {
  const world = worldOf(facts);
  const replica = modelGpusOf(facts, format);
  if (world === null || replica === null || world % replica === 0) return null;
  const sizes = (['tensor', 'pipeline', 'context'] as const).filter((name) => facts[name] !== undefined);
  const product = sizes.map((name) => `${name} ${formatNumber(countOf(facts, name) ?? 1)}`).join(' x ');
  const { remedy, changes } = largerWorld(facts, replica);
  const alternatives = sizes.flatMap((name) => {
    const size = countOf(facts, name) ?? 1;
    const fitting = divisorsOf(size).filter((value) => value < size && fitsWorld(facts, format, name, value));
    return setTo(name, fitting.slice(-1));
  });
  return {
    at: ['nodes', 'world', 'pipeline', 'tensor', 'context'],
    message: `${many(world, 'GPU')} cannot be divided into replicas of ${product}${sizes.length > 1 ? ` = ${formatNumber(replica)}` : ''}`,
    remedy,
    changes: [...changes, ...alternatives],
  };
}

/** The smallest number of nodes (or GPUs), and the next one above what there is, that a unit of `gpus` GPUs divides; in words and as fixes. */
export function largerWorld(facts: Facts, gpus: number): { readonly remedy: string; readonly changes: readonly Change[] } {
  const perNode = countOf(facts, 'gpusPerNode');
  if (perNode === null || facts.world?.source.kind === 'file') {
    const world = worldOf(facts) ?? 1;
    const next = Math.ceil(world / gpus) * gpus;
    return { remedy: `use ${many(next, 'GPU')}`, changes: setTo('world', [next]) };
  }
  const step = gpus / greatestCommonDivisor(gpus, perNode);
  const nodes = countOf(facts, 'nodes') ?? 1;
  const next = Math.ceil(nodes / step) * step;
  return {
    remedy: `use at least ${many(next, 'node')} of ${many(perNode, 'GPU')} (a multiple of ${formatNumber(step)})`,
    changes: setTo('nodes', [next]),
  };
}

function headsOverTensor(view: ConfigView): Issue | null {
  const { facts, format, traits } = view;
  const heads = countOf(facts, 'heads');
  const decoderHeads = traits.stacks?.decoderHeads ?? heads;
  const tensor = sizeOf(facts, format, 'tensor');
  if (heads === null || decoderHeads === null || tensor === null || !attends(traits)) return null;
  if (heads % tensor === 0 && decoderHeads % tensor === 0) return null;
  const near = nearestFitting(divisorsOf(heads), tensor, (size) => fitsTensor(view, size));
  const counted = heads % tensor === 0 ? `The decoder's ${many(decoderHeads, 'attention head')}` : many(heads, 'attention head');
  return {
    at: ['tensor', 'heads'],
    message: `${counted} cannot be divided over a tensor size of ${formatNumber(tensor)}`,
    remedy: `use a tensor size of ${listed(near)}`,
    changes: setTo('tensor', near),
  };
}

function keyValueHeadsOverTensor(view: ConfigView): Issue | null {
  const { facts, format, traits } = view;
  const heads = countOf(facts, 'kvHeads');
  const tensor = sizeOf(facts, format, 'tensor');
  if (heads === null || tensor === null || heads % tensor === 0) return null;
  if (!attends(traits) || heads === countOf(facts, 'heads') || facts.latentAttention?.value === true) return null;
  const repeated = launcherTraits[format].repeatsKeyValueHeads && tensor % heads === 0;
  const sizes = divisorsOf(heads).filter((size) => size <= tensor);
  const near = nearestFitting(sizes, tensor, (size) => fitsTensor(view, size)).slice(0, 1);
  const counted = many(heads, 'key/value head');
  return {
    at: ['tensor', 'kvHeads'],
    severity: !repeated ? 'error' : isPlannedAlone(format) ? 'information' : 'warning',
    message: repeated
      ? `${counted} on a tensor size of ${formatNumber(tensor)}: each is kept and computed by ${formatNumber(tensor / heads)} GPUs`
      : `${counted} cannot be divided over a tensor size of ${formatNumber(tensor)}`,
    remedy: `use a tensor size of ${listed(near)}${repeated ? ' to keep each once' : ''}`,
    changes: setTo('tensor', near),
  };
}

/** Megatron-LM divides the feed-forward width by the tensor size, and that of each expert by the expert tensor size (`ColumnParallelLinear`, `RowParallelLinear`). */
function widthsOverTensor(view: ConfigView): Issue | null {
  const { facts, format } = view;
  const tensor = sizeOf(facts, format, 'tensor');
  const expertTensor = facts.expertTensor === undefined ? tensor : countOf(facts, 'expertTensor');
  if (tensor === null || expertTensor === null) return null;
  const uneven = widthsOf(view).find(({ of, width }) => !dividesWidth(facts, of, width, tensor));
  if (uneven === undefined) return null;
  const isOfExperts = uneven.of === 'experts' && facts.expertTensor !== undefined;
  // heads that are not divided either are another finding, whose sizes divide the widths too
  if (!isOfExperts && !dividesHeads(view, tensor)) return null;
  const name = isOfExperts ? 'expertTensor' : 'tensor';
  const old = isOfExperts ? expertTensor : tensor;
  const splits = (size: number): boolean => (isOfExperts ? tensor % size === 0 || size % tensor === 0 : fitsTensor(view, size));
  const near = nearestFitting(divisorsOf(uneven.width), old, splits);
  return {
    at: [name, uneven.fact],
    message: `${uneven.text} of ${formatNumber(uneven.width)} cannot be divided over ${isOfExperts ? 'an expert tensor size' : 'a tensor size'} of ${formatNumber(old)}`,
    remedy: `use ${isOfExperts ? 'an expert tensor size' : 'a tensor size'} of ${listed(near)}`,
    changes: setTo(name, near),
  };
}

/** Feed-forward widths of a model, each with what it is called: dense layers', then an expert's. */
function widthsOf({ facts, traits: { layerKinds = [], experts, stacks } }: ConfigView): readonly Width[] {
  const ffn = countOf(facts, 'ffn');
  const isMixture = countOf(facts, 'experts') !== null && countOf(facts, 'activeExperts') !== null;
  const isDense = !isMixture || layerKinds.some(({ feedForward }) => feedForward === 'dense');
  const shared = countOf(facts, 'sharedExpertFfn') ?? experts?.sharedFfn ?? null;
  const widths = [
    {
      of: 'layers',
      fact: 'ffn',
      width: isDense ? ffn : null,
      text: isMixture ? 'A feed-forward width of dense layers' : 'A feed-forward width',
    },
    { of: 'layers', fact: 'ffn', width: stacks?.decoderFfn ?? null, text: "The decoder's feed-forward width" },
    { of: 'layers', fact: 'sharedExpertFfn', width: isMixture ? shared : null, text: 'A width of shared experts' },
    { of: 'experts', fact: 'expertFfn', width: isMixture ? (countOf(facts, 'expertFfn') ?? ffn) : null, text: 'An expert width' },
  ] as const;
  return widths.flatMap((each) => (each.width === null ? [] : [{ ...each, width: each.width }]));
}

/** Whether a width is divided with this tensor size; experts have their own, where it is given. */
function dividesWidth(facts: Facts, of: Width['of'], width: number, tensor: number): boolean {
  return width % (of === 'experts' && facts.expertTensor !== undefined ? (countOf(facts, 'expertTensor') ?? 1) : tensor) === 0;
}

interface Width {
  readonly of: 'layers' | 'experts';
  readonly fact: FactName;
  readonly width: number;
  readonly text: string;
}

/** Whether some layer attends: a model of layers with a state alone has no heads to divide. */
function attends({ state, layerKinds = [] }: ModelTraits): boolean {
  return state === undefined || layerKinds.some(hasAttention);
}

function fitsTensor(view: ConfigView, tensor: number): boolean {
  const { facts, format } = view;
  const perNode = countOf(facts, 'gpusPerNode');
  const dividesWidths =
    !megatronAndRuns.includes(format) || widthsOf(view).every(({ of, width }) => dividesWidth(facts, of, width, tensor));
  return (
    (perNode === null || tensor <= perNode) && dividesWidths && dividesHeads(view, tensor) && fitsWorld(facts, format, 'tensor', tensor)
  );
}

/** Whether a tensor size divides the heads, as far as they are known. */
function dividesHeads({ facts, format, traits }: ConfigView, size: number): boolean {
  const keyValue = countOf(facts, 'kvHeads');
  const shared = keyValue === null || keyValue % size === 0 || (launcherTraits[format].repeatsKeyValueHeads && size % keyValue === 0);
  return shared && (countOf(facts, 'heads') ?? 0) % size === 0 && (traits.stacks?.decoderHeads ?? 0) % size === 0;
}

/** Whether the GPUs still divide into replicas with one size changed; true while they are unknown, or not written in the file and so free. */
export function fitsWorld(facts: Facts, format: ConfigFormat, name: SizeName, size: number): boolean {
  const world = worldOf(facts);
  const old = sizeOf(facts, format, name);
  const replica = modelGpusOf(facts, format);
  if (world === null || old === null || replica === null) return true;
  return world % ((replica / old) * size) === 0;
}

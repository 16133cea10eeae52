import type { ConfigView } from '../view';
import type { Fact, Facts } from '../../run/facts';
import type { ConfigFormat } from '../../run/config-format';
import { formatNumber } from '../../format';
import { listDivisors } from '../../numbers';
import { countOf, assignedLayers, product, worldSize } from '../../launchers/counts';
import { gpusPerReplica, parallelSize } from '../../launchers/layout-sizes';
import { isLauncher } from '../../launchers/registry';
import { acceleratorFormats, megatronAndRuns, megatronFormats, runFormats, withTorchtitan } from '../formats';
import { listed, many, nearestFitting, setTo, type Change, type Issue, type Rule } from '../rule';
import { dividesHeads, fitsWorld, largerWorld } from './sizes';
import { allOf, either, sentence, type Sentence } from '../../sentence';

/** How layers and GPUs are divided. */
export const layoutRules: readonly Rule[] = [
  {
    code: 'pp-layers-not-divisible',
    severity: 'error',
    formats: megatronAndRuns,
    check: layersOverStages,
  },
  {
    code: 'pp-uneven-middle',
    severity: 'error',
    formats: megatronFormats,
    check: middleLayers,
  },
  {
    code: 'world-size-factor',
    severity: 'error',
    formats: [...withTorchtitan, ...acceleratorFormats, ...runFormats],
    check: worldFactor,
  },
];

/**
 * @finding pp-layers-not-divisible
 * Megatron: "Number of layers should be divisible by the pipeline-model-parallel size". Every pipeline stage gets the same number of layers
 * unless the file sets otherwise; older versions built fewer layers without a warning. Choose a number of stages that divides the layers,
 * or give the first and last stage numbers of their own (`--decoder-first-pipeline-num-layers`, `--decoder-last-pipeline-num-layers`),
 * count the embedding and the loss as a layer each, or write a layout. The fixes offer the nearest numbers of stages.
 * @source Megatron-LM, `megatron/training/arguments.py`, line 998
 */
function layersOverStages(view: ConfigView): Issue | null {
  const { facts, format, mayBeUneven } = view;
  if (facts.encoderLayers !== undefined && facts.decoderLayers !== undefined) return stacksOverStages(view);
  const layers = assignedLayers(facts);
  const stages = parallelSize(facts, format, 'pipeline');
  if (layers === null || stages === null || mayBeUneven || layers % stages === 0) return null;
  const near = nearestFitting(listDivisors(layers), stages, (size) => fitsWorld(facts, format, 'pipeline', size));
  const counted =
    layers === countOf(facts, 'layers') ? many(layers, 'layer') : sentence`${many(layers, 'layer')} (embedding or loss counted in)`;
  return {
    at: ['pipeline', 'layers'],
    message:
      stages > layers
        ? sentence`${many(stages, 'stage')} for ${many(layers, 'layer')}: ${formatNumber(stages - layers)} would have none`
        : sentence`${counted} are not divisible by ${many(stages, 'pipeline stage')}`,
    remedy: either([sentence`use ${listedStages(near)}`, ...unevenStages(layers, stages)]),
    changes: setTo('pipeline', near),
  };
}

/** `3 or 9 stages`, `1 stage`. */
function listedStages(sizes: readonly number[]): Sentence {
  return sizes.length === 1 && sizes[0] === 1 ? many(1, 'stage') : sentence`${listed(sizes)} stages`;
}

/** Each stack of an encoder-decoder model is divided evenly over its own stages. */
function stacksOverStages({ facts, format }: ConfigView): Issue | null {
  const stages = parallelSize(facts, format, 'pipeline');
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
  const near = nearestFitting(listDivisors(layers ?? 1), own, () => true).map((size) => (stack === 'encoder' ? size : stages - size));
  return {
    at: ['splitRank', 'pipeline'],
    message: sentence`${many(layers ?? 0, 'layer')} of the ${stack} are not divisible by its ${many(own, 'stage')}`,
    remedy: sentence`split at stage ${listed(near)}`,
    changes: setTo('splitRank', near),
  };
}

/**
 * In words, ends that take fewer layers so that the stages between them get the same: `7 layers on the first and last stage and 8 on each
 * of the other 2`.
 */
function unevenStages(layers: number, stages: number): Sentence[] {
  const each = Math.ceil(layers / stages);
  const middle = stages - 2;
  const ends = layers - each * middle;
  if (middle < 1 || ends < 2) return [];
  const [first, last] = [Math.floor(ends / 2), Math.ceil(ends / 2)];
  return [
    sentence`give the first stage ${formatNumber(first)}, the last ${formatNumber(last)} and each of the ${formatNumber(middle)} between ${many(each, 'layer')}`,
  ];
}

/**
 * @finding pp-uneven-middle
 * Megatron: "number of middle layers must be divisible by middle pipeline size". The layers that the first and last stage leave are divided
 * evenly over the stages between. The fix offers layers for the ends, or a number of stages, for which this works.
 * @source Megatron-LM, `megatron/core/transformer/transformer_config.py`, lines 2343 and 2384
 */
function middleLayers({ facts, format }: ConfigView): Issue | null {
  const layers = assignedLayers(facts);
  const stages = parallelSize(facts, format, 'pipeline');
  const ends = (['firstStageLayers', 'lastStageLayers'] as const).filter((name) => facts[name] !== undefined);
  const given = ends.map((name) => countOf(facts, name, 0));
  if (layers === null || stages === null || ends.length === 0 || facts.pipelineLayout !== undefined || given.includes(null)) return null;
  const middle = layers - given.reduce<number>((sum, count) => sum + (count ?? 0), 0);
  const between = stages - ends.length;
  if (between < 1 ? middle === 0 && between === 0 : middle > 0 && middle % between === 0) return null;
  const sizes = listDivisors(Math.max(1, middle)).map((size) => size + ends.length);
  const near = middle < 1 ? [] : nearestFitting(sizes, stages, (size) => fitsWorld(facts, format, 'pipeline', size));
  const shares = evenShares(layers, between, ends.length);
  const share: Sentence[] =
    shares === null
      ? []
      : [ends.length === 2 ? sentence`give the first and the last stage ${allOf(shares)}` : sentence`give the end stage ${allOf(shares)}`];
  const remedies = [...(near.length > 0 ? [sentence`use ${listedStages(near)}`] : []), ...share];
  return {
    at: [...ends, 'pipeline'],
    message: sentence`${many(Math.max(0, middle), 'layer')} between the first and the last stage are not divisible by ${many(Math.max(0, between), 'middle stage')}`,
    remedy: remedies.length > 0 ? either(remedies) : sentence`give the first and the last stage fewer layers`,
    changes: [
      ...(shares === null ? [] : [ends.map((name, index) => ({ name, value: shares[index] ?? shares[0] ?? 1 }))]),
      ...setTo('pipeline', near),
    ],
  };
}

/**
 * Layers for `ends` end stages (at least one each, about as many as a middle stage or fewer) that leave the same for `between` others; null
 * when there are none.
 */
function evenShares(layers: number, between: number, ends: number): number[] | null {
  if (between < 1) return null;
  for (let each = Math.ceil(layers / (between + ends)); each >= 1; each--) {
    const left = layers - each * between;
    if (left >= ends) return ends === 1 ? [left] : [Math.floor(left / 2), Math.ceil(left / 2)];
  }
  return null;
}

/**
 * @finding world-size-factor
 * Megatron: "world size is not divisible by total_model_size". A replica of the model lies on tensor x pipeline x context GPUs, and only
 * whole replicas can run; with the data size, all of them multiply to the number of GPUs that a launcher starts. The remedy names the
 * smallest number of nodes, or the data size that matches.
 * @source Megatron-LM, `megatron/training/arguments.py`, line 433
 * @ignore the number of nodes in the file is not the one that you start.
 */
function worldFactor(view: ConfigView): Issue | null {
  const { facts, format } = view;
  const world = worldSize(facts);
  const sizes = (['tensor', 'pipeline', 'context', 'data'] as const).filter((name) => isSet(facts[name], format));
  const gpus = product(...sizes.map((name) => countOf(facts, name)));
  const replica = gpusPerReplica(facts, format);
  const data = facts.data === undefined ? null : countOf(facts, 'data');
  const isWhole = data !== null && replica !== null;
  if (world === null || gpus === null || sizes.length === 0 || (isWhole ? gpus === world : world % gpus === 0)) return null;
  // a tensor size that does not divide the heads either is the cause
  const tensor = countOf(facts, 'tensor');
  if (tensor !== null && !dividesHeads(view, tensor)) return null;
  const factors = sizes.map((name) => `${name} ${formatNumber(countOf(facts, name) ?? 1)}`).join(' x ');
  const multiplied = sizes.length > 1 ? `${factors} = ${formatNumber(gpus)}` : factors;
  const smaller = sizes.flatMap((name) => {
    const size = countOf(facts, name) ?? 1;
    return name === 'data' ? [] : setTo(name, listDivisors(size).filter((value) => value < size && fitsWorld(facts, format, name, value)).slice(-1)); // prettier-ignore
  });
  const larger = largerWorld(facts, gpus);
  return {
    // a terapipe.json describes the machine, and its layout has to match
    at: isLauncher(format) ? ['nodes', 'world', 'pipeline', 'tensor', 'context'] : [...(data === null ? [] : (['data'] as const)), ...sizes], // prettier-ignore
    message: isWhole
      ? sentence`${multiplied} ${gpus === 1 ? sentence`GPU` : sentence`GPUs`}, but there are ${formatNumber(world)}`
      : data === null
        ? sentence`${many(world, 'GPU')} cannot be divided into replicas of ${multiplied}`
        : sentence`${many(world, 'GPU')} cannot be divided by ${multiplied}`,
    remedy: isWhole ? sentence`choose sizes that multiply to ${formatNumber(world)}, or use ${many(gpus, 'GPU')}` : larger.remedy,
    changes: [
      ...(isWhole && world % replica === 0 ? setTo('data', [world / replica]) : []),
      ...(isWhole ? nodesFor(facts, gpus) : larger.changes),
      ...(data === null ? smaller : []),
    ],
  };
}

/** Whether a size is part of the product: a file or its launcher sets it. Without a launcher the default of 1 does not count. */
function isSet(fact: Fact<number> | undefined, format: ConfigFormat): boolean {
  return fact !== undefined && (fact.source.kind !== 'default' || isLauncher(format));
}

/** The number of nodes that have this many GPUs, where there is one. */
function nodesFor(facts: Facts, gpus: number): Change[] {
  const perNode = countOf(facts, 'gpusPerNode');
  return perNode === null || gpus % perNode !== 0 ? [] : setTo('nodes', [gpus / perNode]);
}

import type { ConfigFormat } from '../../run/config-format';
import type { FactName, Facts } from '../../run/facts';
import { launcherTraits } from '../../launchers/registry';
import { formatNumber } from '../../format';
import { isHybrid } from '../../launchers/megatron/hybrid';
import type { StateKind } from '../../domain/model';
import type { ModelTraits } from '../../run/written-model';
import { hasAttention, isRecurrentKind } from '../../model/mixers';
import { countOf, worldSize } from '../../launchers/counts';
import { gpusPerReplica, parallelSize, type SizeName } from '../../launchers/layout-sizes';
import { megatronAndRuns } from '../formats';
import { many, setTo, type Change } from '../rule';
import { greatestCommonDivisor } from '../../numbers';
import type { ConfigView } from '../view';
import { sentence, type Sentence } from '../../sentence';

/** Feed-forward widths of a model, each with what it is called: dense layers', then an expert's. */
export function ffnWidths({ facts, traits: { layerKinds = [], experts, stacks } }: ConfigView): readonly Width[] {
  const ffn = countOf(facts, 'ffn');
  const isMixture = countOf(facts, 'experts') !== null && countOf(facts, 'activeExperts') !== null;
  const isDense = layerKinds.length === 0 ? !isMixture : layerKinds.some(({ feedForward }) => feedForward === 'dense');
  const shared = countOf(facts, 'sharedExpertFfn') ?? experts?.sharedFfn ?? null;
  const widths = [
    {
      of: 'layers',
      fact: 'ffn',
      width: isDense ? ffn : null,
      text: isMixture ? sentence`A feed-forward width of dense layers` : sentence`A feed-forward width`,
    },
    { of: 'layers', fact: 'ffn', width: stacks?.decoderFfn ?? null, text: sentence`The decoder's feed-forward width` },
    { of: 'layers', fact: 'sharedExpertFfn', width: isMixture ? shared : null, text: sentence`A width of shared experts` },
    { of: 'experts', fact: 'expertFfn', width: isMixture ? (countOf(facts, 'expertFfn') ?? ffn) : null, text: sentence`An expert width` },
  ] as const;
  return widths.flatMap((each) => (each.width === null ? [] : [{ ...each, width: each.width }]));
}

/** Whether a width is divided with this tensor size; experts have their own, where it is given. */
export function dividesWidth(facts: Facts, of: Width['of'], width: number, tensor: number): boolean {
  return width % (of === 'experts' && facts.expertTensor !== undefined ? (countOf(facts, 'expertTensor') ?? 1) : tensor) === 0;
}

interface Width {
  readonly of: 'layers' | 'experts';
  readonly fact: FactName;
  readonly width: number;
  readonly text: Sentence;
}

/** Whether some layer attends: a model whose layers all have a state has no heads to divide. */
export function attends({ state, layerKinds = [] }: ModelTraits): boolean {
  return state === undefined || layerKinds.some(hasAttention);
}

/** GPUs that reach each other without the network (`joinedGpus`), as far as they are known. */
export function knownJoinedGpus({ facts, nvlinkDomain }: ConfigView): number | null {
  const perNode = countOf(facts, 'gpusPerNode');
  return perNode === null ? null : Math.max(perNode, nvlinkDomain);
}

/** Whether a tensor size divides what it has to: heads, widths, states, the GPUs of a node and of the run. */
export function fitsTensor(view: ConfigView, tensor: number): boolean {
  const { facts, format } = view;
  const joined = knownJoinedGpus(view);
  const dividesWidths =
    !megatronAndRuns.includes(format) || ffnWidths(view).every(({ of, width }) => dividesWidth(facts, of, width, tensor));
  return (
    (joined === null || tensor <= joined) &&
    dividesWidths &&
    dividesHeads(view, tensor) &&
    dividesState(view, tensor) &&
    fitsWorld(facts, format, 'tensor', tensor)
  );
}

/** Whether a tensor size divides the heads, as far as they are known and some layer has them. */
export function dividesHeads({ facts, format, traits }: ConfigView, size: number): boolean {
  const keyValue = countOf(facts, 'kvHeads');
  if (!attends(traits)) return true;
  const shared = keyValue === null || keyValue % size === 0 || (launcherTraits(format).repeatsKeyValueHeads && size % keyValue === 0);
  return shared && (countOf(facts, 'heads') ?? 0) % size === 0 && (traits.stacks?.decoderHeads ?? 0) % size === 0;
}

/** What a tensor size has to divide in layers with a state: heads and groups, as far as they are known. Null: no layer has one. */
export function stateSizes({ facts, format, traits: { state } }: ConfigView): StateSizes | null {
  if (state !== undefined) {
    const { kind, heads, groups } = state;
    return { heads, groups, whole: wholeState(kind, format) };
  }
  if (!isHybrid(facts)) return null;
  const whole = wholeState(facts.stateKind?.value, format);
  return { heads: countOf(facts, 'stateHeads'), groups: countOf(facts, 'stateGroups'), whole };
}

/** No tensor-parallel code divides the first version of Mamba and recurrent networks; that of some launchers divides no state. */
function wholeState(kind: StateKind | undefined, format: ConfigFormat): Sentence | null {
  if (kind === 'mamba') return sentence`The first version of Mamba`;
  if (kind !== undefined && isRecurrentKind(kind)) return sentence`A recurrent network`;
  return launcherTraits(format).keepsStatesWhole === true ? sentence`The state-space model of this launcher` : null;
}

interface StateSizes {
  readonly heads: number | null;
  readonly groups: number | null;
  /** What is not divided over GPUs; null: the state is. */
  readonly whole: Sentence | null;
}

/** Whether a tensor size divides the layers with a state, as far as they are known. */
export function dividesState(view: ConfigView, tensor: number): boolean {
  const state = stateSizes(view);
  if (state === null) return true;
  return state.whole !== null ? tensor === 1 : [state.heads, state.groups].every((count) => (count ?? 0) % tensor === 0);
}

/**
 * Whether the GPUs still divide into replicas with one size changed; true while they are unknown, or not written in the file and so free.
 */
export function fitsWorld(facts: Facts, format: ConfigFormat, name: SizeName, size: number): boolean {
  const world = worldSize(facts);
  const old = parallelSize(facts, format, name);
  const replica = gpusPerReplica(facts, format);
  if (world === null || old === null || replica === null) return true;
  return world % ((replica / old) * size) === 0;
}

/**
 * The smallest number of nodes (or GPUs), and the next one above what there is, that a unit of `gpus` GPUs divides; in words and as fixes.
 */
export function largerWorld(facts: Facts, gpus: number): { readonly remedy: Sentence; readonly changes: readonly Change[] } {
  const perNode = countOf(facts, 'gpusPerNode');
  if (perNode === null || facts.world?.source.kind === 'file') {
    const world = worldSize(facts) ?? 1;
    const next = Math.ceil(world / gpus) * gpus;
    return { remedy: sentence`use ${many(next, 'GPU')}`, changes: setTo('world', [next]) };
  }
  const step = gpus / greatestCommonDivisor(gpus, perNode);
  const nodes = countOf(facts, 'nodes') ?? 1;
  const next = Math.ceil(nodes / step) * step;
  return {
    remedy: sentence`use at least ${many(next, 'node')} of ${many(perNode, 'GPU')} (a multiple of ${formatNumber(step)})`,
    changes: setTo('nodes', [next]),
  };
}

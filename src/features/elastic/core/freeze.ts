import { ExpectedError } from '../../../core/errors';
import { formatCount, formatNumber } from '../../../core/format';
import type { GradientNorms } from './norm-table';
import { median } from '../../../core/numbers';
import { sentence, type Sentence } from '../../../core/sentence';

/** Decides how many layers are frozen in an epoch, from the bottom. Replaceable: anything that answers this question can drive a plan. */
export interface FreezePolicy {
  /** In words, for what is shown. */
  readonly description: Sentence;
  /** Frozen layers of an epoch (from 0) after `previous` of the epoch before; the plan never unfreezes a layer. */
  readonly frozenLayers: (epoch: number, previous: number) => number;
}

/** Rounding that a product of fractions may bring, so that 4.000000000000001 layers are 4. */
const rounding = 1e-9;

/** The next whole number of layers. */
function wholeLayers(layers: number): number {
  return Math.max(0, Math.ceil(layers - rounding));
}

/**
 * PipeTransformer's schedule: after T epochs `ceil(L (1 - (1 - alpha)^T))` of L layers are frozen, a fraction alpha of those left each
 * time.
 * Source: the upper bound of arXiv 2102.03161, section 3.1, in the closed form of the released code.
 * @throws ExpectedError `elastic-alpha` unless 0 < alpha < 1.
 */
export function alphaPolicy(layers: number, alpha: number): FreezePolicy {
  requireFraction(alpha);
  return {
    description: sentence`a fraction ${formatNumber(alpha)} of the layers left, every epoch`,
    frozenLayers: (epoch) => Math.min(layers, wholeLayers(layers * (1 - (1 - alpha) ** epoch))),
  };
}

/**
 * The paper's rule: `min(L_f + alpha (L - L_f), argmin over the active layers of the gradient norm)`, the norms being those of the epoch
 * before. Layers counted from 1, so that a smallest norm in layer l freezes up to and with it; of equal norms the lowest layer counts.
 * Source: arXiv 2102.03161, equation 1.
 * @throws ExpectedError `elastic-alpha`; from the policy, `elastic-norms` when an active layer has no norm in the epoch before.
 */
export function gradientPolicy(layers: number, alpha: number, norms: GradientNorms): FreezePolicy {
  requireFraction(alpha);
  return {
    description: sentence`up to the layer with the smallest gradient norm, at most ${formatNumber(alpha)} of the remaining layers per epoch`,
    frozenLayers: (epoch, previous) => {
      if (epoch === 0 || previous >= layers) return previous;
      let smallest = { norm: Infinity, layer: layers };
      for (let layer = previous; layer < layers; layer++) {
        const norm = norms.normAt(epoch - 1, layer);
        if (norm < smallest.norm) smallest = { norm, layer: layer + 1 };
      }
      return Math.min(wholeLayers(previous + alpha * (layers - previous)), smallest.layer);
    },
  };
}

/**
 * The rule that PipeTransformer's released code has in addition to its schedule: freezing goes up to and with the first layer whose norm
 * changed by at least the median of the layers left, between the last two epochs. Source: `freeze` of its freeze/auto_freeze.py.
 * @throws ExpectedError from the policy, `elastic-norms` when an active layer has no norm in one of the two epochs before.
 */
export function changePolicy(layers: number, { normAt }: GradientNorms): FreezePolicy {
  return {
    description: sentence`up to the first layer whose gradient norm changed by at least the median of the layers left`,
    frozenLayers: (epoch, previous) => {
      if (epoch < 2 || previous >= layers) return previous;
      const changes = Array.from({ length: layers - previous }, (_, index) => {
        const [now, before] = [normAt(epoch - 1, previous + index), normAt(epoch - 2, previous + index)];
        return now === 0 || before === 0 ? 0 : Math.abs(before - now) / before;
      });
      const middle = median(changes);
      return previous + changes.findIndex((change) => change >= middle) + 1;
    },
  };
}

/**
 * Frozen layers as listed, the last entry holding on.
 * @throws ExpectedError `elastic-frozen-layers` for a list that falls, is empty or freezes more layers than there are.
 */
export function givenPolicy(layers: number, listed: readonly number[]): FreezePolicy {
  const last = listed.at(-1);
  const bad = listed.findIndex((count, epoch) => count > layers || count < (listed[epoch - 1] ?? 0));
  if (last === undefined || bad !== -1) {
    const what =
      last === undefined
        ? sentence`No frozen layers are listed`
        : sentence`Epoch ${bad} cannot have ${formatCount(listed[bad] ?? 0)} frozen layers`;
    throw new ExpectedError('elastic-frozen-layers', what, sentence`list ascending numbers of layers from 0 to ${layers}, one an epoch`);
  }
  return { description: sentence`as listed`, frozenLayers: (epoch) => listed[epoch] ?? last };
}

function requireFraction(alpha: number): void {
  if (alpha > 0 && alpha < 1) return;
  throw new ExpectedError('elastic-alpha', sentence`alpha is ${formatNumber(alpha)}`, sentence`give it a number above 0 and below 1`);
}

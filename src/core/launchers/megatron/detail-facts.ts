import { from } from '../../domain/located';
import type { RopeScaling } from '../../domain/model';
import type { Fact, Facts } from '../../run/facts';
import { frequencyPattern } from '../../run/traits';
import { amount, count, on, positiveNumber, text, type FlagRead } from '../../languages/reads';
import { flagFact, type LocatedFlag } from '../tables/located-flag';
import { expertDefaults, latentYarn } from './megatron-defaults';

/** Flags of yarn, with the size of the scaling that each gives and what Megatron-LM takes without it. */
const yarnSizes = [
  ['rotary-scaling-factor', 'factor', positiveNumber, 1],
  ['yarn-original-max-position-embeddings', 'originalPositions', count(1), 4096],
  ['yarn-beta-fast', 'betaFast', positiveNumber, 32],
  ['yarn-beta-slow', 'betaSlow', positiveNumber, 1],
  ['mscale', 'mscale', positiveNumber, 1],
  ['mscale-all-dim', 'mscaleAllDim', amount, 0],
] as const satisfies readonly (readonly [flag: string, size: keyof RopeScaling, read: FlagRead<number>, silent: number])[];

/** Read together with others by `readDetails` and `readRopeScaling`. */
export const detailFlagReads: Readonly<Record<string, FlagRead<unknown>>> = {
  ...Object.fromEntries(yarnSizes.map(([flag, , read]) => [flag, read])),
  'no-yarn-correction-range-round-to-int': on(true),
  'no-rope-freq': text,
  'rope-type': text,
};

/** Details that follow from several flags. @param facts of the flags. */
export function readDetails(facts: Facts, flags: ReadonlyMap<string, LocatedFlag>): Facts {
  return { ...normalisedByScore(facts), ...skippedLayers(flagFact(flags.get('no-rope-freq'), text), facts) };
}

/** Other scores than softmax are always divided by their sum, if there are several. */
export function normalisedByScore({ routerScore, activeExperts }: Facts): Pick<Facts, 'routerNormalised'> {
  if (routerScore === undefined || routerScore.value === 'softmax') return {};
  return { routerNormalised: from(routerScore, (activeExperts?.value ?? expertDefaults.activeExperts) > 1) };
}

/** The layers without rotary positions; none where all have them, or their number is not known. @param written of `no_rope_freq`. */
export function skippedLayers(written: Fact<string> | undefined, { layers }: Facts): Pick<Facts, 'noRopeLayers'> {
  const noRope = written === undefined || layers === undefined ? null : layersIn(written.value, layers.value);
  return written === undefined || noRope === null || noRope.length === 0 ? {} : { noRopeLayers: { ...written, value: noRope } };
}

/** Every n-th layer, or those with a one in the list; null for any other text. */
function layersIn(written: string, layers: number): readonly number[] | null {
  const period = /^\d{1,5}$/.test(written) ? Number(written) : null;
  const pattern = period === null ? frequencyPattern(written, layers) : null;
  if (period === null && pattern?.length !== layers) return null;
  return Array.from({ length: layers }, (_, layer) => layer).filter((layer) =>
    period === null ? pattern?.[layer] === 1 : (layer + 1) % Math.max(1, period) === 0,
  );
}

/** Yarn, if its factor scales anything; in latent attention it is the kind of rotary positions without any flag. */
export function readYarn(facts: Facts, flags: ReadonlyMap<string, LocatedFlag>): Fact<RopeScaling> | undefined {
  const kind = flagFact(flags.get('position-embedding-type'), text);
  const isLatent = facts.latentAttention?.value === true;
  const factor = flagFact(flags.get('rotary-scaling-factor'), positiveNumber);
  if (isLatent ? flagFact(flags.get('rope-type'), text)?.value === 'rope' : kind?.value !== 'yarn') return undefined;
  const at = factor ?? kind;
  if (at === undefined || (factor?.value ?? 1) === 1) return undefined;
  const sizes = yarnSizes.map(([flag, size, read, silent]) => [size, flagFact(flags.get(flag), read)?.value ?? silent] as const);
  const isUnrounded = flagFact(flags.get('no-yarn-correction-range-round-to-int'), on(true))?.value === true && !isLatent;
  const value = { kind: 'yarn', ...Object.fromEntries(sizes), ...(isLatent && latentYarn), ...(isUnrounded && { isUnrounded }) };
  return { ...at, value };
}

import type { Fact, Facts } from '../../run/facts';
import { on, text } from '../../languages/reads';
import { flagFact, placeOfValue, type LocatedFlag } from '../tables/located-flag';

/**
 * Which checkpoint Megatron-LM loads, and which parts of it, from flags whose values may be known only when the script runs. Weights of
 * `--pretrained-checkpoint` are loaded as those of `--finetune`.
 */
export function readCheckpointFlags(flags: ReadonlyMap<string, LocatedFlag>): Facts {
  const load = pathFact(flags.get('load'));
  const pretrained = pathFact(flags.get('pretrained-checkpoint'));
  const loadCheckpoint = load ?? pretrained;
  if (loadCheckpoint === undefined) return {};
  const universal = switchedOn(flags.get('universal-checkpoint'));
  const format = universal === undefined ? flagFact(flags.get('ckpt-format'), text) : { ...universal, value: 'universal' };
  const withoutState = switchedOn(flags.get('finetune')) ?? switchedOn(flags.get('no-load-optim'));
  const reshardable = switchedOn(flags.get('dist-ckpt-optim-fully-reshardable'));
  const weightsOnly = withoutState ?? (load === undefined ? loadCheckpoint : undefined);
  return {
    loadCheckpoint,
    ...(format && { checkpointFormat: format }),
    ...(weightsOnly && { loadOptimizerState: { ...weightsOnly, value: false } }),
    ...(reshardable && { reshardableOptimizer: reshardable }),
  };
}

function switchedOn(flag: LocatedFlag | undefined): Fact<boolean> | undefined {
  const fact = flagFact(flag, on(true));
  return fact?.value === true ? fact : undefined;
}

function pathFact(flag: LocatedFlag | undefined): Fact<boolean> | undefined {
  const [path] = flag?.words ?? [];
  if (flag === undefined || path === undefined || /^(?:none|null|)$/i.test(path.text ?? '?')) return undefined;
  const { name, whole, isConditional } = flag;
  const source = { kind: 'file', place: placeOfValue(flag), key: name } as const;
  return { value: true, source, name, ...(whole && { whole }), ...(isConditional && { isConditional }) };
}

import type { Finding } from '../../findings';
import { sentence } from '../../sentence';
import { closest } from '../../suggest';
import { flagNames } from './flag-names';
import type { LocatedFlag } from '../tables/located-flag';
import { flagWords } from './megatron-flags';

/** Names that touch model, parallelism, batch or memory. */
const touches =
  /layer|hidden|head|ffn|expert|moe|seq|vocab|embed|tensor|pipe|parallel|context|virtual|stage|batch|recompute|activation|offload|memory|optimizer|fp8|fp16|bf16|fp4|precision|attention|attn|latent|mtp|swap|zero|shard|fsdp|slice|chunk|swiglu|mlp|mamba|dtype|schedule/; // prettier-ignore

/** Flags that a plan leaves out, with their findings. */
export interface LeftOutFlags {
  readonly names: readonly string[];
  readonly remarks: readonly Finding[];
}

/**
 * Flags that no table has and whose name touches model, parallelism, batch or memory, with a finding for each.
 * @param flags of the program itself, not of what starts it, by `flagKey`.
 *
 * @finding flag-unknown
 * A flag of the program that is in none of the tables of Megatron-LM and its forks, and whose name touches model, parallelism, batch or
 * memory. The plan leaves it out and its error bar is at least 35 %. Where a known flag is spelt almost the same it is a warning:
 * Megatron's argument parser takes no abbreviations and stops at what it does not know. The quick fix renames it.
 * @example `--tensor-model-paralel-size 8`. The quick fix writes the flag as Megatron-LM names it.
 * @source Megatron-LM, `megatron/training/arguments.py`, lines 120 and 132: `allow_abbrev=False`, and `parse_args`
 * @ignore your fork has the flag.
 */
export function unknownFlags(file: string, flags: ReadonlyMap<string, LocatedFlag>): LeftOutFlags {
  const unknown = [...flags].filter(([key]) => touches.test(key) && !isKnown(key));
  return { names: unknown.map(([, { name }]) => name), remarks: unknown.map(([key, flag]) => remark(file, key, flag)) };
}

function isKnown(key: string): boolean {
  return flagWords(key) !== undefined || flagNames.has(key) || (key.startsWith('no-') && isKnown(key.slice(3)));
}

/** So few letters of a long name are a slip. */
function slip(length: number): number {
  return length >= 12 ? 2 : length >= 8 ? 1 : 0;
}

function remark(file: string, key: string, { name, place }: LocatedFlag): Finding {
  const meant = closest(key, flagNames.keys(), slip);
  if (meant === null)
    return {
      code: 'flag-unknown',
      severity: 'information',
      place,
      message: sentence`${name} is unknown; the plan ignores it`,
      remedy: sentence`keep in mind that it may change model, layout or memory`,
      fixes: [],
    };
  const written = `--${name.includes('_') ? meant.replaceAll('-', '_') : meant}`;
  const edits = [{ place, newText: written }];
  return {
    code: 'flag-unknown',
    severity: 'warning',
    place,
    message: sentence`${name} is not a known flag of Megatron-LM or its forks; the plan ignores it`,
    remedy: sentence`did you mean ${written}?`,
    fixes: place.file === file ? [{ title: sentence`Rename to ${written}`, preferred: true, edits }] : [],
  };
}

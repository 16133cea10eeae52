import type { ModelSpec } from '../../../../../src/core/domain/model';

/** What the flags of a script and its sizes say. */
export interface RestatedFlags {
  readonly tokens: number;
  readonly splits: number;
  /** The word of the rule as the flag has it. */
  readonly rule: string;
  /** The list as the flag has it. */
  readonly list: string | null;
  readonly multiple: number;
  readonly model: Pick<ModelSpec, 'layers' | 'hidden' | 'heads' | 'ffn'>;
  readonly vocab: number;
}

/**
 * The rule of `get_splits` and of `SplitSolver` once more, written from their description and solved by bisection: thunlp/Seq1F1B at
 * 68934661, megatron/core/pipeline_parallel/sp_utils.py 119 to 146 and split_solver.py 13 to 26; `fix` at c62b9496, sequence_split.py. A
 * slice of x tokens that ends at token e takes N (x e (4 d + 3) a - x^2 (4 d + 3) a / 2 + 8 x h a d + 4 x h f) + 4 x h V FLOPs; the last
 * slice is solved first, each is cut down to a whole number and then to a multiple, the first takes the rest.
 */
export function restatedSplits({ tokens, splits, rule, list, multiple, model, vocab }: RestatedFlags): readonly number[] {
  if (list !== null) return list.split(',').map(Number);
  if (rule === 'average') return Array.from({ length: splits }, () => Math.floor(tokens / splits));
  const { layers, hidden, heads, ffn } = model;
  const width = Math.floor(hidden / heads);
  const work = (length: number, end: number): number =>
    layers *
      (length * end * (4 * width + 3) * heads -
        (length ** 2 * (4 * width + 3) * heads) / 2 +
        8 * length * hidden * heads * width +
        4 * length * hidden * ffn) +
    4 * length * hidden * vocab;
  const share = work(tokens, tokens) / splits;
  const lengths: number[] = [];
  let end = tokens;
  for (let index = 1; index < splits; index++) {
    let [low, high] = [0, end];
    for (let step = 0; step < 200; step++) {
      const middle = (low + high) / 2;
      if (work(middle, end) < share) low = middle;
      else high = middle;
    }
    const length = Math.floor(Math.floor(high + 1e-9) / multiple) * multiple;
    lengths.unshift(length);
    end -= length;
  }
  return [end, ...lengths];
}

/** No pipeline has more stages and layers; a layout that unrolls to more is none. */
const longest = 100_000;

/**
 * The letters of each stage of a layout such as `Et*3|(tt|)*29,m|L`, unrolled as Megatron Core does
 * (`megatron/core/transformer/pipeline_parallel_layer_layout.py`, lines 288 to 301 at d98e8a64): commas mean nothing, `(...)*n` goes first,
 * then `x*n`, and `|` ends a stage, which may be empty. E is the embedding, t a layer, m one of multi-token prediction, L the loss; other
 * letters stay as they are. Null for a text that grows without end.
 */
export function unrolledLayout(written: string): readonly string[] | null {
  if (written.length > longest) return null;
  const groups = unrolled(written.replace(/[,\s]/g, ''), /\(([^)]+)\)\*(\d+)/g);
  const flat = groups === null ? null : unrolled(groups, /(.)\*(\d+)/g);
  return flat === null ? null : flat.split('|');
}

function unrolled(text: string, pattern: RegExp): string | null {
  let left = longest;
  const result = text.replace(pattern, (_, unit: string, times: string) => {
    left -= unit.length * Number(times);
    return left < 0 ? '' : unit.repeat(Number(times));
  });
  return left < 0 || result.length > longest ? null : result;
}

/** How often a letter is in all stages. */
export function lettersIn(stages: readonly string[], letter: string): number {
  return stages.reduce((count, stage) => count + stage.split(letter).length - 1, 0);
}

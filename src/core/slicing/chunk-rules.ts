import type { ModelSpec } from '../domain/model';

/**
 * Rules by which others cut a sequence, as baselines: slices of equal arithmetic (Seq1F1B) and chunks that shrink as the context grows
 * (serving engines).
 */

/** Arithmetic of a slice of x tokens after c: `perToken x + perTokenContext (x c + x^2 / 2)`, in any unit. */
export interface SliceWork {
  readonly perToken: number;
  readonly perTokenContext: number;
}

/** Sizes of a model as Seq1F1B counts them. */
interface WorkShape {
  readonly layers: number;
  readonly hidden: number;
  readonly ffn: number;
  readonly heads: number;
  readonly headDim: number;
  readonly vocab: number;
}

/** FLOPs of a forward, as Seq1F1B's `get_prefix_tflops` counts them: N [(4 d + 3) a (x c + x^2 / 2) + 8 x h a d + 4 x h ffn] + 4 x h V. */
export function forwardWork({ layers, hidden, ffn, heads, headDim, vocab }: WorkShape): SliceWork {
  return {
    perToken: layers * (8 * hidden * heads * headDim + 4 * hidden * ffn) + 4 * hidden * vocab,
    perTokenContext: layers * (4 * headDim + 3) * heads,
  };
}

/**
 * `slices` slices of equal work, solved from the end of the sequence and rounded down to multiples of `multiple`; the first one takes the
 * rest (Seq1F1B, `uniform_comp`).
 * Null when a slice would be empty.
 */
export function equalWorkLengths(
  tokens: number,
  slices: number,
  multiple: number,
  { perToken, perTokenContext }: SliceWork,
): number[] | null {
  const share = (perToken * tokens + (perTokenContext * tokens * tokens) / 2) / slices;
  const lengths: number[] = [];
  let left = tokens;
  for (let index = 1; index < slices; index++) {
    // The smaller root of perTokenContext x^2 / 2 - (perToken + perTokenContext left) x + share = 0, in the form that also holds without
    // context.
    const linear = perToken + perTokenContext * left;
    const root = (2 * share) / (linear + Math.sqrt(Math.max(0, linear * linear - 2 * perTokenContext * share)));
    const length = Math.floor(root / multiple) * multiple;
    if (length < 1 || length >= left) return null;
    lengths.push(length);
    left -= length;
  }
  return [left, ...lengths.reverse()];
}

/** How a serving engine shortens chunks as the context grows. */
export interface DynamicRule {
  /** Share of the computed change of a chunk that is followed: 0 for equal chunks, 1 for all of it. */
  readonly smoothing: number;
  /** Shortest chunk that is asked for, as a share of the first. */
  readonly leastShare: number;
  /** Chunks are multiples of this many tokens. */
  readonly multiple: number;
  readonly rounding: 'down' | 'up';
  /** The longest prompt that is timed for the fit, in first chunks. */
  readonly fittedShare: number;
}

/** SGLang's, with its defaults (`ChunkSizePredictor` and `profile_and_init_predictor` in `scheduler_pp_mixin.py` at 00ff98d). */
export const sglangRule: Omit<DynamicRule, 'multiple'> = { smoothing: 0.75, leastShare: 0.25, rounding: 'down', fittedShare: 1.25 };

/**
 * Chunks of a prompt as serving engines choose them: the time R(L) of a whole prompt is fitted by a quadratic, the next chunk d after L
 * tokens solves R(L + d) - R(L) = R(first) - R(0), and a share of the change is followed.
 * @param wholeMs time of a prompt of this many tokens at once, ms.
 */
export function dynamicChunks(tokens: number, first: number, rule: DynamicRule, wholeMs: (tokens: number) => number): number[] {
  const { smoothing, leastShare, multiple, rounding } = rule;
  const { linear, square } = fittedQuadratic(Math.min(tokens, rule.fittedShare * first), multiple, wholeMs);
  const rounded = (length: number): number =>
    Math.max(multiple, Math[rounding === 'down' ? 'floor' : 'ceil'](length / multiple) * multiple);
  const target = linear * first + square * first * first;
  const lengths: number[] = [];
  for (let done = 0; done < tokens;) {
    const slope = linear + 2 * square * done;
    const root = square > 0 ? (2 * target) / (slope + Math.sqrt(slope * slope + 4 * square * target)) : first;
    const asked = rounded(Math.max(leastShare * first, first + smoothing * (root - first)));
    const length = Math.min(tokens - done, asked);
    lengths.push(length);
    done += length;
  }
  return lengths;
}

/** Prompts that the quadratic is fitted to. */
const fitted = 16;

/** Least squares of `constant + linear L + square L^2` through evenly spaced lengths up to `longest`; neither term negative. */
function fittedQuadratic(
  longest: number,
  multiple: number,
  wholeMs: (tokens: number) => number,
): { readonly linear: number; readonly square: number } {
  const lengths = Array.from({ length: fitted }, (_, index) =>
    Math.max(1, Math.min(Math.round(longest), multiple * Math.max(1, Math.round(((index + 1) * longest) / fitted / multiple)))),
  );
  // Lengths that may not run whole were not timed.
  const points = lengths.filter((length) => wholeMs(length) < Infinity);
  const times = points.map(wholeMs);
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [x, y, t] = [points, points.map((point) => point * point), times].map((values) => {
    const average = mean(values);
    return values.map((value) => value - average);
  });
  const dot = (a: readonly number[] = [], b: readonly number[] = []): number =>
    a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);
  const determinant = dot(x, x) * dot(y, y) - dot(x, y) ** 2;
  const square = determinant > 0 ? (dot(y, t) * dot(x, x) - dot(x, t) * dot(x, y)) / determinant : 0;
  if (square > 0) {
    const linear = (dot(x, t) - square * dot(x, y)) / dot(x, x);
    if (linear >= 0) return { linear, square };
    return { linear: 0, square: dot(y, t) / dot(y, y) };
  }
  return { linear: dot(x, x) > 0 ? Math.max(0, dot(x, t) / dot(x, x)) : 1, square: 0 };
}

/** Arithmetic of a slice as Seq1F1B counts it; a gated feed-forward has half as much again, and a token visits only the active experts. */
export function sliceWork(model: ModelSpec): SliceWork {
  return forwardWork({ ...model, ffn: model.ffn * (model.gatedMlp ? 1.5 : 1) * (model.experts?.active ?? 1) });
}

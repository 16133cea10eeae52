// Prints the rates of GEMMs and attention in a profile: `rates.ts PROFILE.json`. Forward, of the longest slices that were timed.
import { readFileSync } from 'node:fs';
import type { Profile, Sample } from '../../src/core/domain/profile';

const profile = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as Profile;
const { samples, shape } = profile;
const { hidden, heads, kvHeads, headDim, ffn, gatedMlp, vocab } = shape;
/** FLOP in ms as TFLOP/s. */
const tera = (flops: number, ms: number): string => `${(flops / ms / 1e9).toPrecision(3)} TFLOP/s`;
const longest = (found: readonly Sample[]): Sample | undefined =>
  found.filter(({ batch }) => batch === 1).toSorted((a, b) => b.tokens - a.tokens || a.context - b.context)[0];

const weights = hidden * headDim * (2 * heads + 2 * kvHeads) + (gatedMlp ? 3 : 2) * hidden * ffn;
/** Products of queries and keys, and of probabilities and values. */
const attended = (tokens: number, context: number): number => 4 * heads * headDim * tokens * (context + tokens / 2);

const whole = longest(samples.layer.filter(({ context }) => context === 0));
if (whole !== undefined)
  console.log(
    `- A layer of ${whole.tokens} tokens, GEMMs and attention: ${tera(2 * weights * whole.tokens + attended(whole.tokens, 0), whole.forwardMs)}`,
  );
const head = longest(samples.head);
if (head !== undefined)
  console.log(
    `- The GEMM of the head, ${head.tokens} x ${hidden} x ${vocab}, with its loss: ${tera(2 * head.tokens * hidden * vocab, head.forwardMs)}`,
  );
// What context adds to a slice of equal length is only attention.
const pairs = samples.layer.flatMap((far) => {
  const near = samples.layer.find(({ batch, tokens, context }) => batch === far.batch && tokens === far.tokens && context < far.context);
  return near === undefined || far.forwardMs <= near.forwardMs ? [] : [{ near, far }];
});
const pair = pairs.toSorted((a, b) => b.far.tokens * b.far.context - a.far.tokens * a.far.context)[0];
if (pair !== undefined) {
  const { near, far } = pair;
  const added = far.batch * (attended(far.tokens, far.context) - attended(near.tokens, near.context));
  console.log(
    `- Attention, ${far.tokens} tokens at a context of ${far.context} over ${near.context}: ${tera(added, far.forwardMs - near.forwardMs)}`,
  );
}

import assert from 'node:assert/strict';
import { decodeRates } from '../../../../src/features/prefill/core/decode';
import { planPrefill } from '../../../../src/features/prefill/core/prefill';
import { llama3, request } from '../../../golden/requests';

/** Llama-3 70B as a server runs prompts of this many tokens in bf16. */
function served(gpu: 'A100-80GB' | 'H100-80GB', tokens: number, layout: { readonly tensor: number; readonly pipeline: number }) {
  const training = { sequenceLength: tokens, attention: 'flash', precision: 'bf16', dropout: false, sequenceParallel: true } as const;
  return { ...request(gpu, llama3('70b', 80), { training, layout }), slicing: { unit: tokens, scheme: null } };
}

const near = (found: number, expected: number, share = 1e-9): void =>
  assert.ok(Math.abs(found / expected - 1) <= share, `${found}, by hand ${expected}`);

describe('decoding', () => {
  // 64 query and 8 key/value heads of 128, feed-forward 28,672, vocabulary 128,256
  const layer = 8192 * (2 * 64 * 128 + 2 * 8 * 128 + 3 * 28_672);
  const head = 8192 * 128_256;

  it('is counted by hand: cache, capacity, and the time to read weights and cache', () => {
    const { decode, memory } = planPrefill(served('H100-80GB', 8192, { tensor: 8, pipeline: 1 }), Infinity);
    // one of 8 heads on a GPU, keys and values, 2 bytes, 80 layers
    assert.equal(decode.tokenBytes, 128 * 2 * 2 * 80);
    assert.equal(decode.capacityTokens, Math.floor((memory.usableBytes - memory.weightsBytes) / 40_960));
    const [one, many] = decode.rows;
    const bytes = (2 * (80 * layer + head)) / 8 + 8192 * 40_960;
    near(one!.tokenMs.usual, (1e3 * bytes) / (3.35e12 * 0.65));
    near(one!.tokensPerSecond, 1e3 / one!.tokenMs.usual);
    assert.equal(many!.sequences, Math.floor(decode.capacityTokens / 8192));
    near(many!.tokenMs.low, (1e3 * ((2 * (80 * layer + head)) / 8 + many!.sequences * 8192 * 40_960)) / (3.35e12 * 0.74));
  });

  it('goes through all stages, with the sequences divided over them', () => {
    const { decode } = planPrefill(served('H100-80GB', 8192, { tensor: 8, pipeline: 2 }), Infinity);
    assert.equal(decode.tokenBytes, 128 * 2 * 2 * 40);
    const [one, many] = decode.rows;
    near(one!.tokenMs.usual, (1e3 * ((2 * (80 * layer + head)) / 8 + 8192 * 40_960)) / (3.35e12 * 0.65));
    const half = many!.sequences / 2;
    near(many!.tokenMs.usual, (1e3 * ((2 * (80 * layer + head)) / 8 + half * 8192 * 40_960)) / (3.35e12 * 0.65));
  });

  it('has the measured rates of gpt-fast on A100 in its range', () => {
    // its README: Llama-2-70B, whose layers are those of Llama 3 and whose vocabulary is smaller, after 5 tokens
    for (const [tensor, tokensPerSecond] of [
      [2, 21.32],
      [4, 38.01],
      [8, 62.5],
    ] as const) {
      // prettier-ignore
      const llama = served('A100-80GB', 5, { tensor, pipeline: 1 });
      const [one] = planPrefill({ ...llama, model: { ...llama.model, vocab: 32_000 } }, Infinity).decode.rows;
      const { low, high } = one!.tokenMs;
      assert.ok(low <= 1e3 / tokensPerSecond && 1e3 / tokensPerSecond <= high, `TP${tensor}: ${low} to ${high} ms`);
    }
  });

  it('keeps the latent of latent attention, whole on every GPU', () => {
    const latent = { qRank: 1536, kvRank: 512, nopeHeadDim: 128, ropeHeadDim: 64, vHeadDim: 128 };
    const plain = served('H100-80GB', 8192, { tensor: 8, pipeline: 1 });
    const { decode } = planPrefill({ ...plain, model: { ...plain.model, latent } }, Infinity);
    assert.equal(decode.tokenBytes, (512 + 64) * 2 * 80);
  });

  it('reads only experts that a token visits', () => {
    const plain = served('H100-80GB', 8192, { tensor: 8, pipeline: 1 });
    const experts = { count: 8, active: 2, sharedFfn: 0 };
    const rows = (active: number) =>
      planPrefill({ ...plain, model: { ...plain.model, ffn: 3584, experts: { ...experts, active } } }, Infinity).decode.rows;
    const expert = 3 * 8192 * 3584;
    const [two, four] = [rows(2)[0]!, rows(4)[0]!];
    near(four.tokenMs.usual - two.tokenMs.usual, (1e3 * 2 * 80 * 2 * expert) / 8 / (3.35e12 * 0.65), 1e-6);
  });

  it('has no times where a model keeps no keys and values', () => {
    const asked = served('H100-80GB', 8192, { tensor: 8, pipeline: 1 });
    assert.deepEqual(decodeRates(asked, [], Infinity).rows, []);
  });
});

import assert from 'node:assert/strict';
import {
  modelFlopsPerSequence,
  paddedVocab,
  parameterCount,
  rankExpertParameters,
  rankMatrixParameters,
} from '../../../../src/core/model/parameters';
import { gpt, llama3, mixtral } from '../../../golden/requests';

describe('parameter count', () => {
  it('equals GPT-2 small as HuggingFace reports it', () => {
    assert.equal(parameterCount(gpt(12, 768, 12, 50257, 1024)), 124_439_808);
  });

  it('equals Llama 3 8B as HuggingFace reports it', () => {
    assert.equal(parameterCount({ ...llama3('70b', 32), hidden: 4096, heads: 32, ffn: 14336 }), 8_030_261_248);
  });

  it('equals Mistral 7B as HuggingFace reports it', () => {
    assert.equal(parameterCount({ ...llama3('70b', 32), hidden: 4096, heads: 32, ffn: 14336, vocab: 32000 }), 7_241_732_096);
  });

  it('equals Qwen2.5 0.5B, whose q, k and v have biases and whose embeddings are tied', () => {
    const qwen = {
      ...llama3('70b', 24),
      hidden: 896,
      heads: 14,
      kvHeads: 2,
      headDim: 64,
      ffn: 4864,
      vocab: 151936,
      tiedEmbeddings: true,
      qkvBias: true,
    };
    assert.equal(parameterCount(qwen), 494_032_768);
  });

  it('equals Pythia 160M, whose head is untied and positions rotary', () => {
    assert.equal(parameterCount({ ...gpt(12, 768, 12, 50304), tiedEmbeddings: false, positions: 'rotary' }), 162_322_944);
  });

  it('equals Mixtral 8x7B as HuggingFace reports it: every expert and a router without bias', () => {
    assert.equal(parameterCount(mixtral(32)), 46_702_792_704);
  });

  it('equals Qwen3 30B-A3B, whose experts are narrow and whose heads are normed', () => {
    const qwen = { ...llama3('70b', 48), hidden: 2048, heads: 32, kvHeads: 4, ffn: 768, vocab: 151936, qkNorm: true };
    assert.equal(parameterCount({ ...qwen, experts: { count: 128, active: 8 } }), 30_532_122_624);
  });

  it('gives every expert its own biases', () => {
    const one = gpt(1, 64, 4, 0);
    const more = parameterCount({ ...one, experts: { count: 3, active: 1 } }) - parameterCount(one);
    assert.equal(more, 2 * (2 * 64 * 256 + 256 + 64) + 3 * 64);
  });
});

describe('parameters of a rank', () => {
  it('divide matrices by the tensor size, experts by the expert size too, and keep the router whole', () => {
    const attention = 4096 * (4096 + 2 * 1024) + 4096 * 4096;
    const experts = 8 * 3 * 4096 * 14336;
    assert.equal(rankExpertParameters(mixtral(1), { tensor: 2, expert: 4 }), experts / 8);
    assert.equal(rankMatrixParameters(mixtral(1), { tensor: 2, expert: 4 }), attention / 2 + experts / 8 + 4096 * 8);
  });

  it('do not follow an expert size that a dense model has no use for', () => {
    const dense = llama3('70b', 1);
    assert.equal(rankExpertParameters(dense, { tensor: 2, expert: 4 }), 0);
    assert.equal(rankMatrixParameters(dense, { tensor: 2, expert: 4 }), rankMatrixParameters(dense, { tensor: 2, expert: 1 }));
  });
});

describe('padded vocabulary', () => {
  it('is a multiple of 128 that the tensor parallel size divides', () => {
    assert.equal(paddedVocab(50257, 1), 50304);
    assert.equal(paddedVocab(128256, 8), 128256);
    assert.equal(paddedVocab(50257, 3) % 3, 0);
  });

  it('stays 0 for a model without embedding', () => {
    assert.equal(paddedVocab(0, 8), 0);
  });
});

describe('model FLOPs', () => {
  it('are six per weight and token when attention is negligible', () => {
    const model = gpt(2, 4096, 32, 0);
    const weights = 2 * 12 * 4096 ** 2;
    assert.ok(Math.abs(modelFlopsPerSequence(model, 1) / (6 * weights) - 1) < 1e-3);
  });

  it('are those of the experts that a token visits: 12.9 B of Mixtral 8x7B', () => {
    const perToken = modelFlopsPerSequence(mixtral(32), 1) / 6;
    // the embedding is looked up, not multiplied
    assert.equal(((perToken + 32000 * 4096) / 1e9).toFixed(1), '12.9');
  });
});

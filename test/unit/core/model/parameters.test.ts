import assert from 'node:assert/strict';
import { modelFlopsPerSequence, paddedVocab, parameterCount } from '../../../../src/core/model/parameters';
import { gpt, llama3 } from '../../../golden/requests';

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
});

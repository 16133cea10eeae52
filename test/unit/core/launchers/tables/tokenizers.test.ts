import assert from 'node:assert/strict';
import { vocabOfName, vocabOfType } from '../../../../../src/core/launchers/tables/tokenizers';
import { load } from '../../config-files/files';

const words = (outcome: ReturnType<typeof vocabOfType.of>): number | null => ('value' in outcome ? outcome.value : null);
const neox =
  'num_layers: 6\nhidden_size: 128\nnum_attention_heads: 4\nseq_length: 2048\npipe-parallel-size: 1\nattention-config: [[["flash"], 6]]\n';

describe('words of tokenizers', () => {
  it('are known by the class that a launcher names', () => {
    const types = [
      'GPT2BPETokenizer',
      'HFGPT2Tokenizer',
      'Llama2Tokenizer',
      'Llama3Tokenizer',
      'HuggingFaceTokenizer',
      'SentencePieceTokenizer',
    ];
    assert.deepEqual(
      types.map((type) => words(vocabOfType.of([type]))),
      [50257, 50257, 32000, 128256, null, null],
    );
  });

  it('are known by the place of their files', () => {
    const known: Readonly<Record<string, number | null>> = {
      gpt2: 50257,
      '/data/gpt2-vocab.json': 50257,
      './20B_tokenizer.json': 50277,
      'EleutherAI/gpt-neox-20b': 50277,
      'bigscience/tokenizer': 250680,
      'meta-llama/Llama-2-7b-hf': 32000,
      'meta-llama/Meta-Llama-3-8B': 128256,
      'meta-llama/Llama-3.2-1B': 128256,
      '/models/llama2/hf/llama-2-7b-hf/tokenizer.model': 32000,
      'mistralai/Mistral-7B-v0.3': 32768,
      'meta-llama/Llama-30b': null,
      'my/tokenizer.model': null,
    };
    for (const [name, count] of Object.entries(known)) assert.equal(words(vocabOfName.of([name])), count, name);
  });

  it('are the vocabulary of a run that gives no other', async () => {
    const run = await load({ 'config.yml': `${neox}tokenizer_type: HFTokenizer\nvocab_file: /data/20B_tokenizer.json\n` });
    assert.equal(run.model.vocab.value, 50277);
    const { source } = run.model.vocab;
    assert.equal(source.kind === 'file' ? source.key : source.kind, 'vocab_file');
    assert.equal((await load({ 'config.yml': neox })).model.vocab.value, 0);
  });
});

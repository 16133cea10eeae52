import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { readGptNeox } from '../../../../../src/core/launchers/neox/gpt-neox';

describe('a name in quotes', () => {
  it('means the number that it stands for; a number in quotes is none', () => {
    const read = (line: string): readonly unknown[] => {
      const { facts, remarks } = readGptNeox('20B.yml', `{\n  "num_layers": 44,\n  "pipe_parallel_size": 4,\n  ${line}\n}\n`);
      return [facts.vocab?.value, remarks.map(({ code }) => code)];
    };
    assert.deepEqual(read('"vocab_file": "./20B_checkpoints/20B_tokenizer.json"'), [50277, []]);
    assert.deepEqual(read('"hidden_size": "6144"'), [undefined, ['config-wrong-type']]);
  });
});

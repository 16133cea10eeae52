import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { ExpectedError } from '../../../src/core/errors';
import type { Finding } from '../../../src/core/findings';
import { launchFindings } from '../../../src/core/rules/launch-findings';
import { runFindings } from '../../../src/core/rules/run-findings';
import { anyOf, counted, lowerFirst, say, sayFromStart, sentence, upperFirst, type Sentence, type Value } from '../../../src/core/sentence';
import { load, loadObject } from './config-files/files';
import { launcherOf } from './rules/launcher';
import { pairs } from './rules/pairs';
import { ownPairs } from './rules/run-pairs';

/** The names and numbers that fill a sentence and its parts. */
function filled(value: Value): string[] {
  return typeof value === 'object' ? value.values.flatMap(filled) : [String(value)];
}

const sentencesOf = ({ message, remedy, fixes }: Finding): Sentence[] => [message, remedy, ...fixes.map(({ title }) => title)];

/** Configs that cannot be read, each for another reason. */
const broken: readonly (readonly [file: string, text: string])[] = [
  ['terapipe.json', '{ "model": '],
  ['terapipe.json', '[]'],
  ['terapipe.json', '{ "model": { "layers": -1 } }'],
  ['terapipe.json', '{ "model": { "layers": {} } }'],
  ['terapipe.json', '{ "model": "config.json", "model": "config.json" }'],
  ['terapipe.json', '{ "model": { "layers": 1 }, "cluster": { "gpu": "H2000" } }'],
  ['config.json', '{ "model_type": "t5x" }'],
  ['config.json', '{ "model_type": "bert", "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "vocab_size": 9 }'],
  ['run.yaml', '- a\n'],
  ['run.toml', '[model\n'],
];

async function errorOf(file: string, text: string): Promise<Sentence[]> {
  try {
    const { unplanned, remarks = [] } = await load({ [file]: text });
    return [...(unplanned === undefined ? [] : [unplanned.message, unplanned.remedy]), ...remarks.flatMap(sentencesOf)];
  } catch (error) {
    assert.ok(error instanceof ExpectedError);
    assert.equal(error.message, say(error.what));
    return [error.what, error.remedy];
  }
}

describe('a sentence', () => {
  const translate = (text: string, ...values: (string | number)[]): string => `«${text.replace('{0}', String(values[0]))}»`;

  it('is in English by default, and in another language part by part', () => {
    const batch = sentence`A batch of ${4} on ${counted(2, 'stage')}`;
    assert.deepEqual(batch.template, 'A batch of {0} on {1}');
    assert.equal(say(batch), 'A batch of 4 on 2 stages');
    assert.equal(say(sentence`use ${counted(1, 'stage')}`, translate), '«use «1 stage»»');
  });

  it('is a list, and a part of another or a title by its first letter', () => {
    assert.deepEqual([[], ['a'], ['a', 'b'], ['a', 'b', 'c']].map((list) => say(sentence`${anyOf(list)}`)), ['', 'a', 'a or b', 'a, b or c']); // prettier-ignore
    assert.equal(say(sentence`do ${lowerFirst(sentence`Recompute ${'X'}`)}`), 'do recompute X');
    assert.equal(say(upperFirst(sentence`set ${'x'}`)), 'Set x');
  });

  it('begins a message with a capital letter, except that of a name', () => {
    assert.equal(sayFromStart(sentence`give ${'hidden_size'} a number`), 'Give hidden_size a number');
    assert.equal(sayFromStart(sentence`${'hidden_size'} is ${-5}`), 'hidden_size is -5');
    assert.equal(sayFromStart(sentence`${sentence`${'hidden'} is 0`}; ${'heads'}`), 'hidden is 0; heads');
    assert.equal(sayFromStart(sentence`${sentence`a list`} is empty`), 'A list is empty');
    assert.equal(sayFromStart(upperFirst(sentence`${'set'} x`)), 'Set x');
  });

  it('keeps the braces of a value', () => {
    assert.equal(say(sentence`write ${'${A:-{1}}'} with ${2}`), 'write ${A:-{1}} with 2');
  });

  it('is filled with names and numbers only', async () => {
    const launched = pairs.flatMap(({ bad, format }) => launchFindings(launcherOf(bad, format)).flatMap(sentencesOf));
    const planned = await Promise.all(ownPairs.map(async ({ bad }) => runFindings(await loadObject(bad), null).flatMap(sentencesOf)));
    const errors = await Promise.all(broken.map(([file, text]) => errorOf(file, text)));
    const sentences = [...launched, ...planned.flat(), ...errors.flat()];
    assert.ok(sentences.length > 200);
    const words = sentences.flatMap(filled).filter((value) => /\b[a-z]{2,} [a-z]{2,}\b/.test(value.replace(/"[^"]*"/g, '')));
    assert.deepEqual([...new Set(words)], []);
  });
});

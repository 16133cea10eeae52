import assert from 'node:assert/strict';
import { ExpectedError } from '../../../../../src/core/errors';
import { entryAt, parseYaml, type YamlEntry } from '../../../../../src/core/languages/yaml/document';
import { entryRemovalRange } from '../../../../../src/core/languages/yaml/removal';

function at(text: string, path: string): YamlEntry {
  const entry = entryAt(parseYaml('run.yaml', text).root, path.split('.'));
  assert.ok(entry, path);
  return entry;
}

function slice(text: string, { value }: YamlEntry): string {
  return text.slice(value.range.start, value.range.end);
}

/** Code of the refusal, and the text that it points at. */
function refusal(text: string): readonly [code: string, pointed: string] {
  try {
    parseYaml('run.yaml', text);
  } catch (error) {
    assert.ok(error instanceof ExpectedError && error.place !== undefined, String(error));
    assert.equal(error.place.file, 'run.yaml');
    return [error.code, text.slice(error.place.range.start, error.place.range.end)];
  }
  throw new Error('nothing was refused');
}

/** The text without an entry. */
function without(text: string, path: string): string | null {
  const whole = entryRemovalRange(text, at(text, path));
  return whole === undefined ? null : text.slice(0, whole.start) + text.slice(whole.end);
}

describe('parseYaml', () => {
  it('keeps the place of each value, with its quotes and without what surrounds it', () => {
    const text =
      '\uFEFF# head\r\nmodel:\r\n  layers: 14 # of 61\r\n  "quoted": "a: b"\r\n  kinds: [1, 2]\r\n  tagged: !!int &n 8\r\n  later:\r\n    true\r\n';
    assert.equal(slice(text, at(text, 'model.layers')), '14');
    assert.equal(slice(text, at(text, 'model.quoted')), '"a: b"');
    assert.equal(slice(text, at(text, 'model.kinds')), '[1, 2]');
    assert.equal(slice(text, at(text, 'model.tagged')), '8');
    assert.equal(slice(text, at(text, 'model.later')), 'true');
  });

  it('follows aliases, and merges under the keys that a mapping has itself', () => {
    const text = 'base: &base { tp: 2, pp: 4 }\nn: &n 8\nmodel:\n  <<: *base\n  pp: 1\n  dp: *n\n';
    const { value } = at(text, 'model.dp');
    assert.ok(value.kind === 'scalar');
    assert.equal(value.text, '8');
    assert.equal(slice(text, at(text, 'model.dp')), '*n');
    assert.equal(slice(text, at(text, 'model.pp')), '1');
    assert.equal(slice(text, at(text, 'model.tp')), '2');
  });

  it('runs nothing that a tag names', () => {
    const { value } = at('a: !!python/object/apply:os.system ["x"]\nb: !own 3\n', 'b');
    assert.ok(value.kind === 'scalar' && value.text === '3');
  });

  it('refuses broken text where it is broken', () => {
    assert.deepEqual(refusal('a: 1\nb: "x\n'), ['config-yaml-syntax', 'x']);
    assert.deepEqual(refusal('a:\n\tb: 1\n'), ['config-yaml-syntax', '\t']);
    assert.deepEqual(refusal('a: [1, 2\nb: 3\n')[0], 'config-yaml-syntax');
    assert.deepEqual(refusal('a: b: c\n')[0], 'config-yaml-syntax');
    assert.deepEqual(refusal('a: 1\n---\nb: 2\n')[0], 'config-yaml-syntax');
    assert.deepEqual(refusal('- 1\n- 2\n')[0], 'config-wrong-type');
    assert.deepEqual(refusal('# nothing\n'), ['config-wrong-type', '']);
    assert.deepEqual(refusal(' \n'), ['config-empty', '']);
    assert.deepEqual(refusal('a: \0'), ['config-binary', '']);
  });

  it('refuses a second key of one name at the second, and __proto__', () => {
    const text = 'a: 1\nmodel:\n  a: 1\n  "a": 2\n';
    assert.deepEqual(refusal(text), ['config-duplicate-key', '"a"']);
    assert.deepEqual(refusal('a: { b: 1, b: 2 }\n'), ['config-duplicate-key', 'b']);
    assert.deepEqual(refusal('a:\n  __proto__: { x: 1 }\n'), ['config-forbidden-key', '__proto__']);
  });

  it('refuses aliases that have nothing to stand for', () => {
    assert.deepEqual(refusal('a: *b\n'), ['config-yaml-aliases', '*b']);
    assert.deepEqual(refusal('a: &a [1, *a]\n'), ['config-yaml-aliases', '*a']);
  });

  it('reads an alias bomb in the size of its text, and refuses one that copies', () => {
    const bomb = ['a0: &a0 [x]', ...Array.from({ length: 99 }, (_, i) => `a${i + 1}: &a${i + 1} [*a${i}, *a${i}, *a${i}]`)].join('\n');
    assert.equal(at(bomb, 'a99').value.kind, 'list');
    const many = Array.from({ length: 2000 }, (_, i) => `k${i}: 1`).join(', ');
    const copies = Array.from({ length: 9 }, (_, i) => `m${i}: { <<: *b }`).join('\n');
    assert.deepEqual(refusal(`b: &b { ${many} }\n${copies}\n`), ['config-yaml-aliases', '{']);
    assert.equal(refusal(`b: &b 1\nc: [${'*b,'.repeat(1001)}]\n`)[0], 'config-yaml-aliases');
  });

  it('refuses depth before it recurses, in every style, and too much of anything', () => {
    const lines = Array.from({ length: 2000 }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n');
    for (const text of ['['.repeat(1e5), '{a: '.repeat(1e5), '- '.repeat(1e5), '? '.repeat(1e5), lines.slice(0, 1e6)])
      assert.equal(refusal(text)[0], 'config-too-deep', text.slice(0, 4));
    assert.equal(refusal('['.repeat(1000))[1], '[');
    assert.equal(refusal(`a: ${'1'.repeat(2 ** 20)}`)[0], 'config-too-large');
    assert.equal(refusal('k: [1,'.repeat(3) + ','.repeat(200_000))[0], 'config-too-large');
  });
});

describe('removal of a YAML entry', () => {
  it('takes its lines and nothing of the neighbours', () => {
    const text = 'model: # sizes\n  # the depth\n  layers: 14 # of 61\n\n  # the width\n  hidden: 4\n';
    assert.equal(without(text, 'model.layers'), 'model: # sizes\n  # the depth\n\n  # the width\n  hidden: 4\n');
    assert.equal(without('a: 1\r\nb: 2\r\nc: 3', 'b'), 'a: 1\r\nc: 3');
    assert.equal(without('a: 1\nc: 3', 'c'), 'a: 1\n');
    assert.equal(without('\uFEFFa: 1\nc: 3', 'a'), '\uFEFFc: 3');
  });

  it('takes values of several lines whole', () => {
    assert.equal(without('a:\n  - x\n  - y\n# next\nb: 2\n', 'a'), '# next\nb: 2\n');
    assert.equal(without('a: |\n  x\n  y\nb: 2\n', 'a'), 'b: 2\n');
    assert.equal(without('a:\n  true\n  # kept\nb: 2\n', 'a'), '  # kept\nb: 2\n');
  });

  it('keeps flow mappings well-formed', () => {
    const text = '{\n  "a": 1, # one\n  "b": 2,\n  "c": {"d": 3, "e": 4}\n}\n';
    assert.equal(without(text, 'a'), '{\n  "b": 2,\n  "c": {"d": 3, "e": 4}\n}\n');
    assert.equal(without(text, 'c'), '{\n  "a": 1, # one\n  "b": 2,\n}\n');
    assert.equal(without(text, 'c.d'), '{\n  "a": 1, # one\n  "b": 2,\n  "c": {"e": 4}\n}\n');
    for (const path of ['a', 'b', 'c', 'c.d', 'c.e']) {
      const rest = without(text, path);
      assert.ok(rest !== null);
      assert.equal(entryAt(parseYaml('rest', rest).root, path.split('.')), null);
    }
  });

  it('offers none where the rest would change its meaning', () => {
    assert.equal(without('model:\n  tp: 1\nb: 2\n', 'model.tp'), null);
    assert.equal(without('a: &n 1\nb: *n\n', 'a'), null);
    assert.equal(without('? a\n: 1\nb: 2\n', 'a'), null);
    assert.equal(without('{ a: 1 # one\n  , b: 2 }\n', 'a'), null);
  });
});

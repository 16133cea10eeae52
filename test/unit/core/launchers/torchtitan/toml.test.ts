import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { ExpectedError } from '../../../../../src/core/errors';
import { readTorchTitan } from '../../../../../src/core/launchers/torchtitan/reader';
import { parseToml } from '../../../../../src/core/launchers/torchtitan/toml';

function errorOf(text: string): ExpectedError {
  try {
    parseToml('run.toml', text);
  } catch (error) {
    if (error instanceof ExpectedError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

/** Code and the marked text of what is wrong. */
function marked(text: string): string {
  const { code, place } = errorOf(text);
  assert.ok(place !== undefined && place.range.start < place.range.end && place.range.end <= text.length, code);
  return `${code} ${text.slice(place.range.start, place.range.end)}`;
}

describe('TOML settings', () => {
  it('have a place, and a range that cuts them out', () => {
    const text = '\uFEFF[a.b] # section\n  "c" = [ 1, # one\n    2 ] # both\nd.e = 1979-05-27\n';
    const settings = parseToml('run.toml', text);
    const shown = [...settings.values()].map(({ name, value, described, place: { range }, whole }) => [
      name,
      value,
      described,
      text.slice(range.start, range.end),
      text.slice(whole.start, whole.end),
    ]);
    assert.deepEqual(shown, [
      ['a.b.c', [1, 2], 'a list', '[ 1, # one\n    2 ]', '  "c" = [ 1, # one\n    2 ] # both\n'],
      ['a.b.d.e', undefined, 'a date or time', '1979-05-27', 'd.e = 1979-05-27\n'],
    ]);
  });

  it('leave out lists of tables, keys with dots and paths that are not settings', () => {
    const text = `[[a]]\nb = 1\n["c.d"]\ne = 1\n[f]\n"g.h" = 1\n${'i.'.repeat(20)}j = 1\n`;
    assert.deepEqual([...parseToml('run.toml', text).keys()], []);
  });

  it('show where the syntax is wrong', () => {
    assert.equal(marked('a = 1\nb = True\n'), 'config-toml-syntax True');
    assert.equal(marked('a = 1\nb = \n'), 'config-toml-syntax =');
    assert.equal(marked('a = 1 b = 2'), 'config-toml-syntax b');
    assert.equal(marked('[a]\n[b\nc = 1'), 'config-toml-syntax c');
    assert.equal(marked('a = "x\nb = 1'), 'config-toml-syntax \n');
    assert.equal(marked('seq_len\n[a]\n'), 'config-toml-syntax [');
    assert.equal(marked('a = 012'), 'config-toml-syntax 012');
    assert.equal(marked('[a]\nb = 1\nb = 2'), 'config-duplicate-key b');
    assert.equal(marked('[model]\n[training]\n[model]'), 'config-duplicate-key model');
    assert.equal(marked('a = { b = 1,\n c = 2 }'), 'config-toml-syntax c');
    assert.match(errorOf('a = [1, 2').message, /ends too early/);
  });

  it('refuse what is not a config', () => {
    assert.equal(errorOf(' \n').code, 'config-empty');
    assert.equal(errorOf('a = 1\0').code, 'config-binary');
    assert.equal(errorOf('#'.repeat(6_000_000)).code, 'config-too-large');
  });

  it('refuse forbidden keys wherever they are, and change no prototype', () => {
    for (const text of ['__proto__ = 1', '[__proto__]\na = 1', '[a]\n"__proto__" = 1', 'a = { __proto__ = { b = 1 } }'])
      assert.match(marked(text), /^config-forbidden-key "?__proto__"?$/);
    assert.equal(readTorchTitan('run.toml', 'constructor.prototype.tensor = 4').facts.tensor, undefined);
    assert.equal(({} as Record<string, unknown>)['tensor'], undefined);
  });

  describe('under attack', () => {
    const cases: Readonly<Record<string, readonly [text: string, code: string]>> = {
      'deep lists': [`a = ${'['.repeat(100_000)}`, 'config-too-deep'],
      'deep tables': [`a = ${'{a='.repeat(100_000)}`, 'config-too-deep'],
      'a list of millions': [`a = [${'1,'.repeat(2_000_000)}]`, 'config-too-large'],
      'millions of comments': ['#\n'.repeat(2_000_000), 'config-too-large'],
      'a long dotted key': [`${'a.'.repeat(2_000_000)}a = 1`, 'config-too-large'],
      'a long string': [`a = "${'x'.repeat(4_000_000)}"`, 'config-too-large'],
      'a long literal string': [`a = '''${"'x".repeat(2_000_000)}'''`, 'config-too-large'],
      'a long number': [`a = ${'9'.repeat(4_000_000)}`, 'config-too-large'],
      'an open string': [`a = """${'\\"'.repeat(2_000_000)}`, 'config-too-large'],
    };
    for (const [name, [text, code]] of Object.entries(cases))
      it(`refuses ${name}: ${code}`, () => {
        assert.equal(errorOf(text).code, code);
      });

    it('a file at the limits is read', () => {
      const text = Array.from({ length: 2000 }, (_, index) => `key${index} = "x"`).join('\n');
      assert.equal(parseToml('run.toml', text).size, 2000);
      assert.equal(parseToml('run.toml', `a = ${'['.repeat(100)}${']'.repeat(100)}`).size, 1);
      assert.equal(parseToml('run.toml', `a = "${'x'.repeat(65_000)}"`).size, 1);
    });

    it('a fixture broken anywhere is read or refused at a place', () => {
      const text = readFileSync(path.join(import.meta.dirname, '../../../../fixtures/launchers/torchtitan-2024.toml'), 'utf8');
      for (let cut = 1; cut < text.length; cut += 3)
        for (const broken of [text.slice(0, cut), text.slice(0, cut) + '"[=\n'.charAt(cut % 4) + text.slice(cut + 1)]) {
          try {
            const { facts } = readTorchTitan('run.toml', broken);
            for (const fact of Object.values(facts)) assert.ok('value' in fact);
          } catch (error) {
            assert.ok(error instanceof ExpectedError && error.place !== undefined, String(error));
          }
        }
    });
  });
});

import assert from 'node:assert/strict';
import fc from 'fast-check';
import { parse, type ParseError } from 'jsonc-parser';
import { describe, it } from 'mocha';
import { changeJson, type JsonChange } from '../../../../src/core/terapipe/change-json';

function changed(text: string, ...changes: JsonChange[]): string {
  const replacement = changeJson(text, changes);
  return replacement === null ? text : text.slice(0, replacement.start) + replacement.newText + text.slice(replacement.end);
}

describe('changing a terapipe.json', () => {
  const text = '// why\n{\n  "model": "config.json", // the model\n  "cluster": { "gpu": "H200", "nodes": 2 }\n}\n';

  it('touches only the value and keeps comments', () => {
    assert.equal(changed(text, { path: ['cluster', 'gpu'], value: 'B200' }), text.replace('H200', 'B200'));
    const replacement = changeJson(text, [{ path: ['cluster', 'nodes'], value: 3 }]);
    assert.deepEqual(replacement && text.slice(replacement.start, replacement.end), '2');
  });

  it('sets several values at once', () => {
    const result = changed(text, { path: ['cluster', 'nodes'], value: 48 }, { path: ['cluster', 'gpusPerNode'], value: 8 });
    assert.deepEqual((parse(result) as { cluster: unknown }).cluster, { gpu: 'H200', nodes: 48, gpusPerNode: 8 });
    assert.match(result, /\/\/ why\n[^]*\/\/ the model/);
  });

  it('makes the sections that are missing, and the file when it is empty', () => {
    assert.deepEqual(parse(changed('{}', { path: ['training', 'microBatch'], value: 2 })), { training: { microBatch: 2 } });
    assert.deepEqual(parse(changed('', { path: ['schedule'], value: '1F1B' })), { schedule: '1F1B' });
  });

  it('removes a value, and does nothing where there is none', () => {
    assert.deepEqual(parse(changed('{"schedule": "1F1B", "model": "a"}', { path: ['schedule'], value: undefined })), { model: 'a' });
    assert.equal(changeJson('{}', [{ path: ['slicing', 'unit'], value: undefined }]), null);
  });

  it('replaces a parent that is not an object', () => {
    assert.deepEqual(parse(changed('{"cluster": "x"}', { path: ['cluster', 'gpu'], value: 'H200' })), { cluster: { gpu: 'H200' } });
  });

  it('keeps tabs and line ends', () => {
    assert.equal(
      changed('{\r\n\t"model": "a"\r\n}', { path: ['schedule'], value: 'GPipe' }),
      '{\r\n\t"model": "a",\r\n\t"schedule": "GPipe"\r\n}',
    );
  });

  it('leaves the layout of its neighbours, and a remark with the line it is about', () => {
    assert.equal(
      changed('{\n  "model": "a", // why\n  "slicing": { "unit": 8 } // eight\n  // the end\n}\n', { path: ['schedule'], value: '1F1B' }),
      '{\n  "model": "a", // why\n  "slicing": { "unit": 8 }, // eight\n  "schedule": "1F1B"\n  // the end\n}\n',
    );
    assert.equal(
      changed('{ "cluster": { "gpu": "H200" } }', { path: ['cluster', 'nodes'], value: 2 }),
      '{ "cluster": { "gpu": "H200", "nodes": 2 } }',
    );
    assert.equal(changed('{\n  "a": 1,\n}', { path: ['b'], value: true }), '{\n  "a": 1,\n  "b": true\n}');
  });

  it('gives JSON that holds the values, whatever the file looked like', () => {
    const scalar = fc.oneof(fc.integer(), fc.boolean(), fc.constantFrom('x', '"', '//'));
    const files = fc.record({ a: fc.option(scalar), b: fc.dictionary(fc.constantFrom('c', 'd'), scalar), e: scalar }, { requiredKeys: [] });
    const change = fc.record({ path: fc.constantFrom(['a'], ['b', 'c'], ['b', 'z'], ['f', 'g']), value: scalar });
    const space = fc.constantFrom(undefined, 2, '\t');
    const property = fc.property(files, space, fc.array(change, { maxLength: 4 }), fc.boolean(), (file, indent, changes, remark) => {
      const text = JSON.stringify(file, null, indent).replaceAll(/(?<=,)\n/g, remark ? ' // r\n' : '\n');
      const errors: ParseError[] = [];
      const result = parse(changed(text, ...changes), errors) as Record<string, unknown>;
      assert.deepEqual(errors, []);
      for (const [index, { path, value }] of changes.entries()) {
        if (changes.slice(index + 1).some((later) => later.path[0] === path[0])) continue;
        assert.deepEqual(
          path.reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], result),
          value,
        );
      }
      assert.deepEqual(result['e'], file.e);
    });
    fc.assert(property, { seed: 7, numRuns: 300 });
  });

  it('refuses a broken file', () => {
    for (const broken of ['{ "model": ', '[1]', '{"a" 1}'])
      assert.throws(() => changeJson(broken, [{ path: ['schedule'], value: 'x' }]), /JSON error/);
  });
});

import assert from 'node:assert/strict';
import { recogniseYaml, yamlReaders } from './yaml-readers';
import { entryAt, parseYaml } from '../../../../../src/core/languages/yaml/document';
import { traitFiles } from '../../../../fixtures/traits';

describe('YAML launcher files with the traits of those in public projects', () => {
  for (const format of ['nemo', 'megatron-yaml', 'megatron-bridge'] as const)
    for (const { name: file, text } of traitFiles(format)) {
      it(`are recognised, and read without an error: ${format}/${file}`, () => {
        assert.equal(recogniseYaml(text), format);
        const { remarks } = yamlReaders[format](file, text);
        const errors = remarks.filter(({ severity }) => severity === 'error');
        assert.deepEqual(errors, []);
      });

      it(`locate every fact, and lose no comment with it: ${format}/${file}`, () => {
        const { facts } = yamlReaders[format](file, text);
        const read = Object.values(facts).filter(({ source }) => source.kind === 'file');
        assert.ok(read.length >= 5);
        for (const { name, source, whole } of read) {
          assert.ok(source.kind === 'file' && name !== undefined && whole !== undefined, name);
          const line = text.slice(text.lastIndexOf('\n', source.place.range.start) + 1, source.place.range.end);
          assert.equal(line, `${line.slice(0, line.indexOf(':'))}: ${text.slice(source.place.range.start, source.place.range.end)}`);
          assert.equal(line.slice(0, line.indexOf(':')).trim(), name.split('.').at(-1));
          const rest = text.slice(0, whole.start) + text.slice(whole.end);
          assert.equal(rest.split('\n').length, text.split('\n').length - 1);
          const path = (format === 'megatron-yaml' ? `MODEL_ARGS.${name}` : name).split('.');
          assert.ok(entryAt(parseYaml(file, text).root, path));
          assert.equal(entryAt(parseYaml(file, rest).root, path), null);
        }
      });
    }
});

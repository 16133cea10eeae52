import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import type { LauncherFile } from '../../../src/core/run/facts';
import { unacceptable } from '../../corpus/written-diff';

/** A YAML of which `size: N`, where it is, is the tensor size. */
function yaml(text: string): LauncherFile {
  const start = text.indexOf('size: ') + 'size: '.length;
  const place = { file: 'a.yaml', range: { start, end: start + 1 } };
  const tensor = { value: Number(text[start]), name: 'size', source: { kind: 'file' as const, place, key: 'size' } };
  const facts = text.includes('size: ') ? { tensor } : {};
  return { file: 'a.yaml', text, place, facts, format: 'flagscale', modelFiles: [], remarks: [], placeholders: [] };
}

describe('the check of a written file', () => {
  const before = 'model:\n  layers: 8\n';
  const changes = (added: string): readonly string[] => unacceptable({ before: yaml(before), after: yaml(before + added) });

  it('takes a section with its first setting, in another section too', () => {
    assert.deepEqual(changes('system:\n  size: 2\n'), []);
    assert.deepEqual(changes('a:\n  b:\n    size: 2\n'), []);
  });

  it('finds a section without a changed setting in it', () => {
    assert.deepEqual(changes('system:\n'), ['a line is added: system:']);
    assert.deepEqual(changes('system:\nother:\n  size: 2\n'), ['a line is added: system:']);
    assert.deepEqual(changes('system:\n  other: 1\n'), ['a line is added: system:', 'a line is added: other: 1']);
  });
});

import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { openParts } from '../../../src/cli/parts';

const answer = (value: number): string =>
  `({ "./first.js"(exports, require, module, __dirname) { exports.later = () => require('./later.js').value; exports.value = ${value}; exports.folder = __dirname; exports.os = require('node:os'); } })`;

interface First {
  readonly value: number;
  readonly folder: string;
  readonly later: () => number;
}

describe('code of the terminal', () => {
  let folder = '';
  const before = process.env['XDG_CACHE_HOME'];
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'terapipe-parts-'));
    process.env['XDG_CACHE_HOME'] = path.join(folder, 'cache');
    writeFileSync(path.join(folder, 'terminal.js'), answer(1));
    writeFileSync(path.join(folder, 'terminal-later.js'), '({ "./later.js"(exports) { exports.value = 7; } })');
  });
  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
    if (before === undefined) delete process.env['XDG_CACHE_HOME'];
    else process.env['XDG_CACHE_HOME'] = before;
  });

  /** Loads the code, as a start does, and keeps it. */
  function start(): First {
    const parts = openParts(folder, 'plan');
    const first = parts.load('first') as First;
    parts.keepCode();
    return first;
  }
  const cached = (): string[] => {
    const cache = path.join(folder, 'cache/terapipe');
    return readdirSync(cache).map((name) => path.join(cache, name));
  };

  it('is loaded when it is asked for, with Node.js and its folder', () => {
    rmSync(path.join(folder, 'terminal-later.js'));
    const { value, folder: here, later } = start();
    assert.deepEqual([value, here], [1, folder]);
    assert.throws(later, { code: 'ENOENT' });
  });

  it('is kept at the first start, for its user only, and not written again', () => {
    start();
    const [file = ''] = cached();
    const bytes = readFileSync(file);
    writeFileSync(file, bytes);
    assert.equal(start().value, 1);
    assert.deepEqual(cached(), [file]);
    assert.deepEqual(readFileSync(file), bytes);
  });

  it('is taken from its source where that changed, though the length is the same', () => {
    start();
    writeFileSync(path.join(folder, 'terminal.js'), answer(2));
    assert.equal(start().value, 2);
    assert.equal(start().value, 2);
  });

  it('starts from a cache that is damaged, cut, foreign or not to be written', () => {
    start();
    const [file = ''] = cached();
    const bytes = readFileSync(file);
    const damaged = Buffer.from(bytes);
    damaged.fill(0xff, bytes.length >> 1);
    for (const other of [damaged, bytes.subarray(0, bytes.length >> 1), Buffer.alloc(3), Buffer.alloc(0), Buffer.from('text')]) {
      writeFileSync(file, other);
      assert.equal(start().later(), 7);
      assert.ok(readFileSync(file).length > 100, 'kept again');
    }
    chmodSync(file, 0o666);
    assert.equal(start().value, 1);
    rmSync(path.join(folder, 'cache'), { recursive: true });
    writeFileSync(path.join(folder, 'cache'), 'a file where the folder would be');
    assert.equal(start().value, 1);
  });
});

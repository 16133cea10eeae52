import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'mocha';
import { runCommand } from '../../../src/cli/run-command';
import { expectedTraits, traitsFolder, type Section } from '../../fixtures/traits';

async function inspect(file: string): Promise<Section> {
  let out = '';
  const exitCode = await runCommand(['inspect', path.join(traitsFolder, file), '--json'], {
    out: (text) => void (out += text),
    err: (text) => void (out += text),
    clock: () => 0,
    now: () => '',
    progress: () => undefined,
    status: () => undefined,
    signal: new AbortController().signal,
    profilerFile: '',
    torchFolder: '',
    shell: () => Promise.reject(new Error('no shell here')),
    debug: true,
  });
  assert.equal(exitCode, 0, `${file}: ${out}`);
  return JSON.parse(out) as Section;
}

/** The parts of an answer that are expected, to be compared with what is. */
function partOf(answer: unknown, expected: unknown): unknown {
  if (typeof expected !== 'object' || expected === null || Array.isArray(expected)) return answer ?? null;
  return Object.fromEntries(Object.entries(expected).map(([key, value]) => [key, partOf((answer as Section)[key], value)]));
}

describe('terapipe inspect, on files with the traits of those in public projects', () => {
  it('has an expectation for every file', () => {
    const files = readdirSync(traitsFolder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.parentPath !== traitsFolder)
      .map((entry) => `${path.basename(entry.parentPath)}/${entry.name}`);
    assert.deepEqual(files.sort(), Object.keys(expectedTraits).sort());
    assert.equal(files.length, 34);
  });

  for (const [file, expected] of Object.entries(expectedTraits))
    it(`gives every fact of ${file}`, async () => {
      const answer = await inspect(file);
      assert.deepEqual(partOf(answer, expected), expected);
      const format = path.dirname(file);
      if (format !== 'huggingface') assert.equal(answer['format'], format);
    });
});

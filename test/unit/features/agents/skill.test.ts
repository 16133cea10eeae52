import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parse } from 'yaml';
import { skillAnswer } from '../../../../src/features/agents/cli/skill';
import { tools } from '../../../../src/features/agents/core/registry';

const repository = path.join(import.meta.dirname, '../../../..');
const profilerFile = path.join(repository, 'profiler.js');

describe('the skill for coding agents', () => {
  const skill = readFileSync(path.join(repository, 'skills/terapipe/SKILL.md'), 'utf8');

  it('keeps the limits of its format', () => {
    const [, head = '', body = ''] = /^---\n([\s\S]*?)\n---\n([\s\S]*)$/.exec(skill) ?? [];
    const { name, description, compatibility } = parse(head) as Record<string, string>;
    assert.equal(name, 'terapipe');
    assert.ok((description?.length ?? 0) >= 1 && (description?.length ?? 0) <= 1024, `${description?.length} characters`);
    assert.ok((compatibility?.length ?? 0) <= 500);
    assert.ok(body.split('\n').length < 500);
  });

  it('names every tool, and no other', () => {
    const named = new Set(skill.match(/terapipe_[a-z]+/g));
    assert.deepEqual([...named].sort(), Object.keys(tools).sort());
  });

  it('is printed and written as it is', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'terapipe-skill-'));
    try {
      assert.equal(`${(await skillAnswer(null, { profilerFile })).text}\n`, skill);
      await skillAnswer(folder, { profilerFile });
      assert.equal(readFileSync(path.join(folder, 'terapipe/SKILL.md'), 'utf8'), skill);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

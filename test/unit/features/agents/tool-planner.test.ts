import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { configError } from '../../../../src/core/errors';
import { fileStart } from '../../../../src/core/languages/json/document';
import { sentence } from '../../../../src/core/sentence';
import { usualDefaults } from '../../../../src/features/agents/core/load';
import type { FileContent } from '../../../../src/features/agents/job';
import { makeToolPlanner } from '../../../../src/features/agents/worker/tool-planner';

const texts: Readonly<Record<string, string>> = {
  'terapipe.json': JSON.stringify({ model: 'model/config.json', cluster: { gpu: 'A100-40GB', nodes: 1, gpusPerNode: 4 } }),
  'model/config.json': JSON.stringify({ model_type: 'gpt2', n_layer: 12, n_embd: 256, n_head: 4, n_positions: 256, vocab_size: 1000 }),
};

const ask = makeToolPlanner(() => Promise.reject(new Error('no script is read')));
const asked = (input: unknown, files: FileContent[]) =>
  ask({ name: 'terapipe_inspect', input, defaults: usualDefaults, files }, { signal: { aborted: false } });
const text = (from: string | null, path: string): FileContent => ({
  from,
  path,
  found: { kind: 'text', file: path, text: texts[path] ?? '' },
});

describe('tools that are given the texts of files', () => {
  it('name the files that they need, one after the other, and answer when they have them', async () => {
    const input = { path: 'terapipe.json' };
    const first = { from: null, path: 'terapipe.json' };
    const second = { from: 'terapipe.json', path: 'model/config.json' };
    assert.deepEqual(await asked(input, []), { kind: 'reads', reads: [first] });
    assert.deepEqual(await asked(input, [text(null, 'terapipe.json')]), { kind: 'reads', reads: [second] });
    const last = await asked(input, [text(null, 'terapipe.json'), text('terapipe.json', 'model/config.json')]);
    assert.ok(last.kind === 'answer' && last.answer.isError !== true, JSON.stringify(last));
    assert.match(last.answer.text, /layers 12 \(model\/config\.json:1\)/);
  });

  it('pass on why a file cannot be read', async () => {
    const { code, what, remedy } = configError('config-binary', sentence`It is not text`, sentence`name a config`, fileStart('x'));
    const found: FileContent = { from: null, path: 'x', found: { kind: 'failure', file: 'x', code, what, remedy } };
    const answer = await asked({ path: 'x' }, [found]);
    assert.ok(answer.kind === 'answer' && answer.answer.isError === true);
    assert.match(answer.answer.text, /x:1:1: It is not text; name a config\./);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { loadRun } from '../../../load-run';

describe('a key that terapipe.json does not have', () => {
  const fixesOf = async (text: string): Promise<readonly number[]> => {
    const { remarks = [] } = await loadRun('terapipe.json', text, () => Promise.reject(new Error('it names no other file')));
    return remarks.filter(({ code }) => code === 'unknown-key').flatMap(({ fixes }) => fixes.map(({ edits }) => edits.length));
  };

  it('is removed by a fix that edits, and gets none where nothing would be edited', async () => {
    const sizes = '"layers": 2, "hidden": 64, "heads": 4, "vocab": 128';
    assert.deepEqual(await fixesOf(`{ "model": { ${sizes}, "zzzz": 1 } }`), [1]);
    for (const edits of await fixesOf(`{ "model": { ${sizes} }, // note\n"training": { ".4": 4, "": "" } }`)) assert.ok(edits > 0);
  });
});

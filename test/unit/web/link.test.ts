import assert from 'node:assert/strict';
import { fromFragment, toFragment, type LinkedFiles } from '../../../src/web/link';

describe('a link of the page in a browser', () => {
  it('carries files by path, whatever their characters', async () => {
    const files: LinkedFiles = [
      ['modèles/配置 🚂.json', '{"a": "\ud83d"}'],
      ['config.json', '{}'],
    ];
    assert.deepEqual(await fromFragment(await toFragment(files)), files);
  });

  it('is refused where a path has half of a character, which no URI holds', async () => {
    for (const path of ['\ud800.json', 'a\udc00', '\ud83d/config.json'])
      await assert.rejects(toFragment([[path, '{}']]).then(fromFragment), { code: 'link-unreadable' });
  });
});

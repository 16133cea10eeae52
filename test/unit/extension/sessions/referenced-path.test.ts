import assert from 'node:assert/strict';
import { referencedPath } from '../../../../src/host/sessions/referenced-path';

describe('paths that configs name in the editor', () => {
  const local = { scheme: 'file', authority: '' };
  const share = { scheme: 'file', authority: 'server' };
  const remote = { scheme: 'vscode-remote', authority: 'ssh-remote+gpu' };

  it('are relative or absolute, written for either system', () => {
    assert.deepEqual(referencedPath(local, '..\\models\\config.json'), { relative: '../models/config.json' });
    assert.deepEqual(referencedPath(local, 'C:\\models\\config.json'), { absolute: '/C:/models/config.json' });
    assert.deepEqual(referencedPath(remote, '/models/config.json'), { absolute: '/models/config.json' });
    assert.deepEqual(referencedPath(remote, 'a\\b.json'), { relative: 'a\\b.json' });
    assert.deepEqual(referencedPath(share, 'config.json'), { relative: 'config.json' });
  });

  it('never lead to another machine, and have no NUL', () => {
    const elsewhere = [
      '\\\\evil\\share\\x',
      '//evil/share/x',
      'file://evil/share/x',
      'https://evil/x',
      '\\\\.\\pipe\\x',
      '\\\\evil',
      'a\0b',
    ];
    for (const base of [local, share, remote]) for (const name of elsewhere) assert.equal(referencedPath(base, name), null, name);
  });

  it('may mix slashes on a disk', () => {
    assert.equal(referencedPath(local, '\\/evil/share/x'), null);
    assert.deepEqual(referencedPath(local, 'a/b\\c.json'), { relative: 'a/b/c.json' });
  });

  it('may name the share that the file lies on', () => {
    assert.deepEqual(referencedPath(share, '\\\\Server\\share\\config.json'), { absolute: '/share/config.json' });
    assert.equal(referencedPath({ scheme: 'memfs', authority: 'server' }, '//server/x'), null);
  });
});

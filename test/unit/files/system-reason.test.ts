import assert from 'node:assert/strict';
import { say } from '../../../src/core/sentence';
import { notWritten } from '../../../src/files/system-reason';

function words(code: string): string {
  const error = notWritten('export-not-saved', 'plan.json', Object.assign(new Error(code), { code })) as Error & {
    remedy: Parameters<typeof say>[0];
  };
  return `${error.message}; ${say(error.remedy)}`;
}

describe('a file that could not be written', () => {
  it('has the same words for a folder without permission in VS Code as on this machine', () => {
    assert.equal(words('NoPermissions'), words('EACCES'));
    assert.equal(words('FileNotFound'), words('ENOENT'));
    assert.match(words('EROFS'), /^plan\.json could not be written: its disk is read-only; name another place$/);
    assert.match(words('Unavailable'), /its disk cannot be reached/);
  });
});

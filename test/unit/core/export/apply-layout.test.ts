import assert from 'node:assert/strict';
import { headedFile } from '../../../../src/core/export/apply-layout';
import { sentence } from '../../../../src/core/sentence';

const gaps = [{ what: sentence`context parallel size 2`, reason: sentence`the launcher has no such setting` }];

describe('headedFile', () => {
  it('lists at the top of a file what it cannot express, behind its first line of the shell', () => {
    const line = '# TeraPipe, not written: context parallel size 2: the launcher has no such setting\n';
    assert.equal(headedFile('megatron-shell', '#!/bin/bash\ntrain\n', gaps), `#!/bin/bash\n${line}train\n`);
    assert.equal(headedFile('torchtitan', 'a = 1\n', gaps), `${line}a = 1\n`);
  });

  it('keeps line breaks of Windows and a byte order mark, and has what is missing now in place of what was', () => {
    const line = '# TeraPipe, not written: context parallel size 2: the launcher has no such setting\r\n';
    const written = headedFile('torchtitan', '\uFEFFa = 1\r\n', gaps);
    assert.equal(written, `\uFEFF${line}a = 1\r\n`);
    assert.equal(headedFile('torchtitan', written, gaps), written);
    assert.equal(headedFile('torchtitan', written, []), '\uFEFFa = 1\r\n');
  });

  it('leaves JSON as it is, and a file that expresses everything', () => {
    assert.equal(headedFile('deepspeed', '{}', gaps), '{}');
    assert.equal(headedFile('megatron-shell', 'train\n', []), 'train\n');
  });
});

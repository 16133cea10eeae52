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

  it('takes out only comments that it wrote, of every kind', () => {
    const [gap] = gaps;
    const all = [
      ...gaps,
      { ...gap!, reason: sentence`argument 1 wins`, isWhole: true, isInput: true } as const,
      { ...gap!, reason: sentence`It has no context`, isWhole: true } as const,
    ];
    const own = '# TeraPipe: ours\n# TeraPipe, our notes: keep\ntrain\n';
    const written = headedFile('megatron-shell', own, all);
    assert.match(
      written,
      /^# TeraPipe, not written: .*\n# TeraPipe, input: argument 1 wins\n# TeraPipe, note: It has no context\n# TeraPipe: /,
    );
    assert.equal(headedFile('megatron-shell', written, []), own);
    assert.equal(headedFile('megatron-shell', written, all), written);
  });

  it('leaves JSON as it is, and a file that expresses everything', () => {
    assert.equal(headedFile('deepspeed', '{}', gaps), '{}');
    assert.equal(headedFile('megatron-shell', 'train\n', []), 'train\n');
  });
});

import assert from 'node:assert/strict';
import path from 'node:path';

describe('TypeScript that Node requires', () => {
  it('knows where its file is, and reports errors at the lines of that file', () => {
    assert.equal(path.join(import.meta.dirname, 'typescript.test.ts'), import.meta.filename);
    assert.match(new Error('here').stack ?? '', /typescript\.test\.ts:7:18\)/);
  });

  it('shows the line of an assertion that fails without a message', () => {
    const five = Number('5');
    assert.throws(() => {
      assert.ok(five > 6);
    }, /^AssertionError \[ERR_ASSERTION\]: assert\.ok\(five > 6\);$/m);
  });

  it('is made of functions as they are written, without a call for their names', () => {
    assert.doesNotMatch(
      String((): unknown => [(): number => 1]),
      /__name/,
    );
  });
});

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { allowed, countDialect, dialect, houses, recordedCounts } from './dialect';

describe('words that only this code base uses', () => {
  const [counts, recorded] = [countDialect(), recordedCounts()];

  for (const [what, { instead }] of [...Object.entries(dialect), ...names()])
    it(`become fewer: ${what}`, () => {
      const most = recorded[what];
      assert.ok(most, `${what} is missing in test/unit/dialect-counts.json`);
      for (const house of houses) {
        const [found = 0, limit] = [counts[what]?.[house], most[house]];
        assert.ok(found <= limit, `${house}: ${found} uses, at most ${limit}. Write "${instead}".`);
        assert.ok(found >= limit, `${house}: ${found} uses, ${limit} recorded. Run node --import tsx test/unit/dialect.ts.`);
      }
    });

  it('are found where they are used', () => {
    const text = "it('stands beside it, dealt anew', () => besideAll(sequenceAlone, toldFirst, saidBy)); // is no file, hangs on so many";
    const found = Object.entries(dialect).filter(([, { pattern }]) => text.match(pattern) !== null);
    assert.deepEqual(
      found.map(([word]) => word),
      ['beside', 'dealt', 'said', 'told', 'so many', 'alone', 'stands', 'anew', 'hangs on', 'is no'],
    );
  });

  it('have exceptions only in files that exist', () => {
    assert.deepEqual(
      allowed.filter(({ file }) => !existsSync(join(resolve(import.meta.dirname, '../..'), file))),
      [],
    );
  });
});

function names(): readonly (readonly [what: string, { readonly instead: string }])[] {
  return [
    ['participles as types', { instead: 'the name of what the type holds' }],
    ['names in ...Of', { instead: 'the name of the result' }],
  ];
}

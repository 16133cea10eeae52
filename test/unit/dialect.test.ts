import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { allowed, countDialect, dialect, dialectInDocuments, houses, leftInCleanFolders, recordedCounts } from './dialect';

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

  it('are not in folders that are clean of them', () => {
    assert.deepEqual(leftInCleanFolders(), []);
  });

  it('are in no document', () => {
    assert.deepEqual(dialectInDocuments(), []);
  });

  it('are found where they are used', () => {
    const text =
      "it('stands beside it, dealt anew', () => besideAll(sequenceAlone, toldFirst, saidBy)); // is no file, hangs on so many, says but for " +
      'one of those that heed it, is there for good, comes to two, laid out';
    assert.deepEqual(
      Object.entries(dialect).flatMap(([word, { pattern }]) => (text.match(pattern) === null ? [word] : [])),
      [],
    );
  });

  it('have only exceptions that are used', () => {
    const root = resolve(import.meta.dirname, '../..');
    const unused = allowed.filter(({ file, word }) => {
      const text = readFileSync(join(root, file), 'utf8');
      return !Object.entries(dialect).some(([each, { pattern }]) => (word === '*' || word === each) && text.match(pattern) !== null);
    });
    assert.deepEqual(unused, []);
  });
});

function names(): readonly (readonly [what: string, { readonly instead: string }])[] {
  return [
    ['participles as types', { instead: 'the name of what the type holds' }],
    ['names in ...Of', { instead: 'the name of the result' }],
  ];
}

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { allowed, countNames, dialect, dialectInDocuments, dialectInSources, houses, recordedCounts } from './dialect';

describe('words that only this code base uses', () => {
  it('are in no source', () => {
    assert.deepEqual(dialectInSources(), []);
  });

  it('are in no document', () => {
    assert.deepEqual(dialectInDocuments(), []);
  });

  it('are found where they are used', () => {
    const text =
      "it('stands beside it, dealt anew', () => besideAll(sequenceAlone, toldFirst, saidBy)); // is no file, hangs on so many, says but for " +
      'one of those that heed it, is there for good, comes to two, laid out: what of it is otherwise than planned in earnest';
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

describe('names in ...Of', () => {
  const [counts, recorded] = [countNames(), recordedCounts()];

  it('become fewer', () => {
    for (const house of houses) {
      const [found, limit] = [counts[house], recorded[house]];
      assert.ok(found <= limit, `${house}: ${found} names, at most ${limit}. Write the name of the result.`);
      assert.ok(found >= limit, `${house}: ${found} names, ${limit} recorded. Run node --import tsx test/unit/dialect.ts.`);
    }
  });
});

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, it } from 'mocha';
import { commands } from '../../src/cli/registry';
import { documentsOfOutput, printedBy, shapeOf, shownIn } from '../docs/printed';

const root = resolve(import.meta.dirname, '../..');

describe('documents of output (npm run docs -- --write writes their examples)', () => {
  const examples = documentsOfOutput.flatMap((file) =>
    shownIn(readFileSync(join(root, file), 'utf8')).map((example) => ({ file, ...example })),
  );

  it('show the JSON of every command', () => {
    const shown = new Set(examples.filter(({ args }) => args.includes('--json')).map(({ args }) => args[0]));
    // Two measure this machine, one speaks a protocol, and one writes a text.
    const others = ['profile', 'rehearse', 'mcp', 'skill'];
    const expected = Object.keys(commands).filter((name) => !others.includes(name));
    assert.deepEqual([...shown].sort(), expected.sort());
  });

  for (const { file, args, output } of examples)
    it(`${file}: terapipe ${args.join(' ')}`, async () => {
      const printed = await printedBy(args);
      if (args.includes('--json')) assert.deepEqual(shapeOf(JSON.parse(output)), shapeOf(JSON.parse(printed)));
      else assert.equal(output, printed);
    });
});

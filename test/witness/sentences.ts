// node --import tsx test/witness/sentences.ts [COUNT] [SEED]: sentences of the product, drawn from all that people read in the editor, on
// pages and in findings, to be judged one by one by who writes for them. The same seed draws the same ones from the same source.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';
import { randomNumbers } from '../../src/core/numbers';
import { uiSentences } from '../unit/ui-sentences';

const root = path.resolve(import.meta.dirname, '../..');
const leastWords = 4;

const all = ['src', 'webview'].flatMap((folder) =>
  readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .toSorted()
    .flatMap((name) =>
      uiSentences(readFileSync(path.join(root, folder, name), 'utf8')).map((text) => ({ file: `${folder}/${name}`, text })),
    )
    .filter(({ text }) => text.split(' ').length >= leastWords),
);
const [count = 15, seed = 1] = process.argv.slice(2).map(Number);
const random = randomNumbers(seed);
for (let drawn = 0; drawn < count && all.length > 0; drawn += 1) {
  const [picked] = all.splice(Math.floor(random() * all.length), 1);
  console.log(`${picked?.file}: ${picked?.text}`);
}

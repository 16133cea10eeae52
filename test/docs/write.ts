// Compares the generated documents with what they should be; `npm run docs -- --write` writes them.
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { generatedDocuments } from './generated';
import { unpadded } from './markdown';

const root = resolve(import.meta.dirname, '../..');

async function main(): Promise<void> {
  for (const { file, text } of generatedDocuments) {
    const target = join(root, file);
    const wanted = text();
    if (unpadded(readFileSync(target, 'utf8')) === unpadded(wanted)) continue;
    if (process.argv.includes('--write'))
      writeFileSync(target, await format(wanted, { ...(await resolveConfig(target)), parser: 'markdown' }));
    else process.exitCode = 1;
    console.log(`${process.argv.includes('--write') ? 'wrote' : 'differs:'} ${file}`);
  }
}

void main();

// Compares what is generated with what it should be; `npm run docs -- --write` writes them.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { format, resolveConfig } from 'prettier';
import { digitsPictures, readDigits, withDigits } from './digits';
import { generatedDocuments } from './generated';
import { generatedJson } from './generated-json';
import { unpadded } from './markdown';
import { documentsOfOutput, withOutputs } from './printed';

const root = resolve(import.meta.dirname, '../..');

async function main(): Promise<void> {
  // First: the documents are made from these.
  for (const { file, text } of generatedJson) await settle(file, text(), (written) => JSON.stringify(JSON.parse(written)));
  for (const { file, text } of generatedDocuments) await settle(file, text(), (written) => unpadded(written));
  for (const file of documentsOfOutput) await settle(file, await withOutputs(readFileSync(join(root, file), 'utf8')), (written) => written);
  const digits = readDigits();
  await settle('docs/elastic.md', withDigits(readFileSync(join(root, 'docs/elastic.md'), 'utf8'), digits), unpadded);
  for (const { name, text } of digitsPictures(digits)) settleExactly(`docs/elastic/${name}`, text);
}

/** Writes a file where it differs, or reports it. */
async function settle(file: string, wanted: string, plain: (text: string) => string): Promise<void> {
  const target = join(root, file);
  settleExactly(file, await format(wanted, { ...(await resolveConfig(target)), filepath: target }), plain);
}

/** The same for a file that no formatter knows. */
function settleExactly(file: string, formatted: string, plain = (text: string): string => text): void {
  const target = join(root, file);
  if (existsSync(target) && plain(readFileSync(target, 'utf8')) === plain(formatted)) return;
  if (process.argv.includes('--write')) writeFileSync(target, formatted);
  else process.exitCode = 1;
  console.log(`${process.argv.includes('--write') ? 'wrote' : 'differs:'} ${file}`);
}

void main();

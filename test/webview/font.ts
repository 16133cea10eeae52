import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const file = path.join(path.dirname(fileURLToPath(import.meta.url)), 'font/inter-latin.woff2');

/** A font that tests bring along (Inter, SIL Open Font License: `font/LICENSE`), so that texts are as wide on every machine. */
export const vendoredFont = {
  family: 'Inter of the tests',
  file,
  sha256: createHash('sha256').update(readFileSync(file)).digest('hex'),
} as const;

/** Declares the font where the page's style sheet is served. */
export const fontFace = `@font-face { font-family: '${vendoredFont.family}'; src: url('/font.woff2') format('woff2'); font-weight: 100 900; }`;

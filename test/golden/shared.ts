import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(__dirname, '..', '..', '..', 'shared', 'golden');

/** Parsed reference numbers, or null where the project stands alone. */
export function golden(name: string): unknown {
  const file = join(root, `${name}.json`);
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : null;
}

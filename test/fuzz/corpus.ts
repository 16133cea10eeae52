import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';

/** A config with its name, from its folder on. */
export interface Fixture {
  readonly file: string;
  readonly text: string;
}

const folder = path.resolve(import.meta.dirname, '../fixtures');

/** Every launcher's file and config of our own, of all formats, in the order of their names. */
export function readCorpus(): readonly Fixture[] {
  return ['launchers', 'configs']
    .flatMap((room) => readdirSync(path.join(folder, room), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
    .sort()
    .map((file) => ({ file: path.relative(folder, file).split(path.sep).join('/'), text: readFileSync(file, 'utf8') }));
}

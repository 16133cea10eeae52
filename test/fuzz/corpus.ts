import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { profileText } from '../../src/core/measured-profile/file';
import { profileWith } from '../unit/core/measured-profile/profiles';

/** A config with its name, from its folder on. */
export interface Fixture {
  readonly file: string;
  readonly text: string;
}

const test = path.resolve(import.meta.dirname, '..');
const folders = [
  'fixtures/launchers',
  'fixtures/configs',
  'fixtures/traits',
  'fixtures/schedules',
  'fixtures/measured',
  'fixtures/problems',
  '../media/samples',
];

/**
 * Every file of our own that something here reads, of all formats, in the order of their names: configs, launchers' files, schedules,
 * measured runs, a profile.
 */
export function readCorpus(): readonly Fixture[] {
  const files = folders
    .flatMap((folder) => readdirSync(path.join(test, folder), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && entry.name !== 'README.md')
    .map((entry) => path.join(entry.parentPath, entry.name))
    .sort()
    .map((file) => ({ file: path.relative(test, file).split(path.sep).join('/'), text: readFileSync(file, 'utf8') }));
  return [
    ...files,
    { file: 'profile.json', text: profileText(profileWith()) },
    { file: 'lengths.jsonl', text: '{"tokens": 128, "count": 3}\n{"prompt_tokens": 7}\n64\n' },
    { file: 'lengths.json', text: '{"128": 3, "7": 1}' },
  ];
}

/** Whether a fixture is a config or a launcher's file: others are read by readers of their own. */
export function isConfig({ file }: Fixture): boolean {
  return !/schedules\/|measured\/|problems\/|profile\.json$|lengths\./.test(file);
}

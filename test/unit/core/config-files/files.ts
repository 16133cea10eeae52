import { readFileSync } from 'node:fs';
import path from 'node:path';
import { ExpectedError, configError } from '../../../../src/core/errors';
import { loadRun } from '../../../load-run';
import type { ReadReferenced, Run } from '../../../../src/core/run/run';
import { sentence } from '../../../../src/core/sentence';

export const fixtures = path.join(import.meta.dirname, '../../../fixtures/configs');

/** A `ReadReferenced` over files held in memory, named by plain names without folders. */
export function readerOf(files: Readonly<Record<string, string>>): ReadReferenced {
  return (_from, name) => {
    const text = files[name];
    return text === undefined
      ? Promise.reject(configError('config-not-found', sentence`${name} does not exist`, sentence`create it`))
      : Promise.resolve({ file: name, text });
  };
}

/** Loads one of several files held in memory. */
export async function load(files: Readonly<Record<string, string>>, name = Object.keys(files)[0] ?? ''): Promise<Run> {
  return loadRun(name, files[name] ?? '', readerOf(files));
}

/** Loads a terapipe.json written as an object. */
export async function loadObject(config: object): Promise<Run> {
  return load({ 'terapipe.json': JSON.stringify(config, null, 2) });
}

/** Loads a fixture from disk, its references too. */
export async function loadFixture(name: string): Promise<Run> {
  const file = path.join(fixtures, name);
  return loadRun(file, readFileSync(file, 'utf8'), (from, named) => {
    const target = path.resolve(path.dirname(from), named);
    return Promise.resolve({ file: target, text: readFileSync(target, 'utf8') });
  });
}

/** The expected error that a promise ends in. */
export async function errorOf(promise: Promise<unknown>): Promise<ExpectedError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof ExpectedError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

/** The text that an error points at. */
export function pointedAt(error: ExpectedError, text: string): string {
  return text.slice(error.place?.range.start, error.place?.range.end);
}

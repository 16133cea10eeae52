import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { ExpectedError } from '../core/errors';
import { maximumProfileBytes, parseProfile, profileFileName, profileText } from '../core/measured-profile/file';
import type { NamedProfile, Profile } from '../core/domain/profile';
import { readRegular } from '../files/read-regular';
import { notWritten, systemCode } from '../files/system-reason';
import { tryWriting, writeWhole } from '../files/write-whole';
import { sentence } from '../core/sentence';
import { profileNames } from './folder';

/** The profiles of a folder, by name, and what could not be read of it. A folder that is missing has none. Never rejects. */
export async function readProfiles(
  folder: string,
): Promise<{ readonly found: readonly NamedProfile[]; readonly broken: readonly ExpectedError[] }> {
  const found: NamedProfile[] = [];
  const broken: ExpectedError[] = [];
  for (const name of await profileNames(folder)) {
    try {
      found.push(await readProfile(path.join(folder, name)));
    } catch (error) {
      if (!(error instanceof ExpectedError)) throw error;
      broken.push(error);
    }
  }
  return { found, broken };
}

/**
 * Reads one profile.
 * @throws ExpectedError `profile-unreadable`, or as `parseProfile`; placed in the file.
 */
export async function readProfile(file: string): Promise<NamedProfile> {
  return { file, profile: parseProfile(await readText(file), file) };
}

async function readText(file: string): Promise<string> {
  const unreadable = (what: string): ExpectedError =>
    new ExpectedError(
      'profile-unreadable',
      sentence`${path.basename(file)} ${what}`,
      sentence`name a profile that terapipe profile wrote`,
      {
        file,
        range: { start: 0, end: 0 },
      },
    );
  try {
    const stored = await readRegular(file, maximumProfileBytes);
    if (stored.kind === 'file') return new TextDecoder().decode(stored.bytes);
    throw unreadable(stored.kind === 'too large' ? 'is too large for a profile' : 'is not a regular file');
  } catch (error) {
    if (error instanceof ExpectedError) throw error;
    const code = systemCode(error);
    if (code === null) throw error;
    throw unreadable(`cannot be read (${code})`);
  }
}

/**
 * Checks that a profile can be written, before time is spent on measuring it.
 * @throws ExpectedError as `writeProfile`.
 */
export async function requireWritable(target: string): Promise<void> {
  const folder = isFile(target) ? path.dirname(target) : target;
  if (isFile(target)) await readProfileStatus(target);
  try {
    await mkdir(folder, { recursive: true });
    await tryWriting(folder);
  } catch (error) {
    throw notWritten('profile-not-saved', target, error);
  }
}

/**
 * Writes a profile, as `writeWhole`. A profile that was stopped early never replaces a complete one: it is written next to it, its name
 * ending in `-partial`. Nothing but a profile is ever replaced.
 *
 * @param target a path that ends in `.json` is the file; anything else the folder, in which the profile gets a name by its content.
 * @returns the file's path.
 * @throws ExpectedError `profile-not-saved`, with the system's reason.
 */
export async function writeProfile(target: string, profile: Profile): Promise<string> {
  const named = isFile(target) ? target : path.join(target, profileFileName(profile));
  const keeps = profile.status === 'partial' && (await readProfileStatus(named)) === 'complete';
  const file = keeps ? named.replace(/\.json$/, '-partial.json') : named;
  try {
    await readProfileStatus(file);
    await mkdir(path.dirname(file), { recursive: true });
    await writeWhole(file, profileText(profile), { replace: true });
    return file;
  } catch (error) {
    throw notWritten('profile-not-saved', file, error);
  }
}

function isFile(target: string): boolean {
  return target.endsWith('.json');
}

/**
 * Status of the profile that a file holds; null when there is none.
 * @throws ExpectedError `profile-not-saved` when there is something else under that name.
 */
async function readProfileStatus(file: string): Promise<Profile['status'] | null> {
  if (!existsSync(file)) return null;
  try {
    return (await readProfile(file)).profile.status;
  } catch (error) {
    if (!(error instanceof ExpectedError)) throw error;
    // A profile of a newer version, or a damaged one, is still a profile.
    if (error.code !== 'profile-unreadable' && (await readText(file)).includes('terapipe-profile')) return 'partial';
    throw new ExpectedError('profile-not-saved', sentence`${file} exists and is not a profile`, sentence`name another file with --out`);
  }
}

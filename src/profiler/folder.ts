import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import path from 'node:path';

/** Most folders to search for a `.terapipe`, from the config upwards. */
const highestAncestor = 32;
/** Most profiles to read from one folder, the first by name. */
const maximumProfiles = 200;

/**
 * Where the profiles of a config lie: `.terapipe/profiles` in the nearest folder upwards that has a `.terapipe`, else in the one that holds
 * the repository (`.git`), else next to the config. Nothing is created.
 *
 * @param configFile path of the config, or of a file in the current folder for standard input.
 * @param root the search ends here: nothing above it is looked at.
 */
export function profilesFolder(configFile: string, root?: string): string {
  const own = path.dirname(path.resolve(configFile));
  const ancestors: string[] = [];
  for (let folder = own; ancestors.length < highestAncestor; folder = path.dirname(folder)) {
    ancestors.push(folder);
    if (path.dirname(folder) === folder || folder === root) break;
  }
  const has = (name: string) => ancestors.find((folder) => existsSync(path.join(folder, name)));
  return path.join(has('.terapipe') ?? has('.git') ?? own, '.terapipe', 'profiles');
}

/** Files that may be profiles of a folder, by name; none where it is missing. Never rejects. */
export async function profileNames(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => []);
  return names
    .filter((entry) => entry.endsWith('.json'))
    .sort()
    .slice(0, maximumProfiles);
}

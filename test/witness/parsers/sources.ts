import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

interface Source {
  readonly version: string;
  readonly folder: string;
}

/**
 * The sources of a launcher: `GIT_DIR@REVISION,...` unpacked until the process exits, one folder each, or `FOLDER,...` as they are.
 * @param packages the folders of a clone that its parser needs.
 */
export function unpackSources(given: string, packages: readonly string[]): readonly Source[] {
  const [place = '', revisions] = given.split('@');
  if (place === '') return [];
  if (revisions === undefined) return place.split(',').map((folder) => ({ version: path.basename(folder), folder }));
  return revisions.split(',').map((version) => {
    const folder = mkdtempSync(path.join(tmpdir(), 'terapipe-sources-'));
    process.once('exit', () => rmSync(folder, { recursive: true }));
    const { status, stderr } = spawnSync(
      'bash',
      ['-c', 'set -o pipefail; git --git-dir="$0" archive "$1" -- "${@:3}" | tar x -C "$2"', place, version, folder, ...packages],
      { encoding: 'utf8' },
    );
    if (status !== 0) throw new Error(`${version} of ${place} cannot be unpacked: ${stderr}`);
    return { version, folder };
  });
}

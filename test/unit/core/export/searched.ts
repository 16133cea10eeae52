import { configError } from '../../../../src/core/errors';
import { editableFile, type EditableFile } from '../../../../src/core/export/launchers/edit-launcher';
import type { Run } from '../../../../src/core/run/run';
import { isLauncher } from '../../../../src/core/launchers/registry';
import { loadConfig } from '../../../../src/core/config-files/load-config';
import { resolveRun } from '../../../../src/core/plan-request/resolve';
import { answerSearch } from '../../../../src/core/layout-search/answer';
import { freeNames } from '../../../../src/core/domain/layout-choices';
import { toSearchProblem } from '../../../../src/core/layout-search/problem';
import type { SearchResult } from '../../../../src/core/layout-search/result';
import { shellReader } from '../launchers/shell/shell-reader';
import { sentence } from '../../../../src/core/sentence';

/** A config, read, with what a search of its layouts answers: all that a launcher's file fixes is let go of. */
export interface Searched {
  readonly run: Run;
  readonly editable: EditableFile | null;
  readonly result: SearchResult;
}

/** Searches take long, and the same one answers several tests. */
const known = new Map<string, Promise<Searched>>();

export function searched(name: string, text: string, others: Readonly<Record<string, string>> = {}): Promise<Searched> {
  const key = JSON.stringify([name, text, others]);
  const answer = known.get(key) ?? search(name, text, others);
  known.set(key, answer);
  return answer;
}

async function search(name: string, text: string, others: Readonly<Record<string, string>>): Promise<Searched> {
  const file = `file:///w/${name}`;
  const shell = () => shellReader();
  const { run, launcher, reread, noRun } = await loadConfig(file, text, {
    shell,
    read: (from, path) => {
      const other = others[path];
      const missing = configError('config-not-found', sentence`There is no such file`, sentence`fix the path`, {
        file: from,
        range: { start: 0, end: 0 },
      });
      return other === undefined ? Promise.reject(missing) : Promise.resolve({ file: new URL(path, from).href, text: other });
    },
  });
  if (run === null) throw noRun ?? new Error('no run');
  const request = resolveRun(run, { gpu: 'H100-80GB', nodes: null, gpusPerNode: null });
  const free = isLauncher(run.format) ? freeNames.all : [];
  const result = answerSearch(toSearchProblem(run, request, free), { improvements: false });
  return { run, editable: launcher === null || reread === null ? null : await editableFile(launcher, reread), result };
}

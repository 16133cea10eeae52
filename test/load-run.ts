import type { LauncherReader } from '../src/core/run/facts';
import type { ReadReferenced, Run } from '../src/core/run/run';
import { loadConfig } from '../src/core/config-files/load-config';

const noShell = (): Promise<LauncherReader> => Promise.reject(new Error('no shell script here'));

/** The run of a model config or a terapipe.json. @throws what it cannot be planned for. */
export async function loadRun(
  file: string,
  text: string,
  read: ReadReferenced,
  options?: { readonly withProfile?: boolean },
): Promise<Run> {
  const { run, noRun } = await loadConfig(file, text, { read, shell: noShell }, options);
  if (run === null) throw noRun ?? new Error(`${file} has neither a run nor a reason`);
  return run;
}

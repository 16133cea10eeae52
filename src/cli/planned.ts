import type { Finding } from '../core/findings';
import { planRun, requireRun, type Planned } from '../core/export/planned-config';
import type { LoadedConfig } from '../core/config-files/load-config';
import type { ResolveDefaults } from '../core/plan-request/scenario';
import { profilesFolder } from '../profiler/folder';
import { readProfiles } from '../profiler/store';

/** Plans a run, with a profile that lies near its config if one matches. @throws ExpectedError as `planRun`. */
export async function planNearby(
  config: LoadedConfig,
  defaults: ResolveDefaults,
  progress: (line: string) => void,
  isCompared = true,
): Promise<Planned> {
  const { found } = await readProfiles(profilesFolder(requireRun(config).file));
  return planRun(config, defaults, { found, progress, isCompared });
}

/** 1 when something of severity error was found or the plan does not fit. */
export function exitCodeFor(findings: readonly { readonly severity: Finding['severity'] }[], fits = true): 0 | 1 {
  return fits && findings.every(({ severity }) => severity !== 'error') ? 0 : 1;
}

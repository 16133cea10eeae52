import { launcherFormats, launchers } from '../../launchers/registry';
import type { ConfigFormat } from '../../run/config-format';

/**
 * Launchers of which new files are written, as they are offered: the most common first, which come last in the registry. `edits` are the
 * formats whose files are edited instead.
 */
export const newFileLaunchers = launcherFormats.toReversed().flatMap((format) => {
  const { exported } = launchers[format];
  return exported === undefined ? [] : [{ format, ...exported, edits: [format, ...(exported.into ?? [])] as readonly ConfigFormat[] }];
});

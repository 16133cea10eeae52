import { settingKey, settingNamed, settingsByName, type SettingName } from '../domain/settings/table';
import { own } from '../records';
import { closest } from '../suggest';
import { currentKey } from './renamed-keys';

/** Names of settings in the field by our keys. */
const fieldNames = (Object.keys(settingsByName) as SettingName[]).map(
  (name) => [settingKey(name), settingNamed(name).fieldNames ?? []] as const,
);

/** What people write that is not one setting of ours, and the settings that it may mean. */
const severalMeanings: Readonly<Record<string, readonly string[]>> = {
  batch: ['training.globalBatch', 'training.microBatch'],
  batchsize: ['training.globalBatch', 'training.microBatch'],
  gpus: ['cluster.nodes', 'cluster.gpusPerNode'],
  numgpus: ['cluster.nodes', 'cluster.gpusPerNode'],
  worldsize: ['cluster.nodes', 'cluster.gpusPerNode'],
};

/** What a key of a setting was found to be. */
type FoundKey =
  | { readonly key: string }
  /** No such key, and those that may be meant, best first. */
  | { readonly meant: readonly string[] };

/**
 * The key of terapipe.json that a name stands for: itself, an old name, a name of the field (`layout.tp`, `tp`, `TP`,
 * `tensor_model_parallel_size`) or the last part of one (`globalBatch`). A name in another section than its own is not taken.
 * @param keys every key that can be set.
 */
export function findKey(written: string, keys: readonly string[]): FoundKey {
  const current = currentKey(written);
  if (keys.includes(current)) return { key: current };
  const at = current.lastIndexOf('.');
  const [section, name] = [current.slice(0, Math.max(at, 0)).toLowerCase(), plain(current.slice(at + 1))];
  const named = keysNamed(name);
  const same = named.length > 0 ? named : keys.filter((key) => plain(lastName(key)) === name);
  const [only] = same;
  if (only !== undefined && same.length === 1 && (section === '' || keySection(only).toLowerCase() === section)) return { key: only };
  if (same.length > 0) return { meant: same };
  const several = own(severalMeanings, name)?.filter((key) => keys.includes(key)) ?? [];
  if (several.length > 0) return { meant: several };
  const nearKey = closest(current, keys);
  const nearLeaf = closest(name, keys.map(lastName));
  const nearName = closest(
    name,
    fieldNames.flatMap(([, names]) => names),
  );
  const near = nearLeaf !== null ? keys.filter((key) => lastName(key) === nearLeaf) : keysNamed(nearName);
  return { meant: nearKey !== null ? [nearKey] : near };
}

/** Keys that have a name of the field. */
function keysNamed(name: string | null): readonly string[] {
  return name === null ? [] : fieldNames.flatMap(([key, names]) => (names.includes(name) ? [key] : []));
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[-_\s]/g, '');
}

function lastName(key: string): string {
  return key.slice(key.lastIndexOf('.') + 1);
}

function keySection(key: string): string {
  return key.slice(0, Math.max(key.lastIndexOf('.'), 0));
}

import type { Finding } from '../findings';
import { quoted } from '../text';
import { configError } from '../errors';
import { nodePlace, type JsonDocument, type Member } from '../languages/json/document';
import { sentence } from '../sentence';
import { own } from '../records';

/** Old names of keys and the names that they have now, dotted from the root of a terapipe.json. Old names stay readable. */
const renamedKeys: Readonly<Record<string, string>> = {
  'training.contextExchange': 'training.contextParallelComm',
  'training.overlapGradients': 'training.overlapGradReduce',
  'training.overlapParameters': 'training.overlapParamGather',
  'training.offloadLayers': 'training.activationOffloadLayers',
  'training.fp32Gradients': 'training.gradAccumulationFp32',
  'layout.stageGroups': 'layout.stageNodeGroups',
  'cluster.links.nodeBusGBps': 'cluster.links.intraNodeBusGBps',
};

const leaf = (key: string): string => key.slice(key.lastIndexOf('.') + 1);
const oldLeaves: readonly (readonly [old: string, now: string])[] = Object.entries(renamedKeys).map(([old, now]) => [leaf(old), leaf(now)]);

/** A dotted key under its name of today, as `training.activationOffloadLayers` for `training.offloadLayers`. */
export function currentKey(key: string): string {
  const old = Object.keys(renamedKeys).find((each) => key === each || key.startsWith(`${each}.`));
  return old === undefined ? key : `${own(renamedKeys, old) ?? old}${key.slice(old.length)}`;
}

/** A dotted key under its old name; null for keys that have none. */
export function oldKey(key: string): string | null {
  const found = Object.entries(renamedKeys).find(([, now]) => key === now || key.startsWith(`${now}.`));
  return found === undefined ? null : `${found[0]}${key.slice(found[1].length)}`;
}

/** The last part of a key under its name of today, as `activationOffloadLayers` for `offloadLayers`. */
export function currentName(name: string): string {
  return oldLeaves.find(([old]) => old === name)?.[1] ?? name;
}

/**
 * The members of an object, with old names replaced by current ones. One remark for each file reports the old names; its fix renames them
 * all.
 * @param path of the object; entries of lists as in `groups[0]`.
 * @throws ExpectedError `config-duplicate-key` where both names are given.
 */
export function withCurrentKeys(
  document: JsonDocument,
  members: ReadonlyMap<string, Member>,
  path: readonly string[],
  remarks: Finding[],
): ReadonlyMap<string, Member> {
  const section = path.filter((step) => !step.includes('[')).join('.');
  const renamed = new Map<string, Member>();
  for (const [name, member] of members) {
    const key = section === '' ? name : `${section}.${name}`;
    const now = leaf(own(renamedKeys, key) ?? name);
    if (renamed.has(now) || (now !== name && members.has(now)))
      throw configError(
        'config-duplicate-key',
        sentence`${quoted(name)} is the old name of ${quoted(now)}, and both are given`,
        sentence`remove ${quoted(name)}`,
        nodePlace(document, member.key),
      );
    if (now !== name) remarkOn(document, member, now, remarks);
    renamed.set(now, { ...member, name: now });
  }
  return renamed;
}

/**
 * @finding renamed-key
 * Keys of a terapipe.json that were renamed: `training.contextExchange` is now `contextParallelComm`, `overlapGradients` is
 * `overlapGradReduce`, `overlapParameters` is `overlapParamGather`, `offloadLayers` is `activationOffloadLayers`, `fp32Gradients` is
 * `gradAccumulationFp32`; `layout.stageGroups` is `stageNodeGroups`; `cluster.links.nodeBusGBps` is `intraNodeBusGBps`. The old names still
 * work, in files and with `--set`; a file that gives both is an error. One information for each file; the quick fix renames them all.
 * @example a terapipe.json with the keys of an earlier version. "Keys have new names, and the old ones still work: ..."
 * @source [docs/configuration.md](configuration.md).
 * @ignore an older TeraPipe reads the same file.
 */
function remarkOn(document: JsonDocument, { name, key }: Member, now: string, remarks: Finding[]): void {
  const place = nodePlace(document, key);
  const index = remarks.findIndex((remark) => remark.code === 'renamed-key' && remark.place.file === place.file);
  const earlier = remarks[index];
  const names = sentence`${quoted(name)} is ${quoted(now)} now`;
  const edits = [...(earlier?.fixes[0]?.edits ?? []), { place, newText: JSON.stringify(now) }];
  const finding: Finding = {
    code: 'renamed-key',
    severity: 'information',
    place: earlier?.place ?? place,
    message:
      earlier === undefined ? sentence`Keys have new names, and the old ones still work: ${names}` : sentence`${earlier.message}; ${names}`,
    remedy: sentence`rename them`,
    fixes: [{ title: sentence`Rename to the new keys`, edits, preferred: true }],
  };
  if (index < 0) remarks.push(finding);
  else remarks[index] = finding;
}

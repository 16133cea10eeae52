import { modify } from 'jsonc-parser';
import type { Finding, Fix } from '../findings';
import { quoted } from '../text';
import { nodePlace, type JsonDocument, type Member } from '../languages/json/document';
import { closest } from '../suggest';
import { sentence } from '../sentence';

/**
 * A key that the reader does not know, with the known one it probably means.
 *
 * @finding unknown-key
 * A key that the file may not have, close to one it may. It is ignored, so a default was taken for what it means. Rename or remove it; the
 * quick fix does.
 * @example `"trainning": {}` in a terapipe.json. ""trainning" is not a key of the config and is ignored"
 * @source The reader of `terapipe.json`: [docs/configuration.md](configuration.md) lists its keys.
 * @ignore the key is for a program of your own.
 */
export function unknownKey(
  document: JsonDocument,
  member: Member,
  parents: readonly string[],
  present: ReadonlySet<string>,
  known: readonly string[],
): Finding {
  const place = nodePlace(document, member.key);
  const meant = closest(
    member.name,
    known.filter((key) => !present.has(key)),
  );
  const rename: Fix[] =
    meant === null ? [] : [{ title: sentence`Rename to "${meant}"`, preferred: true, edits: [{ place, newText: JSON.stringify(meant) }] }];
  // a key without a name is not found again by its path
  const edits = removal(document, [...parents, member.name]);
  const remove: Fix[] = edits.length === 0 ? [] : [{ title: sentence`Remove ${quoted(member.name)}`, preferred: false, edits }];
  const where = parents.length === 0 ? 'terapipe.json' : parents.join('.');
  return {
    code: 'unknown-key',
    severity: 'warning',
    place,
    message: sentence`${quoted(member.name)} is not a key of ${where} and is ignored`,
    remedy: meant === null ? sentence`remove it; known keys are ${known.join(', ')}` : sentence`did you mean "${meant}"?`,
    fixes: [...rename, ...remove],
  };
}

/** Entries of lists are named as in `groups[0]`. */
function removal(document: JsonDocument, path: readonly string[]): Fix['edits'] {
  const steps = path.flatMap((step) => {
    const [, list, index] = /^(.+)\[(\d+)\]$/.exec(step) ?? [];
    return list === undefined ? [step] : [list, Number(index)];
  });
  return modify(document.text, steps, undefined, {}).map(({ offset, length, content }) => ({
    place: { file: document.file, range: { start: offset, end: offset + length } },
    newText: content,
  }));
}

import type { Fact } from '../run/facts';
import type { Fix, TextEdit } from '../findings';
import { allOf, sentence, type Sentence, upperFirst } from '../sentence';
import { rewritten } from '../languages/text-edits';
import { quoted } from '../text';
import type { Change, Setting } from './rule';
import type { ViewFacts } from './view';

/** The text of a file by its name; undefined: not at hand, so nothing in it is edited. */
export type TextOf = (file: string) => string | undefined;

/**
 * The quick fixes for changes that can be made in the files, best first. A change that cannot be written completely is left out,
 * and so is one that removes the last setting: nothing would be left to recognise the launcher by.
 */
export function fixesFor(facts: ViewFacts, changes: readonly Change[], textByFile: TextOf): Fix[] {
  const given = Object.values(facts).filter((fact) => fact.source.kind === 'file').length;
  const possible = changes.flatMap((change) => {
    if (change.filter(({ value }) => value === undefined).length >= given) return [];
    const edits = change.map((setting) => editFor(facts, setting, textByFile));
    return edits.every((edit) => edit !== null) ? [{ title: changeTitle(facts, change), edits }] : [];
  });
  return possible.map((fix, index) => ({ ...fix, preferred: index === 0 }));
}

function editFor(facts: ViewFacts, { name, value }: Setting, textByFile: TextOf): TextEdit | null {
  const fact: Fact<unknown> | undefined = facts[name];
  if (fact?.source.kind !== 'file') return null;
  const { place } = fact.source;
  if (value === undefined) return fact.whole === undefined ? null : { place: { ...place, range: fact.whole }, newText: '' };
  const written = textByFile(place.file)?.slice(place.range.start, place.range.end);
  const newText = written === undefined ? null : rewritten(written, fact.value, value);
  return newText === null ? null : { place, newText };
}

function changeTitle(facts: ViewFacts, change: Change): Sentence {
  const removed = change.filter(({ value }) => value === undefined).map((setting) => nameInFile(facts, setting));
  const set = change
    .filter(({ value }) => value !== undefined)
    .map((setting) => sentence`${nameInFile(facts, setting)} to ${String(setting.value)}`);
  return upperFirst(
    allOf([...(set.length > 0 ? [sentence`set ${allOf(set)}`] : []), ...(removed.length > 0 ? [sentence`remove ${allOf(removed)}`] : [])]),
  );
}

/** As the file calls it, safe to show. */
function nameInFile(facts: ViewFacts, { name }: Setting): string {
  const written = facts[name]?.name;
  return written === undefined ? name : quoted(written, 80).slice(1, -1);
}

import { readMembers, parseDocument, nodePlace } from '../../core/languages/json/document';
import type { Rule } from '../../core/domain/settings/rules';
import { readField, type Section } from '../../core/terapipe/section';
import { closest } from '../../core/suggest';
import { ExpectedError, configError } from '../../core/errors';
import type { Located, Place } from '../../core/domain/located';
import { quoted } from '../../core/text';
import { sentence, type Value } from '../../core/sentence';

/**
 * Opens a raw problem for `solve` or `simulate`. Keys that look like a misspelt one of `known` are refused; other keys (an id, a note, the
 * expected answer) are left unchanged: a problem is often one case of a larger file.
 * @throws ExpectedError at its place: `config-*` for what is malformed, `unknown-key`.
 */
export function openProblem(text: string, file: string, known: readonly string[]): Section {
  const document = parseDocument(file, text, 'jsonc');
  const members = readMembers(document, document.root, 'the problem');
  const section: Section = { document, path: [], node: document.root, members, remarks: [] };
  const similar = new Map([...members].filter(([name]) => closest(name, known) !== null));
  refuseUnknown({ ...section, members: similar }, known, 'the problem');
  return section;
}

/** @throws ExpectedError `unknown-key` at the first key that is not in `known`. */
export function refuseUnknown(section: Section, known: readonly string[], what: string): void {
  for (const { name, key } of section.members.values()) {
    if (known.includes(name)) continue;
    const meant = closest(name, known);
    throw new ExpectedError(
      'unknown-key',
      sentence`${quoted(name)} is not a key of ${what}`,
      meant === null ? sentence`known keys are ${known.join(', ')}` : sentence`did you mean "${meant}"?`,
      nodePlace(section.document, key),
    );
  }
}

/** @throws ExpectedError when the key is absent, or as `readField`. */
export function required<T>(section: Section, name: string, rule: Rule<T>): Located<T> {
  const field = readField(section, name, rule);
  if (field === undefined) throw missing(section, name, rule.expects);
  return field;
}

/** The error for a key that must exist. */
export function missing(section: Section, name: string, expects: Value): ExpectedError {
  return configError(
    'config-inconsistent',
    sentence`${quoted([...section.path, name].join('.'))} is missing`,
    sentence`give it ${expects}`,
    nodePlace(section.document, section.node),
  );
}

export function placeIn({ source }: Located<unknown>): Place | undefined {
  return source.kind === 'file' ? source.place : undefined;
}

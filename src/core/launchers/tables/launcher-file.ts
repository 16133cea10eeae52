import type { Finding } from '../../findings';
import { sentence } from '../../sentence';
import { quoted } from '../../text';
import type { Facts, LauncherFile } from '../../run/facts';
import type { LauncherFormat } from '../../run/config-format';
import { firstPlace, type KeyReader } from './keys';
import type { YamlDocument } from '../../languages/yaml/document';

/** What a reader found, as the contract of launcher readers wants it. */
export function launcherFile(
  document: YamlDocument,
  format: LauncherFormat,
  facts: Facts,
  noticed: Partial<Pick<KeyReader, 'remarks' | 'placeholders'>> & { readonly also?: readonly Finding[] },
): LauncherFile {
  const { file, text } = document;
  const remarks = [...(noticed.remarks?.() ?? []), ...(noticed.also ?? []), ...replacedKeys(document)];
  const place = firstPlace(document, facts);
  return { file, format, text, place, facts, remarks, modelFiles: [], placeholders: noticed.placeholders?.() ?? [] };
}

/** A warning for each key that a later one replaces without a word. */
export function replacedKeys({ file, replaced }: YamlDocument): readonly Finding[] {
  return replaced.map(({ key, range }) => ({
    code: 'repeated-key',
    severity: 'warning',
    place: { file, range },
    message: sentence`${quoted(key)} appears again below, and the launcher takes the last one`,
    remedy: sentence`keep one of the two`,
    fixes: [],
  }));
}

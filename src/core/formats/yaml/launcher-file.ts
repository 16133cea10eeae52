import type { Finding } from '../../findings';
import type { Facts, LauncherFile } from '../facts';
import type { LauncherFormat } from '../config-format';
import { firstPlace, type KeyReader } from './keys';
import type { YamlDocument } from './yaml-document';

/** What a reader found, as the contract of launcher readers wants it. */
export function launcherFile(
  { file, text, root }: YamlDocument,
  format: LauncherFormat,
  facts: Facts,
  noticed: Partial<Pick<KeyReader, 'remarks' | 'placeholders'>> & { readonly also?: readonly Finding[] },
): LauncherFile {
  const remarks = [...(noticed.remarks?.() ?? []), ...(noticed.also ?? [])];
  const place = firstPlace({ file, text, root }, facts);
  return { file, format, text, place, facts, remarks, modelFiles: [], placeholders: noticed.placeholders?.() ?? [] };
}

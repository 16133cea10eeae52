import type { Finding } from '../findings';
import { rules } from './table';

/** `# terapipe-ignore: code, code` of shell, YAML, TOML and Python, `// terapipe-ignore: code` of JSON with comments. */
const comment = /(?:#|\/\/)[ \t]*terapipe-ignore:[ \t]*([a-z\d-]+(?:[ \t]*,[ \t]*[a-z\d-]+)*)/g;

/** `"terapipe-ignore": "code"` or a list of codes, of strict JSON. */
const key = /"terapipe-ignore"\s*:\s*("[^"\n]*"|\[[^\]]*\])/g;

/** Former codes by the codes of today. */
export const formerCodes: ReadonlyMap<string, string> = new Map([
  ...rules.flatMap(({ code, alias }) => (alias === undefined ? [] : [[code, alias] as const])),
  ['memory-over-capacity', 'layout-too-large'],
]);

/** Codes that a text switches off for the whole file. One scan, no parse: works on broken files too. */
function switchedOffIn(text: string): ReadonlySet<string> {
  if (!text.includes('terapipe-ignore')) return new Set();
  const lists = [...text.matchAll(comment), ...text.matchAll(key)].map(([, codes = '']) => codes);
  return new Set(lists.flatMap((codes) => codes.match(/[a-z\d-]+/g) ?? []));
}

/**
 * Of findings those that nobody switched off: neither the file that they are in, nor the config that was opened, nor a setting.
 * @param texts by file. @param off codes that settings switch off.
 */
export function notSuppressed(
  findings: readonly Finding[],
  file: string,
  texts: ReadonlyMap<string, string>,
  off: ReadonlySet<string> = new Set(),
): readonly Finding[] {
  const files = new Set([file, ...findings.map(({ place }) => place.file)]);
  const byFile = new Map([...files].map((name) => [name, switchedOffIn(texts.get(name) ?? '')]));
  if (off.size === 0 && [...byFile.values()].every(({ size }) => size === 0)) return findings;
  return findings.filter(({ code, place }) => {
    const former = formerCodes.get(code) ?? code;
    return ![off, byFile.get(file), byFile.get(place.file)].some((codes) => codes?.has(code) === true || codes?.has(former) === true);
  });
}

import type { Fact, FactName, FactValues, LauncherFile } from '../../../../src/core/run/facts';
import type { LauncherFormat } from '../../../../src/core/run/config-format';
import type { Finding, Fix } from '../../../../src/core/findings';

export type Values = { readonly [K in FactName]?: FactValues[K] };

/** A launcher's file that sets `values`, in a notation of its own: one `name: JSON` a line. */
export function launcherOf(values: Values, format: LauncherFormat, file = 'launcher'): LauncherFile {
  const lines = Object.entries(values).map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`);
  return read(lines.join(''), format, file);
}

/** Reads that notation. */
export function read(text: string, format: LauncherFormat, file = 'launcher'): LauncherFile {
  const facts: Record<string, Fact<unknown>> = {};
  for (const line of text.matchAll(/^(\w+): (.*)\n/gm)) {
    const [whole, name = '', written = ''] = line;
    const start = line.index + name.length + 2;
    const place = { file, range: { start, end: start + written.length } };
    facts[name] = {
      value: JSON.parse(written),
      source: { kind: 'file', place, key: name },
      whole: { start: line.index, end: line.index + whole.length },
      name: `--${name}`,
    };
  }
  return { file, format, text, place: { file, range: { start: 0, end: 0 } }, facts, remarks: [], modelFiles: [], placeholders: [] }; // prettier-ignore
}

/** The same file with one fact as a default, so that no text sets it. */
export function withDefault(launcher: LauncherFile, name: FactName): LauncherFile {
  const fact = launcher.facts[name];
  return { ...launcher, facts: { ...launcher.facts, [name]: { value: fact?.value, source: { kind: 'default', reason: 'a default' } } } };
}

/** The file once a fix is applied to its text. */
export function applied(launcher: LauncherFile, { edits }: Fix): LauncherFile {
  const sorted = [...edits].sort((a, b) => b.place.range.start - a.place.range.start);
  const text = sorted.reduce((t, { place: { range }, newText }) => t.slice(0, range.start) + newText + t.slice(range.end), launcher.text);
  return read(text, launcher.format as LauncherFormat, launcher.file);
}

/** The name of the fact whose text a finding is at; null at the file's own place. */
export function factAt({ text }: LauncherFile, { place: { range } }: Finding): string | null {
  return range.end === 0 ? null : (/(\w+): $/.exec(text.slice(0, range.start))?.[1] ?? null);
}

export const codesOf = (findings: readonly Finding[]): string[] => findings.map(({ code }) => code);

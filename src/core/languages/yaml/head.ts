/** Names of a YAML text's first two levels, from one scan of its beginning. */
export interface YamlHead {
  /** Keys directly under each top-level key, in block style. */
  readonly sections: ReadonlyMap<string, ReadonlySet<string>>;
}

const scanned = 2 ** 18;
const scannedKeys = 5000;
const line = /^\uFEFF?([ ]*)(?:"([\w.-]{1,80})"|'([\w.-]{1,80})'|([\w.<-][\w.-]{0,79}))[ ]*:(?=[ \t\r\n]|$)/gm;

/**
 * Scans the first 256 KiB and 5,000 keys; works on broken files too. In a flow mapping (`{ "a": 1 }`) every key that begins a line counts
 * as one of the top level.
 */
export function yamlHead(text: string): YamlHead {
  const sections = new Map<string, Set<string>>();
  const isFlow = /^\uFEFF?(?:\s|#[^\n]*\n|---)*\{/.test(text.slice(0, 10_000));
  let current: Set<string> | null = null;
  let indent = 0;
  let keys = 0;
  for (const [, spaces = '', ...names] of text.slice(0, scanned).matchAll(line)) {
    keys += 1;
    if (keys > scannedKeys) break;
    const name = names.join('');
    if (isFlow || spaces === '') {
      current = sections.get(name) ?? new Set();
      sections.set(name, current);
      indent = 0;
    } else if (current !== null && (indent === 0 || spaces.length === indent)) {
      indent = spaces.length;
      current.add(name);
    }
  }
  return { sections };
}

export function hasAny(names: ReadonlySet<string> | undefined, wanted: readonly string[]): boolean {
  return names !== undefined && wanted.some((name) => names.has(name));
}

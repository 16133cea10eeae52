/** A word of a template that stands for a value. */
interface Placeholder {
  /** `CONFIG_BATCH_SIZE`, `BATCH` of `${BATCH:-8}`, or an expression such as `A * B` of `$((A * B))`. */
  readonly name: string;
  /** As the text has it. */
  readonly written: string;
  readonly start: number;
}

/** A template made JSON: every placeholder is a string of the same length, so that all offsets stay. */
interface FilledTemplate {
  readonly text: string;
  /** By start. */
  readonly placeholders: ReadonlyMap<number, Placeholder>;
}

/** Forms of a placeholder without quotes: of shells, of Jinja, of sed scripts (`<NAME>`, `@NAME@`, `%NAME%`, `NAME`). */
const form =
  /\$\{[^{}\n"]{1,200}\}|\$\(\([^\n"]{1,200}?\)\)(?!\))|\$\([^()\n"]{1,200}\)|\$[A-Za-z_]\w*|\{\{[^{}\n"]{1,200}\}\}|<[A-Za-z_]\w{0,99}>|([@%])[A-Za-z_]\w{0,99}\1|[A-Z][A-Z0-9_]+(?!\w)|[A-Z]\w{0,99}_\w{1,99}(?!\w)/y;
/** Words in capitals that people write for JSON values by mistake. */
const mistakes = /^(TRUE|FALSE|NULL|NONE|NAN|INF|INFINITY|AUTO)$/;

/** Finds the placeholders that are where a value belongs. One pass; strings are skipped. */
export function fillTemplate(text: string): FilledTemplate {
  const placeholders = new Map<number, Placeholder>();
  const parts: string[] = [];
  let done = 0;
  const marks = /[":,[]/g;
  for (let mark = marks.exec(text); mark !== null; mark = marks.exec(text)) {
    if (mark[0] === '"') marks.lastIndex = endOfString(text, mark.index);
    else {
      const start = skipSpaces(text, mark.index + 1);
      const written = placeholderAt(text, start);
      if (written === null) continue;
      placeholders.set(start, { name: placeholderName(written), written, start });
      parts.push(text.slice(done, start), `"${'_'.repeat(written.length - 2)}"`);
      done = start + written.length;
      marks.lastIndex = done;
    }
  }
  return { text: parts.length === 0 ? text : parts.join('') + text.slice(done), placeholders };
}

/** The name of a placeholder that a whole string is (`"${BATCH}"`), else null. */
export function placeholderIn(value: string): string | null {
  return /^(\$\{[^{}]+\}|\$[A-Za-z_]\w*|\{\{[^{}]+\}\}|<[A-Z_]+>)$/.test(value) && value.length <= 200 ? placeholderName(value) : null;
}

function placeholderAt(text: string, start: number): string | null {
  form.lastIndex = start;
  const written = form.exec(text)?.[0];
  if (written === undefined || mistakes.test(written)) return null;
  const after = text.charAt(skipSpaces(text, start + written.length));
  return /^[,\]}]?$/.test(after) ? written : null;
}

function placeholderName(written: string): string {
  const inner = written.replace(/^(\$\(\(|\$\(|\$\{|\{\{|[$<@%])|(\)\)|\)|\}\}|[}>@%])$/g, '').trim();
  return /^(\w+):?[-=?+]/.exec(inner)?.[1] ?? inner;
}

function skipSpaces(text: string, from: number): number {
  let at = from;
  while (' \t\r\n'.includes(text.charAt(at)) && at < text.length) at += 1;
  return at;
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at += 1) {
    const character = text[at];
    if (character === '"' || character === '\n') return at + 1;
    if (character === '\\') at += 1;
  }
  return text.length;
}

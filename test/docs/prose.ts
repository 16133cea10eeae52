/**
 * Words of each sentence of a page in Markdown, items of lists included; headings, tables, code blocks and formulas on lines of their own
 * are left out. A code span, a formula in the text and a link count as what they are called: one word, or the words of the link. What has
 * fewer than three words is a label.
 */
export function sentenceLengths(page: string): number[] {
  const text = page
    .replace(/^( *)```[\s\S]*?^\1```/gm, '')
    .replace(/<!--[\s\S]*?-->/g, '')
    .replace(/^\$\$.*$/gm, '');
  return paragraphsOf(text).flatMap((paragraph) =>
    paragraph
      .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
      .replace(/\$[^$]*\$/g, 'x')
      .replace(/`[^`]*`/g, 'code')
      .split(/(?<=[.!?])[*")]*\s+(?=["*(A-Z0-9]|x\b|code)/)
      .map((sentence) => sentence.split(/\s+/).filter((word) => /[\p{L}\d]/u.test(word)).length)
      .filter((words) => words >= 3),
  );
}

/** The middle one of some numbers; of two the greater. */
export function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}

/** Runs of lines that belong together; each item of a list is one. */
function paragraphsOf(text: string): string[] {
  const paragraphs: string[][] = [];
  let open: string[] | null = null;
  for (const line of text.split('\n')) {
    const isProse = /\S/.test(line) && !/^\s*(?:#|\||<)/.test(line) && !(open === null && line.startsWith('    '));
    const [marker = ''] = /^\s*(?:[-*]|\d+\.) /.exec(line) ?? [];
    if (!isProse) open = null;
    else if (open === null || marker !== '') paragraphs.push((open = [line.slice(marker.length)]));
    else open.push(line.trim());
  }
  return paragraphs.map((lines) => lines.join(' '));
}

/** A Markdown table, one string per line; a formatter pads it. */
export function markdownTable(header: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const cell = (text: string): string => text.replace(/\s+/g, ' ').replaceAll('|', String.raw`\|`);
  return [header, header.map(() => '---'), ...rows].map((cells) => `| ${cells.map(cell).join(' | ')} |`);
}

/** Text without what a formatter adds: padding of cells, the width of rules, empty lines. */
export function unpadded(text: string): string {
  return text
    .replace(/-{3,}/g, '---')
    .replace(/ +/g, ' ')
    .replace(/\n{2,}/g, '\n')
    .trim();
}

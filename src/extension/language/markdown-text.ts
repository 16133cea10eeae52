const punctuation = /[!-/:-@[-`{-~]/g;
/** Control characters but white space. */
const control = /[^\P{Cc}\s]/gu;

/**
 * A text as Markdown that reads as the text: nothing in it is taken for markup, an address or HTML. Spaces stay spaces, so that lines wrap
 * between words (`MarkdownString.appendText` makes them non-breaking, and words break instead); white space around a line break goes, as it
 * does in HTML.
 */
export function escapeMarkdown(text: string): string {
  return text
    .trim()
    .split(/\s*[\r\n]\s*/)
    .map((line) => line.replace(control, '\uFFFD').replace(punctuation, '\\$&'))
    .join('\\\n');
}

/** Paragraphs of plain text as Markdown; empty ones are left out. */
export function markdownParagraphs(texts: readonly string[]): string {
  return texts
    .map(escapeMarkdown)
    .filter((text) => text !== '')
    .join('\n\n');
}

import type * as vscode from 'vscode';

/** What this file uses of an open document. */
type OpenText = Pick<vscode.TextDocument, 'getText' | 'lineAt' | 'lineCount' | 'offsetAt'>;

/**
 * The text of an open document; null where it has more than `most` UTF-16 units: `getText` makes one string of all its lines, and the
 * extension host keeps that.
 */
export function textWithin(document: OpenText, most: number): string | null {
  const { end } = document.lineAt(document.lineCount - 1).range;
  return document.offsetAt(end) > most ? null : document.getText();
}

/** The lines of an open document that hold its first `length` UTF-16 units. */
export function startOfDocument(document: OpenText, length: number): string {
  let start = '';
  for (let line = 0; line < document.lineCount && start.length < length; line += 1) start += `${document.lineAt(line).text}\n`;
  return start;
}

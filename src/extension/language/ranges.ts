import * as vscode from 'vscode';
import type { Place } from '../../core/domain/located';
import { lineColumnAt } from '../../core/text';

/** Editor range of a place in the text it was read from; empty at the file's start when that text is not known. */
export function toRange({ file, range }: Place, texts: ReadonlyMap<string, string>): vscode.Range {
  const text = texts.get(file);
  if (text === undefined) return new vscode.Range(0, 0, 0, 0);
  return new vscode.Range(positionIn(text, range.start), positionIn(text, range.end));
}

function positionIn(text: string, offset: number): vscode.Position {
  const { line, column } = lineColumnAt(text, offset);
  return new vscode.Position(line - 1, column - 1);
}

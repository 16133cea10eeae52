import { readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import ts from 'typescript';

const root = resolve(import.meta.dirname, '../..');

/**
 * Every English string that is translated: first arguments of `t(...)` and `vscode.l10n.t(...)` in the core, the extension and its pages.
 * Sorted.
 * `@vscode/l10n-dev` finds those alone that are said through `vscode.l10n.t`: 78 of 1,042.
 */
export function usedStrings(): string[] {
  const found = new Set<string>();
  for (const folder of ['src/core', 'src/extension', 'webview']) {
    for (const name of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })) {
      if (!name.endsWith('.ts')) continue;
      const tree = ts.createSourceFile(name, readFileSync(join(root, folder, name), 'utf8'), ts.ScriptTarget.Latest, true);
      collect(tree, tree, found);
    }
  }
  return [...found].sort();
}

function collect(node: ts.Node, tree: ts.SourceFile, found: Set<string>): void {
  if (ts.isCallExpression(node) && /^(vscode\.l10n\.)?t$/.test(node.expression.getText(tree))) {
    for (const text of literalsOf(node.arguments[0])) found.add(text);
  }
  ts.forEachChild(node, (child) => collect(child, tree, found));
}

/** The texts an argument can be: a literal, or either side of a choice. */
function literalsOf(argument: ts.Expression | undefined): string[] {
  if (argument === undefined) return [];
  if (ts.isStringLiteralLike(argument)) return [argument.text];
  return ts.isConditionalExpression(argument) ? [...literalsOf(argument.whenTrue), ...literalsOf(argument.whenFalse)] : [];
}

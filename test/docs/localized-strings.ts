import { readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import ts from 'typescript';

const root = resolve(import.meta.dirname, '../..');

/**
 * Every English string that is translated: first arguments of `t(...)` and `vscode.l10n.t(...)` in the core, the extension and its pages,
 * templates of `sentence`, and both forms of what `counted` and `many` count. Sorted.
 * `@vscode/l10n-dev` finds those alone that are said through `vscode.l10n.t`: 78 of 1,042.
 */
export function usedStrings(): string[] {
  const found = new Set<string>();
  for (const folder of ['src/core', 'src/files', 'src/profiler', 'src/worker', 'src/extension', 'webview']) {
    for (const name of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })) {
      if (!name.endsWith('.ts')) continue;
      const tree = ts.createSourceFile(name, readFileSync(join(root, folder, name), 'utf8'), ts.ScriptTarget.Latest, true);
      collect(tree, tree, found);
    }
  }
  return [...found].filter((text) => /\p{L}/u.test(text.replace(/\{\d+\}/g, ''))).sort();
}

function collect(node: ts.Node, tree: ts.SourceFile, found: Set<string>): void {
  if (ts.isCallExpression(node) && /^(vscode\.l10n\.)?t$/.test(node.expression.getText(tree))) {
    for (const text of literalsOf(node.arguments[0])) found.add(text);
  } else if (ts.isTaggedTemplateExpression(node) && node.tag.getText(tree) === 'sentence') {
    found.add(templateOf(node.template));
  } else if (ts.isCallExpression(node) && /^(counted|many)$/.test(node.expression.getText(tree))) {
    const [singular, plural] = node.arguments.slice(1).flatMap((words) => (ts.isStringLiteralLike(words) ? [words.text] : []));
    if (singular !== undefined) for (const noun of [singular, plural ?? `${singular}s`]) found.add(`{0} ${noun}`);
  }
  ts.forEachChild(node, (child) => collect(child, tree, found));
}

/** The texts an argument can be: a literal, or either side of a choice. */
function literalsOf(argument: ts.Expression | undefined): string[] {
  if (argument === undefined) return [];
  if (ts.isStringLiteralLike(argument)) return [argument.text];
  return ts.isConditionalExpression(argument) ? [...literalsOf(argument.whenTrue), ...literalsOf(argument.whenFalse)] : [];
}

/** `{0} of {1}`: what `sentence` makes of a template. */
function templateOf(template: ts.TemplateLiteral): string {
  if (ts.isNoSubstitutionTemplateLiteral(template)) return template.text;
  return template.head.text + template.templateSpans.map(({ literal }, index) => `{${index}}${literal.text}`).join('');
}

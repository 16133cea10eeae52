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
  for (const { tree } of trees()) eachNode(tree, (node) => collect(node, found));
  return [...found].filter((text) => /\p{L}/u.test(text.replace(/\{\d+\}/g, ''))).sort();
}

/** English that stands in a value of `sentence`, where no translation reaches it: `file: text`. */
export function bareTexts(): string[] {
  const found: string[] = [];
  for (const { name, tree } of trees())
    eachNode(tree, (node) => {
      if (!isSentence(node) || !ts.isTemplateExpression(node.template)) return;
      for (const { expression } of node.template.templateSpans)
        for (const text of literalsOf(expression)) if (/[a-z]{2}/.test(text)) found.push(`${name}: ${text}`);
    });
  return found;
}

function isSentence(node: ts.Node): node is ts.TaggedTemplateExpression {
  return ts.isTaggedTemplateExpression(node) && ts.isIdentifier(node.tag) && node.tag.text === 'sentence';
}

function eachNode(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node);
  ts.forEachChild(node, (child) => eachNode(child, visit));
}

/** The syntax trees of all that says something in the editor, parsed once. */
function trees(): readonly { readonly name: string; readonly tree: ts.SourceFile }[] {
  parsed ??= folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => {
        const text = readFileSync(join(root, folder, name), 'utf8');
        return { name: `${folder}/${name}`, tree: ts.createSourceFile(name, text, ts.ScriptTarget.Latest) };
      }),
  );
  return parsed;
}

let parsed: readonly { readonly name: string; readonly tree: ts.SourceFile }[] | undefined;
const folders = ['src/core', 'src/protocol', 'src/files', 'src/profiler', 'src/worker', 'src/extension', 'webview'];

function collect(node: ts.Node, found: Set<string>): void {
  if (ts.isCallExpression(node) && nameOf(node.expression) === 't') {
    for (const text of literalsOf(node.arguments[0])) found.add(text);
  } else if (isSentence(node)) {
    found.add(templateOf(node.template));
  } else if (ts.isCallExpression(node) && /^(counted|many)$/.test(nameOf(node.expression))) {
    const [singular, plural] = node.arguments.slice(1).flatMap((words) => (ts.isStringLiteralLike(words) ? [words.text] : []));
    if (singular !== undefined) for (const noun of [singular, plural ?? `${singular}s`]) found.add(`{0} ${noun}`);
  }
}

/** The name of a function that is called by it alone, and `t` of `vscode.l10n.t`. */
function nameOf(called: ts.Expression): string {
  if (ts.isIdentifier(called)) return called.text;
  const isOfL10n = ts.isPropertyAccessExpression(called) && ts.isPropertyAccessExpression(called.expression);
  return isOfL10n && called.expression.name.text === 'l10n' ? called.name.text : '';
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

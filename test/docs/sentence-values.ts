import { readFileSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import ts from 'typescript';
import { placeOf } from '../unit/rooms';

const root = resolve(import.meta.dirname, '../..');
const folders = ['src/core', 'src/features', 'src/protocol', 'src/files', 'src/profiler', 'src/worker', 'src/extension', 'webview'];

/** English in the values of `sentence`, which belongs in its template: `file: text`. */
export function bareTexts(): string[] {
  return folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      // The terminal is not translated.
      .filter((name) => name.endsWith('.ts') && !placeOf(`${folder}/${name}`).startsWith('src/cli/'))
      .flatMap((name) => {
        const source = readFileSync(join(root, folder, name), 'utf8');
        return source.includes('sentence`') ? valuesIn(source).map((text) => `${folder}/${name}: ${text}`) : [];
      }),
  );
}

function valuesIn(source: string): string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (isSentence(node) && ts.isTemplateExpression(node.template))
      for (const { expression } of node.template.templateSpans)
        found.push(...literalsOf(expression).filter((text) => /[a-z]{2}/.test(text)));
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile('source.ts', source, ts.ScriptTarget.Latest));
  return found;
}

function isSentence(node: ts.Node): node is ts.TaggedTemplateExpression {
  return ts.isTaggedTemplateExpression(node) && ts.isIdentifier(node.tag) && node.tag.text === 'sentence';
}

/** The texts that a value can be: a literal, or either side of a choice. */
function literalsOf(value: ts.Expression): string[] {
  if (ts.isStringLiteralLike(value)) return [value.text];
  return ts.isConditionalExpression(value) ? [...literalsOf(value.whenTrue), ...literalsOf(value.whenFalse)] : [];
}

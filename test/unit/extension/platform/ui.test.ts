import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import fc from 'fast-check';
import ts from 'typescript';
import { inert } from '../../../../src/extension/platform/inert';

const folder = path.resolve(import.meta.dirname, '../../../../src');
/** The one file that hands texts to VS Code. */
const boundary = 'extension/platform/ui.ts';

/** Calls of `vscode.window` that show text with links or pictures in it. */
const showing = new Set([
  'showInformationMessage',
  'showWarningMessage',
  'showErrorMessage',
  'withProgress',
  'setStatusBarMessage',
  'createStatusBarItem',
  'showQuickPick',
  'createQuickPick',
  'showInputBox',
  'createInputBox',
  'showWorkspaceFolderPick',
]);
/** Classes whose texts are shown so; a lens gets its text from a command. */
const shownClasses = new Set(['TreeItem', 'TreeItem2']);
/** Properties of items, rows and inputs that are shown so. */
const shownProperties = new Set(['label', 'description', 'detail', 'placeholder', 'prompt', 'text', 'validationMessage']);
/** What lets Markdown run commands, or be HTML. */
const dangerous = new Set(['isTrusted', 'supportHtml']);

/** Ways around the boundary in a file, as `line: code`. */
function waysAround(name: string, source: string): string[] {
  const tree = ts.createSourceFile(name, source, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (isWayAround(node)) found.push(`${name}:${tree.getLineAndCharacterOfPosition(node.getStart()).line + 1}: ${node.getText()}`);
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return found;
}

function isWayAround(node: ts.Node): boolean {
  if (ts.isPropertyAccessExpression(node)) return showing.has(node.name.text);
  if (ts.isElementAccessExpression(node)) {
    const { expression, argumentExpression: name } = node;
    return /(^|\.)window$/.test(expression.getText()) || (ts.isStringLiteralLike(name) && showing.has(name.text));
  }
  if (ts.isBindingElement(node)) return showing.has((node.propertyName ?? node.name).getText());
  if (ts.isNewExpression(node)) return shownClasses.has(lastName(node.expression));
  if (ts.isExpressionWithTypeArguments(node) && ts.isHeritageClause(node.parent)) return shownClasses.has(lastName(node.expression));
  if (ts.isObjectLiteralExpression(node)) {
    const names = new Set(node.properties.map((property) => property.name?.getText() ?? ''));
    return (names.has('title') && names.has('command')) || [...dangerous].some((name) => names.has(name));
  }
  const isAssigned = ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.EqualsToken;
  if (!isAssigned || !ts.isPropertyAccessExpression(node.left)) return false;
  const { name, expression } = node.left;
  return dangerous.has(name.text) || (shownProperties.has(name.text) && !/^(this|message|state)$/.test(expression.getText()));
}

function lastName(expression: ts.Expression): string {
  return ts.isPropertyAccessExpression(expression) ? expression.name.text : expression.getText();
}

describe('texts that VS Code shows', () => {
  it('reach it through the one file that makes them inert', () => {
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
      (name) => /^(extension\/|features\/[^/]+\/vscode\b).*\.ts$/.test(name) && name !== boundary,
    );
    assert.ok(files.length > 50);
    assert.deepEqual(
      files.flatMap((name) => waysAround(name, readFileSync(path.join(folder, name), 'utf8'))),
      [],
    );
  });

  it('would be caught on every other way', () => {
    const ways = [
      'vscode.window.showWarningMessage(text)',
      'const { showErrorMessage } = vscode.window;',
      'const { withProgress: go } = vscode.window;',
      "vscode.window['show' + kind](text)",
      "w['showQuickPick']([])",
      'new vscode.TreeItem(text)',
      'class Row extends vscode.TreeItem {}',
      'lens.command = { title, command: "x" };',
      'row.description = text;',
      'item.text = text;',
      'markdown.isTrusted = true;',
      'const options = { supportHtml: true };',
    ];
    for (const way of ways) assert.equal(waysAround('x.ts', way).length, 1, way);
    const fine = [
      "import { showQuickPick } from './ui'; showQuickPick(items);",
      'if (vscode.workspace.isTrusted) return;',
      'let x: vscode.TreeItem;',
    ];
    for (const way of fine) assert.deepEqual(waysAround('x.ts', way), []);
  });

  it('are made inert in that file, each of them', () => {
    const tree = ts.createSourceFile(boundary, readFileSync(path.join(folder, boundary), 'utf8'), ts.ScriptTarget.Latest, true);
    const plain: string[] = [];
    const visit = (node: ts.Node): void => {
      const argument = shownArgument(node);
      if (argument !== null && !/^(`\$\(\$\{icon\}\) \$\{)?inert\([^)]*\)(\}`)?$/.test(argument.getText())) plain.push(argument.getText());
      ts.forEachChild(node, visit);
    };
    visit(tree);
    assert.deepEqual(plain, []);
  });
});

/** What a node hands to VS Code to be shown: the text of a message, a row or the status bar, or a property of an input. */
function shownArgument(node: ts.Node): ts.Expression | null {
  if (ts.isCallExpression(node) && /^vscode\.window\.(show\w+Message|setStatusBarMessage)$/.test(node.expression.getText()))
    return node.arguments[0] ?? null;
  if (ts.isNewExpression(node) && node.expression.getText() === 'vscode.TreeItem') return node.arguments?.[0] ?? null;
  const isAssigned = ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.EqualsToken;
  if (isAssigned && ts.isPropertyAccessExpression(node.left) && shownProperties.has(node.left.name.text)) return node.right;
  const isShown = ts.isPropertyAssignment(node) && [...shownProperties, 'title', 'placeHolder'].includes(node.name.getText());
  return isShown ? node.initializer : null;
}

/**
 * What VS Code makes links of (src/vs/base/common/linkedText.ts), in its older and newer form, and pictures
 * (src/vs/base/browser/ui/iconLabel/iconLabels.ts).
 */
const links = [
  /\[([^\]]+)\]\(((?:https?:\/\/|command:|file:)[^)\s]+)(?: (["'])(.+?)(\3))?\)/i,
  /\[((?:(?!\]\().)+)\]\(((?:https?:\/\/|command:|file:)[^)\s]+)(?: (["'])(.+?)(\3))?\)/i,
];
const pictures = /(\\)?\$\([A-Za-z0-9-]+(?:~[A-Za-z0-9-]+)?\)/;
const visible = (text: string): string => text.replaceAll('\u2060', '');

describe('inert', () => {
  it('takes links and pictures apart and leaves them readable', () => {
    const hostile = 'There is no schedule "[Fix it](command:workbench.action.quickOpen)" $(error)';
    for (const pattern of [...links, pictures]) if (pattern !== links[1]) assert.match(hostile, pattern);
    const shown = inert(hostile);
    for (const pattern of [...links, pictures]) assert.doesNotMatch(shown, pattern);
    assert.equal(visible(shown), hostile);
  });

  it('leaves nothing that VS Code reads as a link or a picture in any text', () => {
    const pieces = [
      '[',
      ']',
      '(',
      ')',
      '](',
      '$(',
      '$',
      '\\',
      'error',
      'a b',
      'command:x',
      'https://x',
      'file:///x',
      ' "t"',
      '\n',
      '\u2060',
      '~spin',
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 14 }), (parts) => {
        const shown = inert(parts.join(''));
        for (const pattern of [...links, pictures]) assert.doesNotMatch(shown, pattern);
        assert.equal(inert(shown), shown);
      }),
      { numRuns: 2000 },
    );
  });

  it('shows control and bidirectional characters as escapes, and cuts what has no end', () => {
    assert.equal(inert('a\u202eb\u0000\n'), 'a\\u{202e}b\\u{0}\\u{a}');
    assert.equal(inert('x'.repeat(5000)).length, 1001);
    assert.equal(inert('Llama 3 8B: 8 × 4 GPUs (H100), ~2 s'), 'Llama 3 8B: 8 × 4 GPUs (H100), ~2 s');
  });
});

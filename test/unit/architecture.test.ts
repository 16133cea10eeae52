import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { describe, it } from 'mocha';
import ts from 'typescript';
import { coreRooms, houses, webviewRooms, type CoreRoom } from './rooms';

const root = resolve(import.meta.dirname, '../..');

interface Import {
  readonly from: string;
  /** A file of ours without its extension, or a package. */
  readonly to: string;
  readonly ours: boolean;
  readonly typeOnly: boolean;
}

const sources = ['src', 'webview'].flatMap((folder) => typescriptFiles(folder)).map((file) => ({ file, tree: parse(file) }));
const imports = sources.flatMap(({ file, tree }) => importsOf(file, tree));

describe('architecture', () => {
  it('lets each house import only what it may', () => {
    const offences = imports.filter(({ from, to, ours }) => {
      const house = Object.entries(houses).find(([prefix]) => from.startsWith(prefix))?.[1];
      assert.ok(house, `${from} is in no house: add it to the table`);
      const allowed = ours ? house.files : house.packages;
      return !allowed.some((entry) => (/[/:]$/.test(entry) ? to.startsWith(entry) : to === entry));
    });
    assert.deepEqual(offences.map(arrow), []);
  });

  it('lets each room of the core import only what it may', () => {
    const offences = imports.filter(({ from, to, ours, typeOnly }) => {
      const [here, there] = [coreRoomOf(from), coreRoomOf(to)];
      if (!ours || there === null || here === there) return false;
      if (!from.startsWith('src/core/')) return false;
      const rules: Pick<CoreRoom, 'values' | 'types'> | undefined = here === null ? { values: [], types: [] } : coreRooms[here];
      assert.ok(rules, `src/core/${here} is no room: add it to the table`);
      return !(rules.values.includes(there) || (typeOnly && rules.types.includes(there)));
    });
    assert.deepEqual(offences.map(arrow), []);
  });

  it('lets each room of the page import only what it may', () => {
    const offences = imports.filter(({ from, to, ours }) => {
      const [here, there] = [webviewRoomOf(from), webviewRoomOf(to)];
      if (!ours || here === null || there === null || here === there) return false;
      const room = webviewRooms[here];
      assert.ok(room, `webview/${here} is no room: add it to the table`);
      return there !== '' && !room.imports.includes(there);
    });
    assert.deepEqual(offences.map(arrow), []);
  });

  it('has no import cycles', () => {
    const next = new Map<string, string[]>();
    for (const { from, to, ours, typeOnly } of imports)
      if (ours && !typeOnly) next.set(withoutExtension(from), [...(next.get(withoutExtension(from)) ?? []), to]);
    assert.equal(findCycle(next)?.join(' -> '), undefined);
  });

  it('keeps clocks, randomness and the process out of the core', () => {
    const impure = /^(Date|performance|process|console|setTimeout|setInterval|fetch|require|globalThis)$/;
    const offences: string[] = [];
    for (const { file, tree } of sources) {
      if (!file.startsWith('src/core/')) continue;
      visit(tree, (node) => {
        const random = ts.isPropertyAccessExpression(node) && node.getText(tree) === 'Math.random';
        const global = ts.isIdentifier(node) && impure.test(node.text) && !isName(node);
        if (random || global) offences.push(`${file}: ${node.getText(tree)}`);
      });
    }
    assert.deepEqual(offences, []);
  });

  it('gives the DOM to the webview alone', () => {
    const options = (path: string): { lib?: readonly string[] } => {
      const config = ts.readConfigFile(join(root, path), (file) => readFileSync(file, 'utf8')).config as {
        compilerOptions: { lib?: readonly string[] };
      };
      return config.compilerOptions;
    };
    assert.ok(!options('tsconfig.json').lib?.some((lib) => /dom/i.test(lib)), 'tsconfig.json, which checks src, must not know the DOM');
    assert.ok(options('webview/tsconfig.json').lib?.some((lib) => /dom/i.test(lib)));
    const borrowed = sources.filter(({ file, tree }) => file.startsWith('src/') && tree.libReferenceDirectives.length > 0);
    assert.deepEqual(
      borrowed.map(({ file }) => file),
      [],
    );
  });

  it('names no folder beside the repository, where others and clones have none', () => {
    const rooms = ['src', 'webview', 'test', 'docs', 'l10n', 'media/samples', '.ci', '.github', '.vscode'];
    const inside = rooms.flatMap((room) => readdirSync(join(root, room), { recursive: true, withFileTypes: true }));
    const files = [...inside, ...readdirSync(root, { withFileTypes: true })].filter((entry) => entry.isFile());
    assert.ok(files.length > 800);
    const beside = files.flatMap(({ parentPath, name }) => {
      const text = readFileSync(join(parentPath, name), 'utf8');
      const paths = [...text.matchAll(/((?:\.\.\/)+)shared\b/g)].map(([, up = '']) => resolve(parentPath, up, 'shared'));
      const pieces = /'\.\.', *'shared'/.test(text) ? [dirname(root)] : [];
      const strays = [...paths, ...pieces].filter((path) => !path.startsWith(root + sep) || !existsSync(path));
      return strays.map((path) => `${relative(root, join(parentPath, name))}: ${path}`);
    });
    assert.deepEqual(beside, []);
  });

  it('keeps files short', () => {
    const long = sources.filter(({ tree }) => tree.getLineAndCharacterOfPosition(tree.end).line >= 400);
    assert.deepEqual(
      long.map(({ file }) => file),
      [],
    );
  });
});

function typescriptFiles(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))
    .map((name) => join(folder, name).split(sep).join('/'));
}

function parse(file: string): ts.SourceFile {
  return ts.createSourceFile(file, readFileSync(join(root, file), 'utf8'), ts.ScriptTarget.Latest, true);
}

function importsOf(from: string, tree: ts.SourceFile): Import[] {
  const found: Import[] = [];
  const add = (specifier: ts.Node | undefined, typeOnly: boolean): void => {
    if (specifier === undefined || !ts.isStringLiteral(specifier)) return;
    const ours = specifier.text.startsWith('.');
    found.push({ from, to: ours ? target(from, specifier.text) : specifier.text, ours, typeOnly });
  };
  visit(tree, (node) => {
    if (ts.isImportDeclaration(node)) add(node.moduleSpecifier, isTypeOnly(node.importClause));
    else if (ts.isExportDeclaration(node)) add(node.moduleSpecifier, node.isTypeOnly);
    else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) add(node.arguments[0], false);
    else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) add(node.argument.literal, true);
  });
  return found;
}

function isTypeOnly(clause: ts.ImportClause | undefined): boolean {
  if (clause === undefined) return false;
  if (clause.phaseModifier === ts.SyntaxKind.TypeKeyword) return true;
  const { name, namedBindings } = clause;
  return (
    name === undefined &&
    namedBindings !== undefined &&
    ts.isNamedImports(namedBindings) &&
    namedBindings.elements.every((e) => e.isTypeOnly)
  );
}

function target(from: string, specifier: string): string {
  const path = relative(root, resolve(root, dirname(from), specifier))
    .split(sep)
    .join('/');
  return existsSync(join(root, path, 'index.ts')) && !existsSync(join(root, `${path}.ts`)) ? `${path}/index` : path;
}

function coreRoomOf(file: string): string | null {
  return /^src\/core\/([^/]+)\//.exec(file)?.[1] ?? null;
}

/** Folder of the page; empty: a file of the page itself, which everybody may use; null: no file of the page. */
function webviewRoomOf(file: string): string | null {
  return (
    /^webview\/(?:([^/]+)\/)?[^/]+$/
      .exec(file)
      ?.slice(1)
      .map((room: string | undefined) => room ?? '')[0] ?? null
  );
}

/** A property, key or type of that name is no use of the global. */
function isName(node: ts.Identifier): boolean {
  const { parent } = node;
  return (
    (ts.isPropertyAccessExpression(parent) && parent.name === node) ||
    (ts.isPropertyAssignment(parent) && parent.name === node) ||
    ts.isTypeNode(parent) ||
    ts.isPropertySignature(parent)
  );
}

function findCycle(next: ReadonlyMap<string, readonly string[]>): readonly string[] | null {
  const done = new Set<string>();
  const search = (file: string, path: readonly string[]): readonly string[] | null => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (done.has(file)) return null;
    for (const to of next.get(file) ?? []) {
      const cycle = search(to, [...path, file]);
      if (cycle !== null) return cycle;
    }
    done.add(file);
    return null;
  };
  for (const file of next.keys()) {
    const cycle = search(file, []);
    if (cycle !== null) return cycle;
  }
  return null;
}

function visit(node: ts.Node, action: (node: ts.Node) => void): void {
  action(node);
  ts.forEachChild(node, (child) => visit(child, action));
}

function withoutExtension(file: string): string {
  return file.replace(/\.ts$/, '');
}

function arrow({ from, to, typeOnly }: Import): string {
  return `${from} -> ${to}${typeOnly ? ' (type)' : ''}`;
}

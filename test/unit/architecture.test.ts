import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, posix, relative, resolve, sep } from 'node:path';
import { describe, it } from 'mocha';
import ts from 'typescript';
import { namedSchedules } from '../../src/core/domain/schedule-names';
import { exportedForTests } from './exports';
import { coreRooms, extensionRooms, features, houses, placeOf, webviewRooms } from './rooms';
import { sourceTree } from './source-tree';

const root = resolve(import.meta.dirname, '../..');

interface Import {
  readonly from: string;
  /** A file of ours without its extension, or a package. */
  readonly to: string;
  readonly ours: boolean;
  readonly typeOnly: boolean;
}

const files = new Set(['src', 'webview'].flatMap((folder) => typescriptFiles(folder)));
const sources = [...files].map((file) => {
  const tree = parse(file);
  return { file, tree, nodes: nodesOf(tree) };
});
const imports = sources.flatMap(({ file, nodes }) => importsOf(file, nodes));

describe('architecture', () => {
  it('lets each house import only what it may', () => {
    const offences = imports.filter(({ from, to, ours }) => {
      const house = Object.entries(houses).find(([prefix]) => placeOf(from).startsWith(prefix))?.[1];
      assert.ok(house, `${from} is in no house: add it to the table`);
      const allowed = ours ? house.files : house.packages;
      return !allowed.some((entry) => (/[/:]$/.test(entry) ? placeOf(to).startsWith(entry) : to === entry));
    });
    assert.deepEqual(offences.map(arrow), []);
  });

  it('lets each room of the core import only what it may, and none that comes after it in the table', () => {
    const ofFeatures = Object.entries(features).map(([name, feature]) => [`features/${name}`, feature] as const);
    const rooms = new Map([...Object.entries(coreRooms), ...ofFeatures]);
    const order = [...rooms.keys()];
    for (const [room, { imports: allowed }] of rooms)
      for (const other of allowed) assert.ok(order.indexOf(other) < order.indexOf(room), `${room} comes after ${other}`);
    assert.deepEqual(
      strays('src/core/', coreRoomOf, (room) => rooms.get(room)?.imports),
      [],
    );
  });

  it('knows each feature, and lets none import another that its row does not name', () => {
    const folders = readdirSync(join(root, 'src/features'));
    assert.deepEqual(folders.sort(), Object.keys(features).sort(), 'add its row to `features` in test/unit/rooms.ts');
    const featureOf = (file: string): string => /^src\/features\/[^/]+/.exec(file)?.[0].slice('src/'.length) ?? '';
    const offences = imports.filter(({ from, to }) => {
      const [here, there] = [featureOf(from), featureOf(to)];
      if (here === '' || there === '' || here === there) return false;
      return features[here.slice('features/'.length)]?.imports.includes(there) !== true;
    });
    assert.deepEqual(offences.map(arrow), []);
  });

  it('lets each room of the page import only what it may', () => {
    assert.deepEqual(
      strays('webview/', webviewRoomOf, (room) => {
        const allowed = webviewRooms[room]?.imports;
        return allowed && [...allowed, 'base'];
      }),
      [],
    );
  });

  it('knows each folder of the extension', () => {
    const folders = readdirSync(join(root, 'src/extension'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
    assert.deepEqual(folders.map(({ name }) => name).sort(), Object.keys(extensionRooms).sort());
  });

  it('has no import cycles, types included', () => {
    const next = new Map<string, string[]>();
    for (const { from, to, ours } of imports) if (ours) next.set(withoutExtension(from), [...(next.get(withoutExtension(from)) ?? []), to]);
    assert.equal(findCycle(next)?.join(' -> '), undefined);
  });

  it('exports only what the product imports, except a list with reasons', () => {
    const used = new Set(sources.flatMap((source) => namesImported(source)));
    const exported = sources.flatMap(({ file, tree }) => namesExported(tree).map((name) => ({ file: withoutExtension(file), name })));
    const unused = exported.filter(({ file, name }) => !used.has(`${file}#${name}`) && !used.has(`${file}#*`));
    assert.deepEqual(
      unused.map(({ file, name }) => `${file}#${name}`).sort(),
      Object.values(exportedForTests).flat().sort(),
      'drop the export, or list it in test/unit/exports.ts with the reason',
    );
  });

  it('keeps clocks, randomness and the process out of the core', () => {
    const impure = /^(Date|performance|process|console|setTimeout|setInterval|fetch|require|globalThis)$/;
    const offences: string[] = [];
    for (const { file, tree, nodes } of sources) {
      if (!placeOf(file).startsWith('src/core/')) continue;
      for (const node of nodes) {
        const random = ts.isPropertyAccessExpression(node) && node.getText(tree) === 'Math.random';
        const global = ts.isIdentifier(node) && impure.test(node.text) && !isName(node);
        if (random || global) offences.push(`${file}: ${node.getText(tree)}`);
      }
    }
    assert.deepEqual(offences, []);
  });

  it('measures by a clock that nobody can set back, the terminal apart: the date only stamps what is written', () => {
    const offences: string[] = [];
    for (const { file, tree, nodes } of sources.filter(({ file }) => !file.startsWith('src/cli/')))
      for (const node of nodes) {
        const isNow =
          ts.isNewExpression(node) && node.getText(tree) === 'new Date()' && !/^new Date\(\)\.toISOString$/.test(node.parent.getText(tree));
        if (isNow || (ts.isPropertyAccessExpression(node) && node.getText(tree) === 'Date.now'))
          offences.push(`${file}: ${node.getText(tree)}`);
      }
    assert.deepEqual(offences, []);
  });

  it('compares names of schedules nowhere: what sets one apart is a trait of its kind', () => {
    const isName = (node: ts.Node): boolean => ts.isStringLiteral(node) && namedSchedules.some((name) => name === node.text);
    const offences: string[] = [];
    for (const { file, tree, nodes } of sources) {
      if (file.startsWith('src/core/schedules/')) continue;
      for (const node of nodes) {
        const isEquality = ts.isBinaryExpression(node) && /^[!=]==$/.test(node.operatorToken.getText(tree));
        const isCompared = isEquality && (isName(node.left) || isName(node.right));
        if (isCompared || (ts.isCaseClause(node) && isName(node.expression)))
          offences.push(`${file}: ${node.getText(tree).split('\n')[0]}`);
      }
    }
    assert.deepEqual(offences, []);
  });

  it('gives the DOM only to the webview', () => {
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

  it('names no folder next to the repository, where others and clones have none', () => {
    const rooms = ['src', 'webview', 'test', 'docs', 'media/samples', '.ci', '.github', '.vscode'];
    const inside = rooms.flatMap((room) => readdirSync(join(root, room), { recursive: true, withFileTypes: true }));
    const files = [...inside, ...readdirSync(root, { withFileTypes: true })].filter((entry) => entry.isFile());
    assert.ok(files.length > 800);
    const outside = files.flatMap(({ parentPath, name }) => {
      const text = readFileSync(join(parentPath, name), 'utf8');
      const paths = [...text.matchAll(/((?:\.\.\/)+)shared\b/g)].map(([, up = '']) => resolve(parentPath, up, 'shared'));
      const pieces = /'\.\.', *'shared'/.test(text) ? [dirname(root)] : [];
      const strays = [...paths, ...pieces].filter((path) => !path.startsWith(root + sep) || !existsSync(path));
      return strays.map((path) => `${relative(root, join(parentPath, name))}: ${path}`);
    });
    assert.deepEqual(outside, []);
  });

  it('keeps files short', () => {
    const long = sources.filter(({ tree }) => tree.getLineAndCharacterOfPosition(tree.end).line >= 400);
    assert.deepEqual(
      long.map(({ file }) => file),
      [],
    );
  });
});

/** Imports from a room of a house to another that it may not import. Everybody may use the house's own files, which are in no room. */
function strays(house: string, roomOf: (file: string) => string, allowedTo: (room: string) => readonly string[] | undefined): string[] {
  const offences = imports.filter(({ from, to, ours }) => {
    const [fromPlace, toPlace] = [placeOf(from), placeOf(to)];
    if (!ours || !fromPlace.startsWith(house) || !toPlace.startsWith(house)) return false;
    const [here, there] = [roomOf(fromPlace), roomOf(toPlace)];
    if (here === there || there === '') return false;
    const allowed = here === '' && house === 'src/core/' ? ['domain'] : allowedTo(here);
    assert.ok(allowed, `${house}${here} is not a room: add it to the table`);
    return !allowed.includes(there);
  });
  return offences.map(arrow);
}

function typescriptFiles(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))
    .map((name) => join(folder, name).split(sep).join('/'));
}

function parse(file: string): ts.SourceFile {
  return sourceTree(file, readFileSync(join(root, file), 'utf8'));
}

/** All nodes of a tree, once for all tests: to walk a tree takes longer than what they ask of each node. */
function nodesOf(tree: ts.SourceFile): readonly ts.Node[] {
  const nodes: ts.Node[] = [];
  const visit = (node: ts.Node): void => {
    nodes.push(node);
    ts.forEachChild(node, visit);
  };
  visit(tree);
  return nodes;
}

function importsOf(from: string, nodes: readonly ts.Node[]): Import[] {
  const found: Import[] = [];
  const add = (specifier: ts.Node | undefined, typeOnly: boolean): void => {
    if (specifier === undefined || !ts.isStringLiteral(specifier)) return;
    const ours = specifier.text.startsWith('.');
    found.push({ from, to: ours ? target(from, specifier.text) : specifier.text, ours, typeOnly });
  };
  for (const node of nodes) {
    if (ts.isImportDeclaration(node)) add(node.moduleSpecifier, isTypeOnly(node.importClause));
    else if (ts.isExportDeclaration(node)) add(node.moduleSpecifier, node.isTypeOnly);
    else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) add(node.arguments[0], false);
    else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) add(node.argument.literal, true);
  }
  return found;
}

/** What a file imports of ours by name, `file#name`; `file#*` where it takes the file as a whole. */
function namesImported({ file: from, tree, nodes }: (typeof sources)[number]): string[] {
  const found: string[] = [];
  const add = (specifier: ts.Node | undefined, names: readonly ts.ImportOrExportSpecifier[] | null): void => {
    if (specifier === undefined || !ts.isStringLiteral(specifier) || !specifier.text.startsWith('.')) return;
    const file = target(from, specifier.text);
    found.push(...(names?.map(({ name, propertyName }) => `${file}#${(propertyName ?? name).text}`) ?? [`${file}#*`]));
  };
  for (const node of nodes) {
    if (ts.isImportDeclaration(node)) {
      const names = node.importClause?.namedBindings;
      add(node.moduleSpecifier, names !== undefined && ts.isNamedImports(names) ? [...names.elements] : null);
    } else if (ts.isExportDeclaration(node)) {
      add(
        node.moduleSpecifier,
        node.exportClause !== undefined && ts.isNamedExports(node.exportClause) ? [...node.exportClause.elements] : null,
      );
    } else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      const specifier = node.arguments[0];
      if (specifier !== undefined && ts.isStringLiteral(specifier) && specifier.text.startsWith('.'))
        found.push(...namesAwaited(node).map((name) => `${target(from, specifier.text)}#${name}`));
    } else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument) && ts.isStringLiteral(node.argument.literal))
      found.push(`${target(from, node.argument.literal.text)}#${node.qualifier?.getText(tree) ?? '*'}`);
    else if (ts.isModuleDeclaration(node) && node.name.text.startsWith('.') && node.body !== undefined && ts.isModuleBlock(node.body)) {
      // interfaces of another file that this one adds to
      const file = target(from, node.name.text);
      found.push(...node.body.statements.filter(ts.isInterfaceDeclaration).map(({ name }) => `${file}#${name.text}`));
    }
  }
  return found;
}

/** What is taken of a file that is loaded later: `(await import('./a')).b`, `const { b } = await import('./a')`; else `*`. */
function namesAwaited({ parent }: ts.CallExpression): readonly string[] {
  const loaded = ts.isAwaitExpression(parent) ? parent.parent : parent;
  const user = ts.isParenthesizedExpression(loaded) ? loaded.parent : loaded;
  if (ts.isPropertyAccessExpression(user)) return [user.name.text];
  if (!ts.isVariableDeclaration(user) || !ts.isObjectBindingPattern(user.name)) return ['*'];
  return user.name.elements.map(({ name, propertyName }) => (propertyName ?? name).getText());
}

function isExport(statement: ts.Statement): boolean {
  return ts.canHaveModifiers(statement) && ts.getModifiers(statement)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true;
}

/** What a file exports: functions, classes, constants, types, and what it passes on. */
function namesExported(tree: ts.SourceFile): string[] {
  return tree.statements.flatMap((statement) => {
    if (ts.isExportDeclaration(statement)) {
      const { exportClause } = statement;
      return exportClause !== undefined && ts.isNamedExports(exportClause) ? exportClause.elements.map(({ name }) => name.text) : [];
    }
    if (!isExport(statement)) return [];
    if (ts.isVariableStatement(statement)) return statement.declarationList.declarations.flatMap(({ name }) => namesBound(name));
    const isNamed = ts.isFunctionDeclaration(statement) || ts.isClassDeclaration(statement) || ts.isInterfaceDeclaration(statement);
    return (isNamed || ts.isTypeAliasDeclaration(statement)) && statement.name !== undefined ? [statement.name.text] : [];
  });
}

function namesBound(name: ts.BindingName): string[] {
  if (ts.isIdentifier(name)) return [name.text];
  return name.elements.flatMap((element) => (ts.isBindingElement(element) ? namesBound(element.name) : []));
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
  const path = posix.join(posix.dirname(from), specifier);
  return files.has(`${path}/index.ts`) && !files.has(`${path}.ts`) ? `${path}/index` : path;
}

/** Empty: a file of the core itself. */
function coreRoomOf(file: string): string {
  return /^src\/core\/(features\/[^/]+|[^/]+)\//.exec(file)?.[1] ?? '';
}

/** Empty: a file of the page itself. */
function webviewRoomOf(file: string): string {
  return /^webview\/(tabs\/[^/]+|[^/]+)\//.exec(file)?.[1] ?? '';
}

/** A property, key or type of that name is not a use of the global. */
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

function withoutExtension(file: string): string {
  return file.replace(/\.ts$/, '');
}

function arrow({ from, to, typeOnly }: Import): string {
  return `${from} -> ${to}${typeOnly ? ' (type)' : ''}`;
}

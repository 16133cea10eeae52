import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, it } from 'mocha';
import ts from 'typescript';
import { errorLine, findingLine } from '../../src/cli/answer';
import { gpuPresetNames } from '../../src/core/cluster/presets';
import { ExpectedError } from '../../src/core/errors';
import { pageCommandIds, pageKeys, type PageCommand } from '../../src/protocol/page-keys';
import { pageCommands } from '../../src/protocol/page-schema';
import { say, sentence } from '../../src/core/sentence';
import { sourceTree } from './source-tree';

interface MenuItem {
  readonly command: string;
  readonly when?: string;
  readonly group?: string;
}

interface Setting {
  readonly default?: unknown;
  readonly scope?: string;
  readonly order?: number;
  readonly markdownDescription?: string;
  readonly enum?: readonly string[];
  readonly enumDescriptions?: readonly string[];
}

interface Step {
  readonly id: string;
  readonly media: { readonly svg: string };
  readonly completionEvents: readonly string[];
}

interface Manifest {
  readonly icon: string;
  readonly activationEvents: readonly string[];
  readonly capabilities: Readonly<Record<string, { readonly supported: unknown; readonly description: string }>>;
  readonly contributes: {
    readonly commands: readonly { readonly command: string; readonly title: string; readonly category: string }[];
    readonly keybindings: readonly { readonly command: string; readonly key: string; readonly when: string }[];
    readonly menus: Readonly<Record<string, readonly MenuItem[]>>;
    readonly views: Readonly<Record<string, readonly { readonly id: string; readonly icon: string }[]>>;
    readonly viewsWelcome: readonly { readonly view: string; readonly contents: string; readonly when: string }[];
    readonly configuration: { readonly properties: Readonly<Record<string, Setting>> };
    readonly colors: readonly { readonly id: string; readonly defaults: Readonly<Record<string, string>> }[];
    readonly walkthroughs: readonly { readonly steps: readonly Step[] }[];
    readonly jsonValidation: readonly { readonly url: string }[];
    readonly problemMatchers: readonly { readonly pattern: { readonly regexp: string } & Readonly<Record<string, number | string>> }[];
  };
}

const root = resolve(import.meta.dirname, '../..');
const text = readFileSync(join(root, 'package.json'), 'utf8');
const manifest = JSON.parse(text) as Manifest;
const nls = JSON.parse(readFileSync(join(root, 'package.nls.json'), 'utf8')) as Readonly<Record<string, string>>;
const { contributes } = manifest;
const declared = contributes.commands.map(({ command }) => command).sort();

describe('manifest', () => {
  it('declares exactly the commands that are registered', () => {
    assert.deepEqual(declared, [...registeredCommands(), ...pageCommandIds].sort());
  });

  it('gives every command the category and a title in sentence case', () => {
    for (const { command, title, category } of contributes.commands) {
      assert.equal(category, 'TeraPipe', command);
      assert.match(localized(title), /^[A-Z].*[^.…]$/, command);
    }
  });

  it('declares every command that pages, menus, welcome texts and walkthroughs name', () => {
    const inMenus = Object.values(contributes.menus).flatMap((items) => items.map(({ command }) => command));
    const inLinks = Object.values(nls).flatMap((value) => [...value.matchAll(/\(command:(terapipe\.[\w.]+)\)/g)].map(([, id = '']) => id));
    const inEvents = contributes.walkthroughs.flatMap(({ steps }) =>
      steps.flatMap(({ completionEvents }) => completionEvents.flatMap((event) => /^onCommand:(.+)$/.exec(event)?.[1] ?? [])),
    );
    const builtIn = Object.values(contributes.views).flatMap((views) => views.map(({ id }) => `${id}.focus`));
    for (const id of [...pageCommands, ...inMenus, ...inLinks, ...inEvents]) assert.ok([...declared, ...builtIn].includes(id), id);
  });

  it('contributes every command of pages with its title and its keys, which are silent outside a page and in its fields', () => {
    const whens = { lanes: 'terapipe.pageFocus == lanes && !inputFocus', page: 'terapipe.pageFocus =~ /^(lanes|other)$/ && !inputFocus' };
    const commands = pageCommandIds.map((id): [string, PageCommand] => [id, pageKeys[id]]);
    assert.deepEqual(
      contributes.keybindings,
      commands.flatMap(([command, { keys }]) => keys.map(({ key, where }) => ({ command, key, when: whens[where] }))),
    );
    for (const [command, { title }] of commands)
      assert.equal(localized(contributes.commands.find((each) => each.command === command)?.title ?? ''), say(title));
    const keys = contributes.keybindings.map(({ key }) => key);
    assert.deepEqual([...new Set(keys)], keys, 'two commands have one key');
  });

  it('uses only context keys that somebody sets', () => {
    const ours = setContextKeys();
    const ofVsCode = [
      'view',
      'viewItem',
      'resourceFilename',
      'resourceExtname',
      'resourcePath',
      'resourceScheme',
      'isWorkspaceTrusted',
      'virtualWorkspace',
      'workspaceFolderCount',
      'activeWebviewPanelId',
      'inputFocus',
      'false',
    ];
    const clauses = [...Object.values(contributes.menus).flat(), ...contributes.keybindings, ...contributes.viewsWelcome].flatMap(
      ({ when }) => when ?? [],
    );
    for (const clause of clauses) {
      const names = clause
        .replace(/\/[^/]*\//g, '')
        .split(/&&|\|\|/)
        .map((term) => /^\s*!?([\w.]+)/.exec(term)?.[1])
        .filter((name) => name !== undefined);
      for (const name of names) assert.ok([...ours, ...ofVsCode].includes(name), `${name} in "${clause}"`);
    }
  });

  it('has a text for every %key%, and no text that nothing uses', () => {
    const used = [...text.matchAll(/%([\w.-]+)%/g)].map(([, key = '']) => key);
    assert.deepEqual([...new Set(used)].sort(), Object.keys(nls).sort());
  });

  it('describes every setting, and the code reads it', () => {
    const settings = Object.entries(contributes.configuration.properties);
    const source = readFileSync(join(root, 'src/extension/platform/settings.ts'), 'utf8');
    for (const [key, setting] of settings) {
      assert.notEqual(setting.default, undefined, key);
      const scopes =
        key === 'terapipe.python'
          ? /^machine-overridable$/
          : key.startsWith('terapipe.profiler.')
            ? /^(machine|window)$/
            : /^(resource|window)$/;
      assert.match(setting.scope ?? '', scopes, key);
      const description = localized(setting.markdownDescription ?? '');
      for (const [, linked = ''] of description.matchAll(/`#([\w.]+)#`/g))
        assert.ok(linked in contributes.configuration.properties, linked);
      assert.equal(setting.enumDescriptions?.length, setting.enum?.length, key);
      const name = key.replace(/^terapipe\.(profiler\.)?/, '').replace(/\.enabled$/, '');
      assert.ok(source.includes(`'${name}'`), `${key} is never read`);
    }
    const orders = settings.map(([, { order }]) => order);
    assert.deepEqual(
      orders,
      orders.map((_, index) => index + 1),
    );
  });

  it('offers exactly the GPU presets there are', () => {
    const { enum: offered } = contributes.configuration.properties['terapipe.defaultGpu'] ?? {};
    assert.deepEqual(offered, gpuPresetNames, 'run npm run docs -- --write');
  });

  it('gives every colour a value in all four kinds of theme', () => {
    for (const { id, defaults } of contributes.colors) {
      assert.deepEqual(Object.keys(defaults).sort(), ['dark', 'highContrast', 'highContrastLight', 'light'], id);
      for (const value of Object.values(defaults)) assert.match(value, /^#[0-9a-f]{6}$/, id);
    }
  });

  it('points only to files that exist', () => {
    const steps = contributes.walkthroughs.flatMap((walkthrough) => walkthrough.steps);
    const icons = Object.values(contributes.views).flatMap((views) => views.map(({ icon }) => icon));
    const files = [manifest.icon, ...icons, ...steps.map(({ media }) => media.svg), ...contributes.jsonValidation.map(({ url }) => url)];
    for (const file of files) assert.ok(existsSync(join(root, file)), file);
    assert.ok(steps.length <= 5);
  });

  it('starts with a config, not with the window', () => {
    for (const event of manifest.activationEvents) assert.match(event, /^(onLanguage|onWebviewPanel|workspaceContains):/);
    assert.ok(manifest.activationEvents.includes('onWebviewPanel:terapipe.timeline'));
  });

  it('shows what works without trust and without a disk', () => {
    for (const name of ['untrustedWorkspaces', 'virtualWorkspaces']) {
      assert.equal(manifest.capabilities[name]?.supported, 'limited', name);
      assert.ok(localized(manifest.capabilities[name].description).length > 40, name);
    }
  });

  it('matches the lines of the command line in tasks', () => {
    const pattern = contributes.problemMatchers[0]?.pattern;
    assert.ok(pattern);
    const match = (line: string): Record<string, string | undefined> => {
      const groups = new RegExp(pattern.regexp).exec(line);
      assert.ok(groups, line);
      return Object.fromEntries(
        ['file', 'line', 'column', 'severity', 'code', 'message'].map((name) => [name, groups[Number(pattern[name])]]),
      );
    };
    const finding = {
      file: 'runs/terapipe.json',
      line: 12,
      column: 7,
      endLine: 12,
      endColumn: 9,
      code: 'pp-layers-not-divisible',
      fixes: [],
    };
    const line = findingLine({ ...finding, severity: 'information', message: '96 layers on 90 stages', remedy: 'set 96' });
    assert.deepEqual(match(line), {
      file: 'runs/terapipe.json',
      line: '12',
      column: '7',
      severity: 'info',
      code: 'pp-layers-not-divisible',
      message: '96 layers on 90 stages; set 96',
    });
    const place = { file: 'C:\\runs\\config.json', range: { start: 0, end: 0 } };
    const error = errorLine(
      new ExpectedError('config-empty', sentence`The file is empty`, sentence`write a model config`, place),
      new Map(),
    );
    assert.equal(match(error)['file'], 'C:\\runs\\config.json');
    assert.equal(match(error)['message'], 'The file is empty; write a model config');
  });
});

function localized(reference: string): string {
  const key = /^%(.+)%$/.exec(reference)?.[1] ?? '';
  const value = nls[key];
  assert.ok(value !== undefined && value !== '', `no text for ${reference}`);
  return value;
}

/** Ids of the object that `createCommands` returns: what `registerCommands` registers. */
function registeredCommands(): string[] {
  const ids: string[] = [];
  eachNode('src/extension/commands/commands.ts', (node) => {
    if (ts.isPropertyAssignment(node) && ts.isStringLiteral(node.name)) ids.push(node.name.text);
  });
  return ids;
}

/** First arguments of `context.set('terapipe...', ...)`. */
function setContextKeys(): string[] {
  const keys: string[] = [];
  eachNode('src/extension/sessions/shown-config.ts', (node) => {
    if (!ts.isCallExpression(node) || !/^context\.set$/.test(node.expression.getText())) return;
    const [key] = node.arguments;
    if (key !== undefined && ts.isStringLiteral(key)) keys.push(key.text);
  });
  const setters = [
    'src/extension/sessions/profiles.ts',
    'src/extension/sessions/layout-diff.ts',
    'src/features/rehearsal/vscode/rehearsals.ts',
    'src/extension/build.ts',
  ];
  for (const file of setters)
    eachNode(file, (node) => {
      if (!ts.isCallExpression(node) || node.expression.getText() !== 'vscode.commands.executeCommand') return;
      const [command, key] = node.arguments;
      if (
        command !== undefined &&
        ts.isStringLiteral(command) &&
        command.text === 'setContext' &&
        key !== undefined &&
        ts.isStringLiteral(key)
      )
        keys.push(key.text);
    });
  return keys;
}

function eachNode(file: string, action: (node: ts.Node) => void): void {
  const visit = (node: ts.Node): void => {
    action(node);
    ts.forEachChild(node, visit);
  };
  visit(sourceTree(file, readFileSync(join(root, file), 'utf8')));
}

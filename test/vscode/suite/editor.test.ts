import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import * as vscode from 'vscode';
import { until } from '../until';
import { timelineTabs } from './timeline-tabs';

const folder = vscode.workspace.workspaceFolders![0]!.uri;

const codeOf = (diagnostic: vscode.Diagnostic) =>
  typeof diagnostic.code === 'object' ? String(diagnostic.code.value) : String(diagnostic.code ?? '');

/** Our own remarks on a file; VS Code's JSON support makes others. */
const remarks = (uri: vscode.Uri) => vscode.languages.getDiagnostics(uri).filter(({ source }) => source === 'terapipe');

/** Writes a `terapipe.json` into a folder of its own with a copy of the sample's model, and shows it. */
async function openConfig(name: string, text: string): Promise<vscode.TextDocument> {
  const target = vscode.Uri.joinPath(folder, name);
  await vscode.workspace.fs.createDirectory(target);
  await vscode.workspace.fs.copy(vscode.Uri.joinPath(folder, 'config.json'), vscode.Uri.joinPath(target, 'config.json'), {
    overwrite: true,
  });
  const uri = vscode.Uri.joinPath(target, 'terapipe.json');
  await vscode.workspace.fs.writeFile(uri, Buffer.from(text));
  return show(uri);
}

/** Opens a file as a click in the explorer does: closing its editor closes the document too. */
async function show(uri: vscode.Uri): Promise<vscode.TextDocument> {
  await vscode.commands.executeCommand('vscode.open', uri, { preview: false });
  return until(
    `open editor of ${uri.path}`,
    () => vscode.window.visibleTextEditors.find(({ document }) => document.uri.path === uri.path)?.document,
  );
}

/** A file of the sample, which the empty workspace gets a copy of. */
async function showSample(name: string): Promise<vscode.TextDocument> {
  return show(vscode.Uri.joinPath(folder, name));
}

async function lensTitles(uri: vscode.Uri): Promise<string[]> {
  const lenses = await vscode.commands.executeCommand<vscode.CodeLens[]>('vscode.executeCodeLensProvider', uri, 10);
  return lenses.flatMap(({ command }) => (command?.command.startsWith('terapipe.') === true ? [command.title] : []));
}

/** Files whose plan the lenses over a file are of. */
async function lensOwners(uri: vscode.Uri): Promise<string[]> {
  const lenses = await vscode.commands.executeCommand<vscode.CodeLens[]>('vscode.executeCodeLensProvider', uri, 10);
  const owners = lenses.flatMap(({ command }) => {
    const argument: unknown = command?.arguments?.[0];
    return command?.title.includes('/ step') === true && argument instanceof vscode.Uri ? [argument.toString()] : [];
  });
  return [...new Set(owners)];
}

async function hoverText(uri: vscode.Uri, position: vscode.Position): Promise<string> {
  const hovers = await vscode.commands.executeCommand<vscode.Hover[]>('vscode.executeHoverProvider', uri, position);
  return hovers
    .flatMap(({ contents }) => contents)
    .map((content) => (content instanceof vscode.MarkdownString ? content.value : JSON.stringify(content)))
    .join('\n');
}

async function applyFix(document: vscode.TextDocument, diagnostic: vscode.Diagnostic): Promise<vscode.CodeAction> {
  const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>(
    'vscode.executeCodeActionProvider',
    document.uri,
    diagnostic.range,
  );
  const fix = actions.find(({ isPreferred, edit }) => isPreferred === true && edit !== undefined);
  assert.ok(fix?.edit !== undefined, `no preferred fix among ${actions.map(({ title }) => title).join(', ')}`);
  assert.ok(await vscode.workspace.applyEdit(fix.edit));
  return fix;
}

const sound = `{
  "model": "config.json",
  "cluster": { "gpu": "A100-80GB", "nodes": 12, "gpusPerNode": 8 },
  "training": { "sequenceLength": 2048, "globalBatch": 24 },
  "layout": { "tensor": 8, "pipeline": 12, "data": 1 },
  "schedule": "1F1B"
}
`;
/** Longer than the positions of the model. */
const tooLong = sound.replace('2048', '4096');

async function planShown(uri: vscode.Uri): Promise<string[]> {
  return until('a plan', async () => {
    const titles = await lensTitles(uri);
    return titles.some((title) => title.includes('/ step')) ? titles : undefined;
  });
}

describe('the editor', () => {
  before(async () => {
    const sample = vscode.Uri.file(process.env['TERAPIPE_TEST_SAMPLE']!);
    for (const name of ['config.json', 'terapipe.json'])
      await vscode.workspace.fs.copy(vscode.Uri.joinPath(sample, name), vscode.Uri.joinPath(folder, name));
  });
  afterEach(() => vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor'));

  it('finds nothing wrong in the sample', async () => {
    const document = await showSample('terapipe.json');
    await until('code lens', async () => ((await lensTitles(document.uri)).some((title) => /\d.* s\b/.test(title)) ? true : undefined));
    assert.deepEqual(
      remarks(document.uri).filter(({ severity }) => severity === vscode.DiagnosticSeverity.Error),
      [],
    );
  });

  it('shows the step time in a lens on a Hugging Face config, and of what it is', async () => {
    const document = await showSample('config.json');
    const titles = await until('code lenses', async () => {
      const found = await lensTitles(document.uri);
      return found.some((title) => /\d/.test(title)) ? found : undefined;
    });
    assert.match(titles.join('\n'), /step/);
    assert.match(titles[0] ?? '', / · [\d.]+ m?s \/ step without embedding and head$/);
  });

  it('answers with lenses while it plans, above the first line, and with the verdict first once it has planned', async () => {
    const document = await openConfig(
      'lenses',
      await vscode.workspace.fs.readFile(vscode.Uri.joinPath(folder, 'terapipe.json')).then(String),
    );
    const first = await until('lenses', async () => {
      const lenses = await vscode.commands.executeCommand<vscode.CodeLens[]>('vscode.executeCodeLensProvider', document.uri, 10);
      return lenses.length > 0 ? lenses : undefined;
    });
    const fits = /^(Fits|Does not fit), [\d.]+ [GM]iB (free|over) · /;
    assert.deepEqual([...new Set(first.map(({ range }) => range.start.line))], [0]);
    // How far the plan is by now depends on the machine; either way there is an answer.
    const answers = first.map(({ command }) => command?.title ?? '');
    assert.ok(answers.join() === 'Planning…' || fits.test(answers[0] ?? ''), answers.join(' | '));
    const [verdict] = await until('a plan', async () => {
      const titles = await lensTitles(document.uri);
      return titles.some((title) => title.includes('/ step')) ? titles : undefined;
    });
    assert.match(verdict ?? '', fits);
  });

  it('explains a value on hover', async () => {
    const document = await showSample('config.json');
    const position = document.positionAt(document.getText().indexOf('"n_layer"') + 3);
    const text = await until('hover', async () => (await hoverText(document.uri, position)) || undefined);
    assert.match(text, /layer/i);
    assert.match(text, /96/);
    assert.doesNotMatch(text, /&nbsp;|\u00a0/, 'spaces that do not break');
  });

  it('marks layers that the stages do not divide, and the quick fix corrects it', async () => {
    const document = await openConfig(
      'uneven',
      `{
  // 96 layers over 90 stages
  "model": "config.json",
  "cluster": { "gpu": "V100-16GB", "nodes": 45, "gpusPerNode": 8 },
  "training": { "sequenceLength": 2048, "globalBatch": 2, "precision": "fp16" },
  "layout": { "tensor": 4, "pipeline": 90, "data": 1 }
}
`,
    );
    const found = await until('remark', () => remarks(document.uri).find((remark) => codeOf(remark).includes('layers')));
    assert.equal(document.getText(found.range), '90');
    await applyFix(document, found);
    await until('fixed file', () => (remarks(document.uri).some((remark) => codeOf(remark) === codeOf(found)) ? undefined : true));
    assert.match(document.getText(), /96 layers over 90 stages/, 'the comment is gone');
  });

  it('marks a sequence that is longer than the positions of the model', async () => {
    const document = await openConfig('long', '{ "model": "config.json", "training": { "sequenceLength": 8192 } }\n');
    const found = await until('remark', () => remarks(document.uri).find((remark) => document.getText(remark.range).includes('8192')));
    assert.match(found.message, /2,?048/);
  });

  it('marks an unknown key where it is, and the quick fix corrects the spelling', async () => {
    const document = await openConfig('unknown', '{ "model": "config.json", "layuot": { "tensor": 4 } }\n');
    const found = await until('remark', () => remarks(document.uri).find((remark) => document.getText(remark.range).includes('layuot')));
    await applyFix(document, found);
    assert.match(document.getText(), /"layout"/);
  });

  it('marks the place of a JSON error', async () => {
    const document = await openConfig('truncated', '{ "model": "config.json", "training": { "sequenceLength": \n');
    const found = await until('remark', () => remarks(document.uri)[0]);
    assert.equal(found.severity, vscode.DiagnosticSeverity.Error);
  });

  it('marks a model file that is missing', async () => {
    const document = await openConfig('missing', '{ "model": "nowhere.json" }\n');
    const found = await until('remark', () => remarks(document.uri).find((remark) => document.getText(remark.range).includes('nowhere')));
    assert.match(found.message, /nowhere\.json/);
  });

  it('takes its remarks back when the file is closed', async () => {
    const document = await openConfig('closed', '{ "model": "nowhere.json" }\n');
    await until('remark', () => remarks(document.uri)[0]);
    await vscode.commands.executeCommand('workbench.action.closeActiveEditor');
    await until('empty list', () => (remarks(document.uri).length === 0 ? true : undefined));
  });

  it('keeps the last plan of a text that has an error, and marks it as older than the text', async () => {
    const document = await openConfig('kept', sound);
    const planned = await planShown(document.uri);
    const stepOf = (titles: readonly string[]): string | undefined => /[\d.]+ \w+ \/ step/.exec(titles[0] ?? '')?.[0];
    const old = / · before: /;
    assert.doesNotMatch(planned[0] ?? '', old);
    const replace = async (from: string, to: string): Promise<void> => {
      const edit = new vscode.WorkspaceEdit();
      const at = document.getText().indexOf(from);
      edit.replace(document.uri, new vscode.Range(document.positionAt(at), document.positionAt(at + from.length)), to);
      assert.ok(await vscode.workspace.applyEdit(edit));
    };
    await replace('"tensor": 8', '"tensor": 7');
    await until('error', () => remarks(document.uri).find(({ severity }) => severity === vscode.DiagnosticSeverity.Error));
    const kept = await until('lens of the last plan', async () => {
      const titles = await lensTitles(document.uri);
      return (titles[0] ?? '').includes(' · before: ') ? titles : undefined;
    });
    assert.equal(stepOf(kept), stepOf(planned));
    assert.ok(stepOf(kept) !== undefined, kept.join(' | '));
    await replace('"tensor": 7', '"tensor": 8');
    await until('lenses of the text', async () => (((await lensTitles(document.uri))[0] ?? '').includes(' · before: ') ? undefined : true));
  });

  it('forgets a config that is deleted on disk while its editor is closed: its lenses, problems and tab', async () => {
    const { uri } = await openConfig('deleted', tooLong);
    await planShown(uri);
    await vscode.commands.executeCommand('workbench.action.closeActiveEditor');
    // The model's file is of the same run, and keeps the run's problems in view.
    const { uri: model } = await show(vscode.Uri.joinPath(folder, 'deleted', 'config.json'));
    await until('lenses of the run', async () => ((await lensOwners(model)).join() === uri.toString() ? true : undefined));
    await until('problems of the run', () => (remarks(uri).length > 0 ? true : undefined));
    await vscode.commands.executeCommand('terapipe.openTimeline', uri);
    await until('tab', () => (timelineTabs().length === 1 ? true : undefined));

    rmSync(uri.fsPath);
    await until('no tab', () => (timelineTabs().length === 0 ? true : undefined));
    await until('no problems', () => (remarks(uri).length === 0 ? true : undefined));
    await until('only lenses of the model', async () => ((await lensOwners(model)).join() === model.toString() ? true : undefined));
  });

  it('shows the plan of another config once the one that is shown is deleted', async () => {
    const { uri } = await openConfig('shown', sound);
    await planShown(uri);
    await vscode.commands.executeCommand('terapipe.openTimeline', uri);
    const [tab] = await until('tab', () => (timelineTabs().length === 1 ? timelineTabs() : undefined));
    const name = await until('its name', () => (/ of ./.test(timelineTabs()[0]?.label ?? '') ? timelineTabs()[0]?.label : undefined));
    await vscode.window.tabGroups.close(tab!);
    await vscode.commands.executeCommand('workbench.action.closeAllEditors');
    const opened = async (): Promise<string> => {
      await vscode.commands.executeCommand('terapipe.openTimeline');
      const label = await until('tab with a name', () => timelineTabs().find(({ label }) => / of ./.test(label))?.label);
      await vscode.window.tabGroups.close(timelineTabs());
      return label;
    };
    assert.equal(await opened(), name, 'no other config was chosen meanwhile');

    rmSync(uri.fsPath);
    await until('tab of another config', async () => ((await opened()) === name ? undefined : true));
  });
});

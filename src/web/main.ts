import samples from 'terapipe:samples';
import { ExpectedError } from '../core/errors';
import { mayBeConfig, recogniseJson } from '../core/config-files/readers';
import { hubModel } from '../core/huggingface/hub-models';
import { assumedGpuName } from '../core/plan-request/scenario';
import { own } from '../core/records';
import { say } from '../core/sentence';
import { newConfigText } from '../host/sessions/new-config';
import { knownModelNames, knownModels } from '../protocol/known-models';
import type { PageFocus } from '../protocol/page-keys';
import { isMeasuredFile } from './compare';
import { droppedFiles, type NamedFile } from './dropped';
import { displayPath, fileUri, makeFiles, resolvePath } from './files';
import { startHost, type WebHost } from './host';
import { watchKeys } from './keys';
import { fromFragment, toFragment, type LinkedFiles } from './link';
import { firstConfig, modelPath, nameForText } from './recognise';

declare global {
  interface Window {
    acquireVsCodeApi: () => unknown;
  }
}

const mostFiles = 500;
const stateKey = 'terapipe.page';
const published: Readonly<Record<string, string>> = {
  'llama-3-8b': 'meta-llama/Meta-Llama-3-8B',
  'llama-3-70b': 'meta-llama/Meta-Llama-3-70B',
  'qwen3-32b': 'Qwen/Qwen3-32B',
  'deepseek-v3': 'deepseek-ai/DeepSeek-V3',
};

const element = <T extends HTMLElement = HTMLElement>(id: string, kind: new () => T = HTMLElement as new () => T): T => {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`the page has no ${id}`);
  return found;
};
const editor = element('editor', HTMLTextAreaElement);
const picker = element('files', HTMLSelectElement);
const status = element('status');
const first = element('first');

let focus: PageFocus = 'none';
const toPage = (data: unknown): void => void window.dispatchEvent(new MessageEvent('message', { data }));

const toPageLater = (part: unknown): Promise<void> => {
  toPage(part);
  return Promise.resolve();
};

const files = makeFiles((file) => {
  if (displayed() === file && editor.value !== files.read(file)) editor.value = files.read(file);
  host.changed(file);
});
const host: WebHost = startHost(
  files,
  Object.assign((part: unknown) => toPageLater(part), {
    report: (report: { readonly type: string; readonly on?: PageFocus } | null) => {
      if (report?.type === 'focus') focus = report.on ?? 'none';
      else if (report?.type === 'log') console.error(report);
    },
  }),
  {
    reveal: (file, start, end) => {
      if (!files.all().has(file)) return;
      display(file);
      document.body.dataset['editing'] = 'true';
      editor.focus();
      editor.setSelectionRange(start, end);
    },
    goToStart,
    openModel,
    show: (file, format) => {
      host.show(file, format);
      display(file);
    },
    say: showStatus,
  },
);

/** The page talks to its host as it does in VS Code; nobody else may. */
window.addEventListener('message', (event) => {
  if (event.isTrusted) event.stopImmediatePropagation();
});
window.acquireVsCodeApi = () => ({
  postMessage: host.receive,
  getState: (): unknown => JSON.parse(sessionStorage.getItem(stateKey) ?? 'null'),
  setState: (state: unknown) => sessionStorage.setItem(stateKey, JSON.stringify(state)),
});

/** A message that has no room is whole in its tooltip. */
function showStatus(text: string): void {
  status.textContent = text;
  status.title = text;
}

function displayed(): string {
  return picker.value;
}

function display(file: string): void {
  picker.replaceChildren(...[...files.all().keys()].map((each) => new Option(displayPath(each), each, each === file, each === file)));
  editor.value = files.all().get(file) ?? '';
}

/** Opens files; what was open before is closed. @returns whether one of them is a config. */
function open(opened: LinkedFiles): boolean {
  const first = firstConfig(opened);
  if (first === null) {
    showStatus(opened.length === 0 ? 'There is no file to read.' : `${opened[0]?.[0] ?? ''} is not a config that TeraPipe reads.`);
    return false;
  }
  const areHeld = succeeds(() => {
    files.clear();
    for (const [path, text] of opened) files.put(fileUri(path), text);
  });
  if (!areHeld) return false;
  showStatus('');
  document.body.dataset['screen'] = 'work';
  host.show(fileUri(first.path), first.format);
  display(fileUri(first.path));
  return true;
}

function openText(text: string): void {
  const name = nameForText(text);
  if (name === null) showStatus('This text is not a config that TeraPipe reads.');
  else openOrJoin([[name, text]]);
}

/** Opens files; a config of a model joins the shown config if that names it and cannot be planned without it. */
function openOrJoin(opened: LinkedFiles): void {
  const [only] = opened;
  const isModel = only !== undefined && opened.length === 1 && recogniseJson(...only) === 'huggingface';
  const lacked = isModel ? lackedModel() : null;
  if (only === undefined || lacked === null) open(opened);
  else if (succeeds(() => files.put(lacked.model, only[1]))) {
    host.changed(lacked.shown);
    display(lacked.shown);
    showStatus(`${displayPath(lacked.model)} was put next to ${displayPath(lacked.shown)}.`);
  }
}

/** The model that the config on the screen has in another file, which is not open. */
function lackedModel(): { readonly shown: string; readonly model: string } | null {
  const shown = document.body.dataset['screen'] === 'work' ? host.shown() : null;
  if (shown === null || !host.isRefused()) return null;
  const path = modelPath(displayPath(shown), files.read(shown));
  if (path === null) return null;
  const model = resolvedModel(shown, path);
  return model === null || files.all().has(model) ? null : { shown, model };
}

function resolvedModel(shown: string, path: string): string | null {
  try {
    return resolvePath(shown, path);
  } catch (error) {
    if (!(error instanceof ExpectedError)) throw error;
    return null;
  }
}

/** Runs `run`, and shows why where it refuses. @returns whether it ran to its end. */
function succeeds(run: () => void): boolean {
  try {
    run();
    return true;
  } catch (error) {
    if (!(error instanceof ExpectedError)) throw error;
    showStatus(`${say(error.what)}. ${say(error.remedy)}.`);
    return false;
  }
}

function openModel(model: string): void {
  const sample = new Map(Object.entries(samples)).get(model);
  const text = hubModel(own(published, model) ?? '');
  if (sample !== undefined) open(Object.entries(sample).map(([name, content]) => [`${model}/${name}`, content]));
  else if (text !== null)
    open([
      [`${model}/terapipe.json`, newConfigText('config.json', null, { gpu: assumedGpuName, nodes: 8, gpusPerNode: null })],
      [`${model}/config.json`, `${JSON.stringify(JSON.parse(text), null, 2)}\n`],
    ]);
}

function goToStart(): void {
  first.textContent = '';
  document.body.dataset['screen'] = 'start';
  element('paste').focus();
}

async function openFiles(list: Iterable<File>): Promise<void> {
  const path = (file: File): string => file.webkitRelativePath.split('/').slice(1).join('/') || file.name;
  await openNamed([...list].map((file) => [path(file), file]));
}

async function openNamed(named: readonly NamedFile[]): Promise<void> {
  const isRead = ([path, { size }]: NamedFile): boolean => size <= 5e6 && (mayBeConfig(path) || /\.csv$/i.test(path));
  openOrJoin(await Promise.all(named.filter(isRead).map(async ([path, file]) => [path, await file.text()] as const)));
}

/** Opens what was dropped; a measured run that is dropped on a plan is compared with it. */
async function openDropped(dropped: DataTransfer): Promise<void> {
  const named = await droppedFiles(dropped, mostFiles);
  const [first] = named;
  if (first !== undefined && document.body.dataset['screen'] === 'work' && (await isMeasuredFile(first[1]))) host.compareWith(first[1]);
  else await openNamed(named);
}

async function copyLink(): Promise<void> {
  const shown = host.shown();
  if (shown === null) return;
  const all = [...files.all()].sort(([a], [b]) => Number(b === shown) - Number(a === shown));
  const fragment = await toFragment(all.map(([file, text]) => [displayPath(file), text]));
  history.replaceState(null, '', fragment);
  await navigator.clipboard.writeText(location.href).catch(() => undefined);
  showStatus('The link in the address bar holds the files. It was copied.');
}

async function openLink(): Promise<void> {
  const linked = await fromFragment(location.hash);
  // Where figures are waited for, the screen of a plan is shown already.
  if (linked !== null && !open(linked) && host.shown() === null) goToStart();
}

function keepForLater(): void {
  if (location.protocol === 'https:' || location.hostname === 'localhost' || location.hostname === '127.0.0.1')
    navigator.serviceWorker.register('sw.js').catch(() => undefined);
}

/** The page itself: it asks for its host when it starts. */
function loadPage(): void {
  const script = document.createElement('script');
  script.type = 'module';
  script.src = 'webview.js';
  document.body.append(script);
}

function reported(work: Promise<void>): void {
  work.catch((error: unknown) => {
    if (!(error instanceof ExpectedError)) throw error;
    showStatus(`${say(error.what)}. ${say(error.remedy)}.`);
  });
}

function fillStart(): void {
  const button = (label: string, run: () => void): HTMLLIElement => {
    const item = document.createElement('li');
    const made = document.createElement('button');
    made.type = 'button';
    made.textContent = label;
    made.addEventListener('click', run);
    item.append(made);
    return item;
  };
  element('models').append(...knownModels.map((model) => button(knownModelNames[model], () => openModel(model))));
  element('samples').append(
    ...Object.entries(samples).flatMap(([name, sample]) =>
      knownModels.some((model) => model === name) ? [] : [button(name, () => open(Object.entries(sample)))],
    ),
  );
}

fillStart();
watchKeys(() => focus, toPage);
editor.addEventListener('input', () => {
  first.textContent = '';
  files.put(displayed(), editor.value);
});
picker.addEventListener('change', () => display(displayed()));
element('plan', HTMLButtonElement).disabled = false;
element('plan').addEventListener('click', () => openText(element('paste', HTMLTextAreaElement).value));
element('paste').addEventListener('paste', () => setTimeout(() => openText(element('paste', HTMLTextAreaElement).value)));
// What a config lacks is pasted anywhere on its page: nothing else is.
document.addEventListener('paste', (event) => {
  const text = event.clipboardData?.getData('text/plain') ?? '';
  const isField = event.target === editor || event.target instanceof HTMLInputElement;
  if (document.body.dataset['screen'] === 'work' && host.isRefused() && !isField && text !== '') openText(text);
});
element('home').addEventListener('click', goToStart);
element('link').addEventListener('click', () => reported(copyLink()));
element('edit').addEventListener('click', () => (document.body.dataset['editing'] = String(document.body.dataset['editing'] !== 'true')));
for (const id of ['file', 'folder']) {
  const input = element(id, HTMLInputElement);
  input.disabled = false;
  input.addEventListener('change', () => reported(openFiles([...(input.files ?? [])].slice(0, mostFiles))));
}
document.addEventListener('dragover', (event) => event.preventDefault());
document.addEventListener('drop', (event) => {
  event.preventDefault();
  if (event.dataTransfer !== null) reported(openDropped(event.dataTransfer));
});
window.addEventListener('hashchange', () => reported(openLink()));
reported(openLink());
loadPage();
// What is kept for when there is no network is fetched once the page has what it needs.
requestIdleCallback(() => setTimeout(keepForLater, 3000));

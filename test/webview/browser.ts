import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { chromium, type BrowserContext, type Locator, type Page } from 'playwright-core';
import { pageHtml } from '../../src/extension/views/page-html';
import { packMessage } from '../property/packed-whole';
import type { HostMessage, PageKind, PageMessage } from '../../src/protocol/page';
import { parsePageMessage } from '../../src/protocol/page-schema';
import { fontFace, vendoredFont } from './font';
import { workbenchKeys } from './workbench-keys';
import { themeOf, type PageTheme, type ThemeName } from './themes';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const nonce = 'dGVzdC1ub25jZQ';

/** A page as VS Code would show it, its messages and its complaints. */
export interface OpenPage {
  readonly page: Page;
  readonly send: (message: HostMessage) => Promise<void>;
  readonly messages: () => Promise<readonly PageMessage[]>;
  readonly setTheme: (name: ThemeName) => Promise<void>;
  /** CSP violations, errors and warnings of the console so far, and messages that the host would refuse. */
  readonly complaints: () => Promise<readonly string[]>;
  readonly close: () => Promise<void>;
}

export interface OpenOptions {
  readonly kind: PageKind;
  readonly width: number;
  readonly height?: number;
  readonly theme?: ThemeName;
  readonly scale?: number;
  readonly savedState?: unknown;
  readonly reducedMotion?: boolean;
  readonly bodyClass?: string;
  /** Texts in the font that tests bring along, so that they are as wide everywhere. */
  readonly vendoredFont?: boolean;
}

/** A server that plays the host's part and a browser that plays VS Code's. */
export interface Stage {
  /** Version of Chromium. */
  readonly version: string;
  readonly open: (options: OpenOptions) => Promise<OpenPage>;
  /** A profile of its own, for pages that keep something; the caller closes it. */
  readonly newProfile: (viewport: { readonly width: number; readonly height: number }) => Promise<BrowserContext>;
  /** The upper left part of a picture, scaled to a width; pixels. */
  readonly scaled: (
    png: Buffer,
    part: { readonly fromWidth: number; readonly fromHeight: number; readonly width: number },
  ) => Promise<Buffer>;
  readonly close: () => Promise<void>;
}

interface Harnessed {
  readonly harness: {
    /**
     * A packed message as two strings, JSON and its buffer in base64: playwright looks at every value of an object and every byte of an
     * array several times.
     */
    readonly send: (packed: { readonly json: string; readonly base64: string }) => void;
    readonly setTheme: (theme: PageTheme, extraClass: string) => void;
  };
}

/** What VS Code puts into a webview, and ears for violations; runs before the page's own script. */
const harness = `
  const messages = [];
  const complaints = [];
  let isReady;
  const ready = new Promise((resolve) => { isReady = resolve; });
  let state = SAVED;
  const waiting = new Set();
  /** Has \`waiting\` hold what the page asked to be called back for, as long as it has not been. */
  const counted = (ask, drop) => {
    const [request, cancel] = [window[ask], window[drop]];
    window[ask] = (run, ...rest) => {
      const id = request((...given) => { waiting.delete(key); run(...given); }, ...rest);
      const key = ask + id;
      waiting.add(key);
      return id;
    };
    window[drop] = (id) => { waiting.delete(ask + id); cancel(id); };
    return request;
  };
  counted('setTimeout', 'clearTimeout');
  const request = counted('requestAnimationFrame', 'cancelAnimationFrame');
  const frame = () => new Promise((resolve) => request(() => request(resolve)));
  const fetching = () => document.querySelector('.panel[aria-busy]') !== null;
  const drawn = async () => {
    do await frame(); while (fetching() || [...waiting].some((key) => key.startsWith('requestAnimationFrame')));
  };
  const settled = async () => {
    do await frame(); while (fetching() || waiting.size > 0);
  };
  ${workbenchKeys(root)}
  let wheels = 0;
  window.addEventListener('wheel', () => { wheels += 1; }, { capture: true, passive: true });
  document.addEventListener('securitypolicyviolation', (event) =>
    complaints.push('CSP ' + event.violatedDirective + ' ' + event.blockedURI + ' ' + event.sourceFile + ':' + event.lineNumber));
  window.addEventListener('error', (event) => complaints.push('error ' + event.message));
  window.acquireVsCodeApi = () => ({
    postMessage: (message) => {
      if (message.type === 'focus') return pageFocus(message.on);
      messages.push(structuredClone(message));
      if (message.type === 'ready') isReady();
    },
    getState: () => state,
    setState: (next) => { state = structuredClone(next); },
  });
  window.harness = {
    messages, complaints, ready, settled, drawn,
    state: () => state,
    wheels: () => wheels,
    send: ({ json, base64 }) => {
      const text = atob(base64);
      const bytes = new Uint8Array(text.length);
      for (let at = 0; at < text.length; at += 1) bytes[at] = text.charCodeAt(at);
      window.postMessage({ ...JSON.parse(json), buffer: bytes.buffer }, '*');
    },
    setTheme: ({ bodyClass, variables }, extra) => {
      document.documentElement.removeAttribute('style');
      for (const [name, value] of Object.entries(variables)) document.documentElement.style.setProperty(name, value);
      document.body.dataset.vscodeThemeKind = bodyClass.split(' ').at(-1);
      document.body.className = (bodyClass + ' ' + extra).trim();
    },
  };
`;

/** Starts server and browser. Needs the built page in dist/. */
export async function openStage(chromiumPath: string): Promise<Stage> {
  const pages = new Map<string, OpenOptions>();
  const server = createServer((request, response) => {
    void answer(server, pages, request.url ?? '/').then(
      ({ type, text }) => response.setHeader('content-type', type).setHeader('cache-control', 'max-age=3600').end(text),
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const isRoot = process.getuid?.() === 0;
  // A part that is drawn again, and not its whole tile, differs by a grey level where a corner is smoothed: which part depends on time.
  const args = ['--disable-partial-raster', ...(isRoot ? ['--no-sandbox'] : [])];
  const browser = await chromium.launch({ executablePath: chromiumPath, args });
  const contexts = new Map<number, Promise<BrowserContext>>();
  const contextOf = (deviceScaleFactor: number): Promise<BrowserContext> => {
    const context = contexts.get(deviceScaleFactor) ?? browser.newContext({ deviceScaleFactor, locale: 'en-US', timezoneId: 'UTC' });
    contexts.set(deviceScaleFactor, context);
    return context;
  };
  /** Pages that nobody looks at any more, by scale: another document in one is opened sooner than another page. */
  const idle = new Map<number, Page[]>();
  return {
    version: browser.version(),
    open: async (options) => {
      const scale = options.scale ?? 1;
      const left = idle.get(scale) ?? [];
      idle.set(scale, left);
      const page = left.pop() ?? (await newPage(await contextOf(scale)));
      return openPage(page, server, pages, options, () => void left.push(page));
    },
    newProfile: (viewport) => browser.newContext({ viewport, locale: 'en-US', timezoneId: 'UTC' }),
    scaled: async (png, { fromWidth, fromHeight, width }) => {
      const scale = width / fromWidth;
      const page = await browser.newPage({ viewport: { width, height: Math.round(fromHeight * scale) } });
      const source = `data:image/png;base64,${png.toString('base64')}`;
      await page.setContent(
        `<body style="margin:0;overflow:hidden"><img style="transform-origin:0 0;transform:scale(${scale})" src="${source}">`,
      );
      await page.waitForFunction('document.images[0].complete');
      const picture = await page.screenshot();
      await page.close();
      return picture;
    },
    close: async () => {
      await browser.close();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function origin(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function answer(
  server: Server,
  pages: ReadonlyMap<string, OpenOptions>,
  url: string,
): Promise<{ readonly type: string; readonly text: string | Buffer }> {
  const options = pages.get(url);
  if (options !== undefined) {
    const html = pageHtml({
      page: options.kind,
      title: 'TeraPipe',
      scriptUri: `${origin(server)}/webview.js`,
      styleUri: `${origin(server)}/page.css`,
      cspSource: origin(server),
      nonce,
    });
    const saved = JSON.stringify(options.savedState ?? null).replace(/</g, '\\u003c');
    const { bodyClass, variables } = themeFor(options, options.theme ?? 'dark');
    const start = `${harness.replace('SAVED', saved)}; harness.setTheme(${JSON.stringify({ bodyClass, variables })}, ${JSON.stringify(options.bodyClass ?? '')});`;
    return { type: 'text/html', text: html.replace('<script type', `<script nonce="${nonce}">${start}</script>\n    <script type`) };
  }
  if (url === '/webview.js' || /^\/page\/[\w-]+\.js$/.test(url))
    return { type: 'text/javascript', text: await readFile(path.join(root, 'dist', url), 'utf8') };
  if (url === '/page.css') return { type: 'text/css', text: `${await readFile(path.join(root, 'dist/page.css'), 'utf8')}\n${fontFace}` };
  if (url === '/font.woff2') return { type: 'font/woff2', text: await readFile(vendoredFont.file) };
  if (url === '/favicon.ico') return { type: 'image/x-icon', text: '' };
  throw new Error('not found');
}

/** A theme, in the font of the tests where the page asks for that. */
function themeFor({ vendoredFont: isVendored = false }: OpenOptions, name: ThemeName): PageTheme {
  const theme = themeOf(name);
  const families = { '--vscode-font-family': `'${vendoredFont.family}'`, '--vscode-editor-font-family': `'${vendoredFont.family}'` };
  return isVendored ? { ...theme, variables: { ...theme.variables, ...families } } : theme;
}

/** What the page has saved, once it has drawn what it was asked to draw and no timer of it is left. */
export async function savedState<T>(page: Page): Promise<T> {
  await page.evaluate('harness.settled()');
  return page.evaluate<T>('harness.state()');
}

/** A new page that is used as a person uses it: what comes after a click or a key waits for what that had the page draw. */
async function newPage(context: BrowserContext): Promise<Page> {
  const page = await context.newPage();
  harnessed.add(page);
  const drawn = (): Promise<void> => page.evaluate('harness.drawn()');
  const { keyboard, mouse } = page;
  const [press, click] = [keyboard.press.bind(keyboard), mouse.click.bind(mouse)];
  keyboard.press = async (...given) => press(...given).then(drawn);
  mouse.click = async (...given) => click(...given).then(drawn);
  const locators = Object.getPrototypeOf(page.locator('html')) as Locator & { [waits]?: true };
  if (locators[waits] === undefined) waitAfterClicks(locators);
  return page;
}

/** Pages of stages: locators have one prototype for these and for those of VS Code, in which there is no harness. */
const harnessed = new WeakSet<Page>();

const waits = Symbol('waits');

function waitAfterClicks(locators: Locator & { [waits]?: true }): void {
  locators[waits] = true;
  const click = Reflect.get<Record<'click', (this: Locator, ...given: Parameters<Locator['click']>) => Promise<void>>, 'click'>(
    locators,
    'click',
  );
  locators.click = async function clickAndWait(this: Locator, ...given) {
    await click.apply(this, given);
    if (harnessed.has(this.page())) await this.page().evaluate('harness.drawn()');
  };
}

/** A page that has grown larger is closed: together they would take more than a small machine has. */
const mostIdleBytes = 100e6;

async function openPage(
  page: Page,
  server: Server,
  pages: Map<string, OpenOptions>,
  options: OpenOptions,
  closed: () => void,
): Promise<OpenPage> {
  await page.setViewportSize({ width: options.width, height: options.height ?? 900 });
  await page.emulateMedia({ reducedMotion: options.reducedMotion === true ? 'reduce' : 'no-preference' });
  page.setDefaultTimeout(60_000);
  // A busy machine takes longer to load a page. The harness names a case that hangs.
  page.setDefaultNavigationTimeout(0);
  const console: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type()) && !message.text().includes('favicon')) console.push(`console ${message.text()}`);
  });
  page.on('pageerror', (error) => console.push(`error ${error.message}`));
  const url = `/page-${pages.size}`;
  pages.set(url, options);
  await page.goto(origin(server) + url);
  await page.evaluate('harness.ready');
  if (options.vendoredFont === true) await page.evaluate(`document.fonts.load('13px "${vendoredFont.family}"')`);
  return {
    page,
    send: async (message) => {
      const { buffer, ...packed } = packMessage(message);
      const sent = { json: JSON.stringify(packed), base64: Buffer.from(buffer).toString('base64') };
      await page.evaluate((each) => (globalThis as unknown as Harnessed).harness.send(each), sent);
    },
    messages: () => page.evaluate('window.harness.messages'),
    setTheme: async (name) => {
      await page.evaluate((theme) => (globalThis as unknown as Harnessed).harness.setTheme(theme, ''), themeFor(options, name));
    },
    complaints: async () => {
      const messages = await page.evaluate<unknown[]>('window.harness.messages');
      const refused = messages
        .filter((message) => parsePageMessage(message) === null)
        .map((message) => `the host refuses ${JSON.stringify(message)}`);
      return [...console, ...(await page.evaluate<string[]>('window.harness.complaints')), ...refused];
    },
    close: async () => {
      page.removeAllListeners();
      const heapBytes = await page.evaluate<number>('performance.memory.totalJSHeapSize').catch(() => Infinity);
      if (heapBytes > mostIdleBytes) {
        await page.close();
        return;
      }
      // The pointer of the next case starts outside the page.
      await page.mouse.move(-1, -1);
      await page.goto('about:blank');
      closed();
    },
  };
}

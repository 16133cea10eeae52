import * as vscode from 'vscode';
import type { PageKind, TabId } from '../../protocol/page';
import type { CandidateId } from '../../core/planner/plan';
import { linkPage, type LinkServices, type PageReport } from '../../host/pages/page-link';
import type { SessionState } from '../../host/sessions/session-state';
import { pageHtml } from './page-html';
import { affectsTrainingCost } from '../platform/settings';
import type { FocusedPage, PageFocusKeeper } from './page-focus';

/** What all pages share. */
export interface PageServices extends LinkServices {
  readonly extensionUri: vscode.Uri;
  readonly log: vscode.LogOutputChannel;
  readonly focus: PageFocusKeeper;
}

/** What a page shows, and where. */
export interface PageSource {
  readonly page: PageKind;
  readonly title: string;
  /** The session to show now. */
  readonly session: () => SessionState | null;
  readonly isVisible: () => boolean;
  /** Of the side view: whether the tab of a config is in view too. */
  readonly isTabInView?: (file: string) => boolean;
}

export interface Page {
  readonly dispose: () => void;
  /** Posts the state soon, when the page can receive it. */
  readonly refresh: () => void;
  /** Call when the page was hidden or shown: a hidden one is gone, and is back when it sends `ready`. */
  readonly visibilityChanged: () => void;
  /** Brings one tab and candidate forward, now or as soon as the page is ready. */
  readonly showTab: (tab: TabId, candidate: CandidateId | null) => void;
}

/** Fills a webview with our page and keeps it current. */
export function attachPage(webview: vscode.Webview, services: PageServices, source: PageSource): Page {
  const { extensionUri, log, focus } = services;
  const focused: FocusedPage = { kind: source.page, send: (message) => void webview.postMessage(message) };

  webview.options = optionsFor(extensionUri);

  function report(message: PageReport): void {
    if (message === null) log.warn(`The ${source.page} page sent a message that is not in the protocol; ignored.`);
    else if (message.type === 'focus') focus.note(focused, message.on);
    else log[message.level](`${source.page} page: ${message.message}`);
  }

  const link = linkPage(services, { ...source, post: (part) => webview.postMessage(part), report });
  const subscriptions = vscode.Disposable.from(
    link,
    new vscode.Disposable(() => focus.left(focused)),
    webview.onDidReceiveMessage(link.receive),
    vscode.workspace.onDidGrantWorkspaceTrust(link.refresh),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (affectsTrainingCost(event)) link.refresh();
    }),
  );
  webview.html = buildHtml(webview, extensionUri, source);
  return {
    refresh: link.refresh,
    visibilityChanged: () => {
      link.visibilityChanged();
      if (!source.isVisible()) focus.left(focused);
    },
    showTab: link.showTab,
    dispose: () => void subscriptions.dispose(),
  };
}

/** Scripts run, and only our own files are loaded. */
function optionsFor(extensionUri: vscode.Uri): vscode.WebviewOptions {
  const localResourceRoots = ['dist', 'media'].map((folder) => vscode.Uri.joinPath(extensionUri, folder));
  return { enableScripts: true, localResourceRoots };
}

function buildHtml(webview: vscode.Webview, extensionUri: vscode.Uri, { page, title }: PageSource): string {
  const asset = (name: string): string => webview.asWebviewUri(vscode.Uri.joinPath(extensionUri, 'dist', name)).toString();
  return pageHtml({
    page,
    title,
    scriptUri: asset('webview.js'),
    styleUri: asset('page.css'),
    cspSource: webview.cspSource,
    nonce: btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(18)))),
  });
}

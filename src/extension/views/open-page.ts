import type { Webview } from 'vscode';
import type { Page, PageSource } from './page-host';

/** Fills a webview with our page. */
export type OpenPage = (webview: Webview, source: PageSource) => Page;

/** Opens pages with code that is loaded with the first of them: a start without a page goes without it. What comes earlier waits. */
export function openPageWith(load: () => Promise<OpenPage>, onError: (error: unknown) => void): OpenPage {
  let loading: Promise<OpenPage> | null = null;
  return (webview, source) => {
    let isGone = false;
    const page = (loading ??= load()).then((open) => (isGone ? null : open(webview, source)));
    const soon = (act: (opened: Page) => void): void => {
      page.then((opened) => (opened === null ? undefined : act(opened))).catch(onError);
    };
    return {
      refresh: () => soon(({ refresh }) => refresh()),
      visibilityChanged: () => soon(({ visibilityChanged }) => visibilityChanged()),
      showTab: (tab, candidate) => soon(({ showTab }) => showTab(tab, candidate)),
      dispose: () => {
        isGone = true;
        soon(({ dispose }) => dispose());
      },
    };
  };
}

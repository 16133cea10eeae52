import type { Webview } from 'vscode';
import type { Page, PageSource } from './page-host';

/** Fills a webview with our page. */
export type OpenPage = (webview: Webview, source: PageSource) => Page;

/** Opens pages with code that is loaded with the first of them, and not as the extension starts. What comes earlier waits. */
export function openPageWith(load: () => Promise<OpenPage>, onError: (error: unknown) => void): OpenPage {
  let loading: Promise<OpenPage> | null = null;
  const loadOnce = (): Promise<OpenPage> =>
    (loading ??= load().catch((error: unknown) => {
      loading = null;
      throw error;
    }));
  return (webview, source) => {
    let isGone = false;
    const page = loadOnce().then((open) => (isGone ? null : open(webview, source)));
    page.catch(onError);
    const soon = (act: (opened: Page) => void): void => {
      void page.then(
        (opened) => (opened === null ? undefined : act(opened)),
        // That it did not open is reported above.
        () => undefined,
      );
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

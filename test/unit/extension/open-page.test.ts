import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import type { Webview } from 'vscode';
import { openPageWith, type OpenPage } from '../../../src/extension/views/open-page';
import type { Page, PageSource } from '../../../src/extension/views/page-host';

const webview = {} as Webview;
const source = { page: 'side' } as PageSource;

/** A page that notes what is asked of it. */
function notingPage(notes: string[]): Page {
  const note = (what: string) => () => void notes.push(what);
  return {
    refresh: note('refresh'),
    visibilityChanged: note('visibility'),
    showTab: (tab) => void notes.push(`tab ${tab}`),
    dispose: note('dispose'),
  };
}

const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 0));

describe('a page whose code is loaded when it opens', () => {
  it('gets what was asked of it before, in order, and its code once', async () => {
    const notes: string[] = [];
    let loads = 0;
    const open = openPageWith(
      () => Promise.resolve((loads += 1)).then((): OpenPage => () => notingPage(notes)),
      (error) => notes.push(String(error)),
    );
    const page = open(webview, source);
    page.showTab('memory', null);
    page.refresh();
    assert.deepEqual(notes, []);
    await settled();
    open(webview, source).dispose();
    await settled();
    assert.deepEqual([notes, loads], [['tab memory', 'refresh'], 1]);
  });

  it('does not open once it is gone', async () => {
    let opened = 0;
    const open = openPageWith(
      () => Promise.resolve(() => ((opened += 1), notingPage([]))),
      () => undefined,
    );
    open(webview, source).dispose();
    await settled();
    assert.equal(opened, 0);
  });

  it('reports a load that fails, and loads again for the next page', async () => {
    const errors: string[] = [];
    const notes: string[] = [];
    let loads = 0;
    const open = openPageWith(
      () => (++loads === 1 ? Promise.reject(new Error('gone')) : Promise.resolve(() => notingPage(notes))),
      (error) => errors.push(String(error)),
    );
    open(webview, source).refresh();
    await settled();
    open(webview, source).refresh();
    await settled();
    assert.deepEqual([errors, notes], [['Error: gone'], ['refresh']]);
  });
});

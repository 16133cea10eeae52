import assert from 'node:assert/strict';
import { describe, it } from 'mocha';
import { createPageFocus, type FocusedPage } from '../../../src/extension/views/page-focus';
import type { HostMessage } from '../../../src/protocol/page';

/** Two pages, the messages that each was sent, and the values that the context key was set to. */
function twoPages() {
  const keys: string[] = [];
  const sent: [string, HostMessage][] = [];
  const page = (kind: FocusedPage['kind']): FocusedPage => ({ kind, send: (message) => sent.push([kind, message]) });
  return { keys, sent, side: page('side'), tab: page('tab'), focus: createPageFocus((on) => keys.push(on)) };
}

describe('focus of pages', () => {
  it('is that of the page which has it, also where the other shows late that it has lost it', () => {
    const { keys, focus, side, tab } = twoPages();
    focus.note(side, 'other');
    focus.note(tab, 'lanes');
    focus.note(side, 'none');
    focus.note(tab, 'field');
    focus.note(tab, 'field');
    focus.note(tab, 'none');
    assert.deepEqual(keys, ['other', 'lanes', 'field', 'none']);
  });

  it("is nobody's when its page is hidden or closed", () => {
    const { keys, sent, focus, side, tab } = twoPages();
    focus.note(tab, 'lanes');
    focus.left(side);
    assert.deepEqual(keys, ['lanes']);
    focus.left(tab);
    focus.act('terapipe.page.zoomIn');
    assert.deepEqual(keys, ['lanes', 'none']);
    assert.deepEqual(sent, []);
  });

  it('decides which page does a command; from the palette it is the last one that knows it', () => {
    const { sent, focus, side, tab } = twoPages();
    focus.note(tab, 'lanes');
    focus.act('terapipe.page.zoomIn');
    focus.note(side, 'other');
    focus.note(side, 'none');
    focus.act('terapipe.page.zoomOut');
    focus.act('terapipe.page.nextPart');
    assert.deepEqual(sent, [
      ['tab', { type: 'act', command: 'terapipe.page.zoomIn', focus: 'lanes' }],
      ['tab', { type: 'act', command: 'terapipe.page.zoomOut', focus: 'none' }],
      ['side', { type: 'act', command: 'terapipe.page.nextPart', focus: 'none' }],
    ]);
  });
});

import { sentence, type Sentence } from '../core/sentence';

/** What has the keyboard focus of a page: nothing of it, something that takes letters, the lanes of a timeline, anything else. */
export const pageFocuses = ['none', 'field', 'lanes', 'other'] as const;
export type PageFocus = (typeof pageFocuses)[number];

/** One default key of a command, as VS Code writes it, and the focus that it needs: lanes, or anything of a page but a field. */
interface PageKey {
  readonly key: string;
  readonly where: 'lanes' | 'page';
}

/** A command of pages: what it does, in words, the keys that it has by default, and the pages that know it. */
export interface PageCommand {
  readonly title: Sentence;
  readonly keys: readonly PageKey[];
  readonly pages: readonly ('side' | 'tab')[];
}

const keysIn =
  (where: PageKey['where']) =>
  (...keys: readonly string[]): readonly PageKey[] =>
    keys.map((key) => ({ key, where }));
const anywhere = keysIn('page');
const inLanes = keysIn('lanes');
const both = ['side', 'tab'] as const;
const tab = ['tab'] as const;

/**
 * Every command of pages, in the order of the list that they show; `package.json` contributes them with these titles and keys, which a test
 * holds. W, A, S and D are physical keys, so that they lie together on every keyboard.
 */
export const pageKeys = {
  'terapipe.page.nextPart': { title: sentence`Go to the next part of the page`, keys: anywhere('n'), pages: both },
  'terapipe.page.previousPart': { title: sentence`Go to the previous part of the page`, keys: anywhere('shift+n'), pages: both },
  'terapipe.page.zoomIn': { title: sentence`Zoom in`, keys: anywhere('[KeyW]', 'shift+=', '=', 'numpad_add'), pages: tab },
  'terapipe.page.zoomOut': { title: sentence`Zoom out`, keys: anywhere('[KeyS]', '-', 'numpad_subtract'), pages: tab },
  'terapipe.page.panLeft': { title: sentence`Move left`, keys: anywhere('[KeyA]'), pages: tab },
  'terapipe.page.panRight': { title: sentence`Move right`, keys: anywhere('[KeyD]'), pages: tab },
  'terapipe.page.higherRows': { title: sentence`Higher rows`, keys: anywhere('shift+[KeyW]'), pages: tab },
  'terapipe.page.lowerRows': { title: sentence`Lower rows`, keys: anywhere('shift+[KeyS]'), pages: tab },
  'terapipe.page.previousOperation': { title: sentence`Previous operation of the stage`, keys: inLanes('left'), pages: tab },
  'terapipe.page.nextOperation': { title: sentence`Next operation of the stage`, keys: inLanes('right'), pages: tab },
  'terapipe.page.stageAbove': { title: sentence`Operation of the stage above`, keys: inLanes('up'), pages: tab },
  'terapipe.page.stageBelow': { title: sentence`Operation of the stage below`, keys: inLanes('down'), pages: tab },
  'terapipe.page.previousOfMicroBatch': { title: sentence`Previous of the same micro-batch`, keys: anywhere('['), pages: tab },
  'terapipe.page.nextOfMicroBatch': { title: sentence`Next of the same micro-batch`, keys: anywhere(']'), pages: tab },
  'terapipe.page.firstOperation': { title: sentence`First operation of the stage`, keys: inLanes('home'), pages: tab },
  'terapipe.page.lastOperation': { title: sentence`Last operation of the stage`, keys: inLanes('end'), pages: tab },
  'terapipe.page.scrollUp': { title: sentence`Scroll the stages up`, keys: inLanes('pageup'), pages: tab },
  'terapipe.page.scrollDown': { title: sentence`Scroll the stages down`, keys: inLanes('pagedown'), pages: tab },
  'terapipe.page.zoomToSelection': {
    title: sentence`Zoom to the selection`,
    keys: [...anywhere('f'), ...inLanes('enter')],
    pages: tab,
  },
  'terapipe.page.zoomToFit': { title: sentence`Zoom to the whole step`, keys: anywhere('0', 'numpad0'), pages: tab },
  'terapipe.page.criticalPath': { title: sentence`Outline the critical path`, keys: anywhere('c'), pages: tab },
  'terapipe.page.toggleNode': { title: sentence`Collapse or expand the node of the stage`, keys: anywhere('g'), pages: tab },
  'terapipe.page.toggleNodes': { title: sentence`Collapse or expand the stages of all nodes`, keys: anywhere('shift+g'), pages: tab },
  'terapipe.page.pinStage': { title: sentence`Pin or unpin the row of the stage`, keys: anywhere('p'), pages: tab },
  'terapipe.page.find': { title: sentence`Find a stage, micro-batch or slice`, keys: anywhere('/'), pages: tab },
  'terapipe.page.back': { title: sentence`Step back`, keys: inLanes('escape'), pages: tab },
  'terapipe.page.showKeys': { title: sentence`Show the keys of the page`, keys: anywhere('shift+/'), pages: both },
} satisfies Readonly<Record<string, PageCommand>>;

export type PageCommandId = keyof typeof pageKeys;

/** Their ids, in the order of the list. */
export const pageCommandIds = Object.keys(pageKeys) as readonly PageCommandId[];

import { pageCommandIds, type PageCommandId } from '../../src/protocol/page-keys';

/** What a command asks of a page. */
export type PageAction =
  | { readonly do: 'part'; readonly by: 1 | -1 }
  | { readonly do: 'showKeys' }
  | { readonly do: 'zoom'; readonly factor: number }
  | { readonly do: 'zoomRows'; readonly factor: number }
  /** Fractions of what is visible. */
  | { readonly do: 'pan'; readonly fraction: number }
  | { readonly do: 'scroll'; readonly fraction: number }
  /** To another operation: on the same stage, on the neighbouring one, or of the same micro-batch. */
  | { readonly do: 'step'; readonly along: 'stage' | 'stages' | 'microBatch'; readonly by: 1 | -1 }
  | { readonly do: 'edge'; readonly end: 'first' | 'last' }
  | { readonly do: 'fitSelection' | 'fitAll' | 'find' | 'back' | 'criticalPath' | 'toggleNode' | 'toggleNodes' | 'togglePin' };

const actions: Readonly<Record<PageCommandId, PageAction>> = {
  'terapipe.page.nextPart': { do: 'part', by: 1 },
  'terapipe.page.previousPart': { do: 'part', by: -1 },
  'terapipe.page.zoomIn': { do: 'zoom', factor: 1.3 },
  'terapipe.page.zoomOut': { do: 'zoom', factor: 1 / 1.3 },
  'terapipe.page.panLeft': { do: 'pan', fraction: -0.15 },
  'terapipe.page.panRight': { do: 'pan', fraction: 0.15 },
  'terapipe.page.higherRows': { do: 'zoomRows', factor: 1.25 },
  'terapipe.page.lowerRows': { do: 'zoomRows', factor: 1 / 1.25 },
  'terapipe.page.previousOperation': { do: 'step', along: 'stage', by: -1 },
  'terapipe.page.nextOperation': { do: 'step', along: 'stage', by: 1 },
  'terapipe.page.stageAbove': { do: 'step', along: 'stages', by: -1 },
  'terapipe.page.stageBelow': { do: 'step', along: 'stages', by: 1 },
  'terapipe.page.previousOfMicroBatch': { do: 'step', along: 'microBatch', by: -1 },
  'terapipe.page.nextOfMicroBatch': { do: 'step', along: 'microBatch', by: 1 },
  'terapipe.page.firstOperation': { do: 'edge', end: 'first' },
  'terapipe.page.lastOperation': { do: 'edge', end: 'last' },
  'terapipe.page.scrollUp': { do: 'scroll', fraction: -0.8 },
  'terapipe.page.scrollDown': { do: 'scroll', fraction: 0.8 },
  'terapipe.page.zoomToSelection': { do: 'fitSelection' },
  'terapipe.page.zoomToFit': { do: 'fitAll' },
  'terapipe.page.criticalPath': { do: 'criticalPath' },
  'terapipe.page.toggleNode': { do: 'toggleNode' },
  'terapipe.page.toggleNodes': { do: 'toggleNodes' },
  'terapipe.page.pinStage': { do: 'togglePin' },
  'terapipe.page.find': { do: 'find' },
  'terapipe.page.back': { do: 'back' },
  'terapipe.page.showKeys': { do: 'showKeys' },
};

/** What a command asks for; null for one that this page does not know. */
export function findAction(command: string): PageAction | null {
  const id = pageCommandIds.find((known) => known === command);
  return id === undefined ? null : actions[id];
}

const eventName = 'terapipe-action';

/** Hands an action to what has the focus, from where it goes up until somebody does it. */
export function sendAction(action: PageAction): void {
  const event = new CustomEvent(eventName, { detail: action, bubbles: true });
  (document.activeElement ?? document.body).dispatchEvent(event);
}

/** Listens for actions that nobody further in has done; `act` returns whether it has done one. */
export function onAction(target: Document | HTMLElement, act: (action: PageAction) => boolean): void {
  target.addEventListener(eventName, (event) => {
    if (event instanceof CustomEvent && act(event.detail as PageAction)) event.stopPropagation();
  });
}

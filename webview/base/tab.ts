import type { PageState } from '../../src/protocol/page';
import type { PageAction } from './actions';
import type { Change, Store } from './store';
import type { ViewState } from './view-state';

/** A tab of the editor page, as its folder in `webview/tabs` declares it. */
export interface Tab {
  /** Its name in the bar: a function, since texts are known only once the page starts. */
  readonly label: () => string;
  /** Whether the bar offers it; left out: as soon as there is a plan. A tab that has nothing to show is offered only while it is open. */
  readonly isOffered?: (state: PageState, view: ViewState) => boolean;
  /** Whether it leaves room for the details of what is selected; left out: it does. */
  readonly hasInspector?: (state: PageState) => boolean;
  /** Whether it shows the compared candidate next to the shown one. */
  readonly showsCompared?: boolean;
  /** Whether it draws every candidate; left out: only those on screen. */
  readonly drawsCandidates?: boolean;
  /** Fetches what makes its view, when the tab is first shown. */
  readonly load: () => Promise<MakeTabView>;
}

/** Makes the view of a tab, once for each page. */
export type MakeTabView = (store: Store, page: TabPage) => TabView;

/** What the page does for its tabs. */
export interface TabPage {
  /** Opens the list of keys. */
  readonly onHelp: () => void;
}

/** What a tab shows. */
export interface TabView {
  readonly element: HTMLElement;
  /** Its own buttons next to the bar of tabs, which the page hides while another tab is on screen; `update` shows them again. */
  readonly actions?: readonly HTMLElement[];
  /** Draws what changed; null: all of it. Called while the tab is on screen. */
  readonly update: (change: Change | null) => void;
  /** Does what a command asks of the page, while the tab is on screen. */
  readonly act?: (action: PageAction) => void;
}

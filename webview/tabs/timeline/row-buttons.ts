import type { StageNode } from '../../../src/core/cluster/rank-groups';
import { fill, h, icon, type Attributes } from '../../base/dom';
import { t } from '../../base/strings';
import { pinnedRows, reveal, rowTop, type Extent, type Viewport } from '../../base/viewport';
import { gutters } from '../../charts/lanes/draw-frame';
import type { Pane, Pointer } from '../../charts/lanes/pane';
import { nodeText } from '../../charts/lanes/row-names';
import type { LaneRow, RowList } from '../../charts/lanes/rows';
import { own } from '../../../src/core/records';

/** Props of the buttons of rows. */
interface RowButtonProps {
  readonly ofFile: boolean;
  readonly viewport: () => Viewport;
  readonly show: (viewport: Viewport) => void;
  readonly onNode: (node: StageNode) => void;
  readonly onPin: (stage: number) => void;
  /** Takes the focus when the button that had it is gone. */
  readonly focusLanes: () => void;
}

/** Buttons over the labels of rows: twisties of nodes, pins of pinned rows, and one to pin the row that is pointed at. */
interface RowButtons {
  readonly element: HTMLElement;
  /** Puts them where their rows are. */
  readonly place: () => void;
  readonly point: (pointer: Pointer | null) => void;
}

interface RowButton {
  readonly row: number;
  readonly element: HTMLButtonElement;
}

/** Makes the buttons, which Tab reaches as one: arrow keys go from one to the next, Left closes a node and Right opens it. */
export function makeRowButtons(pane: Pane, props: RowButtonProps): RowButtons {
  let shown: RowList | null = null;
  let buttons: readonly RowButton[] = [];
  const list = h('div', { class: 'row-buttons-list', role: 'group', 'aria-label': t('Rows') });
  const pin = makePin(pane, props);
  const element = h('div', { class: 'row-buttons' }, list, pin.element);
  const setTabStop = (to: HTMLElement | undefined): void => {
    for (const { element: each } of buttons) each.tabIndex = each === to ? 0 : -1;
  };
  const rebuild = (next: RowList): void => {
    shown = next;
    pin.hide();
    const focused = list.contains(document.activeElement);
    buttons = next.rows.flatMap((row, index) => rowButton(row, index, index < next.pinned, props) ?? []);
    list.hidden = buttons.length === 0;
    fill(list, ...buttons.map((each) => each.element));
    const active = buttons.find((each) => each.element === document.activeElement);
    setTabStop((active ?? buttons[0])?.element);
    if (focused && active === undefined) props.focusLanes();
  };
  const place = (): void => {
    const next = pane.list();
    if (next !== shown) rebuild(next);
    element.style.top = `${gutters.axisPx}px`;
    element.style.bottom = `${gutters.bottomPx}px`;
    element.style.width = `${pane.leftPx() - markPx}px`;
    for (const each of buttons) placeAt(each.element, each.row, pane.extent(), props.viewport());
    pin.place();
  };
  list.addEventListener('focusin', ({ target }) => {
    const found = buttons.find((each) => each.element === target);
    if (found === undefined) return;
    setTabStop(found.element);
    element.scrollTop = 0;
    const now = props.viewport();
    const revealed = reveal(now, found.row, now.startMs, now.endMs, pane.extent());
    if (revealed.scrollPx !== now.scrollPx) props.show(revealed);
  });
  list.addEventListener('keydown', (event) => {
    const at = buttons.findIndex((each) => each.element === event.target);
    const button = buttons[at]?.element;
    if (button === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    const moves: Readonly<Record<string, number>> = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: buttons.length - 1 };
    const to = own(moves, event.key);
    if (to !== undefined) buttons[Math.min(buttons.length - 1, Math.max(0, to))]?.element.focus({ preventScroll: true });
    else if (event.key === 'ArrowRight' || event.key === 'ArrowLeft') {
      if (button.getAttribute('aria-expanded') === String(event.key === 'ArrowLeft')) button.click();
    } else if (event.key === 'Escape') props.focusLanes();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  return { element, place, point: pin.point };
}

/** Room for the mark of the stage whose memory is shown, CSS px. */
const markPx = 6;

/** The button of a row: it lets go a pinned one, and opens and closes a node; null where there is nothing to do. */
function rowButton({ node, stages, collapsed }: LaneRow, row: number, isPinned: boolean, props: RowButtonProps): RowButton | null {
  const stage = stages[0] ?? 0;
  const { ofFile, onPin, onNode } = props;
  const made = (name: string, state: Attributes, onclick: () => void): RowButton => ({
    row,
    element: h('button', { class: 'row-button', type: 'button', 'aria-label': name, title: name, onclick, ...state }),
  });
  if (isPinned) {
    const name = ofFile ? t('Unpin rank {0}', stage) : t('Unpin stage {0}', stage);
    return made(name, { 'aria-pressed': 'true', 'data-focus': `pin-${stage}` }, () => onPin(stage));
  }
  if (node === null) return null;
  const state = { 'aria-expanded': String(!collapsed), 'data-focus': `node-${node.node}` };
  return made(nodeText(node, collapsed ? stages : node.stages), state, () => onNode(node));
}

/** Puts a button over the label of a row; one behind pinned rows is not seen. */
function placeAt(button: HTMLElement, row: number, extent: Extent, viewport: Viewport): void {
  const { rowPx } = viewport;
  const [top, pinned] = [rowTop(viewport, row, extent), pinnedRows(viewport, extent)];
  button.style.top = `${top}px`;
  button.style.height = `${rowPx}px`;
  button.classList.toggle('row-behind', row >= pinned && top + rowPx / 2 < pinned * rowPx);
}

interface Pin extends RowButtons {
  readonly hide: () => void;
}

/** A button next to the number of the hovered stage, which pins its row. */
function makePin(pane: Pane, { ofFile, viewport, onPin, focusLanes }: RowButtonProps): Pin {
  let pointed: number | null = null;
  const element = h('button', { class: 'row-pin', type: 'button', tabindex: -1, hidden: true }, icon('pin'));
  const hide = (): void => {
    pointed = null;
    element.hidden = true;
  };
  const place = (): void => {
    if (pointed === null) return;
    const [list, extent] = [pane.list(), pane.extent()];
    const row = list.laneRow(pointed);
    element.classList.toggle('row-pin-second', list.rows[row]?.node !== null);
    placeAt(element, row, extent, viewport());
  };
  const point = (pointer: Pointer | null): void => {
    if (pointer === null && element.matches(':hover')) return;
    const stage = pointer !== null && pointer.x < pane.leftPx() ? pointer.stage : null;
    if (stage === null || pane.list().laneRow(stage) < pane.list().pinned) {
      hide();
      return;
    }
    pointed = stage;
    element.hidden = false;
    element.title = ofFile ? t('Pin rank {0}', stage) : t('Pin stage {0}', stage);
    element.setAttribute('aria-label', element.title);
    place();
  };
  element.addEventListener('pointerleave', hide);
  element.addEventListener('click', () => {
    const stage = pointed;
    hide();
    focusLanes();
    if (stage !== null) onPin(stage);
  });
  return { element, place, point, hide };
}

import { formatCount } from '../../src/core/format';
import { fill, h, icon, type Child } from './dom';
import { pageAround, type Page } from './pages';
import { t } from './strings';
import { iconButton } from './ui';
import { append } from '../../src/core/records';

/** One cell: text, or a text with a leading drawing; numbers are aligned right. */
export interface Column {
  readonly title: string;
  readonly numeric: boolean;
  /** Of its cells, for styles. */
  readonly className?: string;
  /** A press on the title orders the rows; `descending` is null where another column decides. */
  readonly sort?: { readonly descending: boolean | null; readonly press: () => void };
}

/** What fills a paged table. */
export interface TableContent {
  readonly caption: string;
  readonly columns: readonly Column[];
  readonly total: number;
  /** Cells of rows `page.first` to `page.end - 1`. */
  readonly rows: (page: Page) => readonly (readonly Child[])[];
  /** Index of the row to mark, and to turn to when another is marked; null for none. */
  readonly marked: number | null;
  /** What the marked row is, where an order of rows changes its index; left out: its index. */
  readonly markedId?: string | null;
  readonly onRow?: (index: number) => void;
  /** A double click on a row, or Enter on the marked one. */
  readonly onOpen?: (index: number) => void;
}

/** Rows of a page. */
const usualRows = 50;

/** Rows of a page below a picture that shows all of them. */
export const rowsBelowPicture = 6;

/** What fills each table that is on screen, and the rows that it shows of that. */
const contents = new WeakMap<HTMLTableElement, { readonly content: TableContent; readonly pageSize: number }>();

/** All rows of a table, the head first, with those of pages that are not shown, as `read` takes them while they are in the table. */
export function readRows<T>(table: HTMLTableElement, read: (row: HTMLTableRowElement) => T): T[] {
  const known = contents.get(table);
  if (known === undefined || known.content.total <= known.pageSize) return [...table.rows].map(read);
  const { content } = known;
  const rows = [...(table.tHead?.rows ?? [])].map(read);
  for (let first = 0; first < content.total; first += readAtOnce) {
    const part = buildTable(content, { first, end: Math.min(content.total, first + readAtOnce), total: content.total });
    table.after(part);
    append(rows, [...(part.tBodies[0]?.rows ?? [])].map(read));
    part.remove();
  }
  return rows;
}

/** Rows that are in the document at a time while they are read. */
const readAtOnce = 1_000;

/** A real table with at most `pageSize` rows in the document at a time, and buttons to turn the pages. */
export function makePagedTable(pageSize = usualRows): { readonly element: HTMLElement; readonly show: (content: TableContent) => void } {
  const element = h('div', { class: 'paged-table' });
  let at = 0;
  let marked: number | string | null = null;
  const show = (content: TableContent): void => {
    const next = content.markedId ?? content.marked;
    if (next !== marked && content.marked !== null) at = content.marked;
    marked = next;
    const page = pageAround(at, content.total, pageSize);
    at = page.first;
    const turn = (to: number): void => {
      at = to;
      show(content);
    };
    const table = buildTable(content, page);
    contents.set(table, { content, pageSize });
    fill(element, table, page.total > pageSize ? pager(page, pageSize, turn) : null);
  };
  return { element, show };
}

function buildTable(content: TableContent, page: Page): HTMLTableElement {
  const { onRow, onOpen } = content;
  const cellClass = (index: number): string | null => {
    const { numeric = false, className = '' } = content.columns[index] ?? {};
    const classes = [numeric ? 'numeric' : '', className].filter((name) => name !== '').join(' ');
    return classes === '' ? null : classes;
  };
  const rows = content.rows(page).map((cells, offset) => {
    const index = page.first + offset;
    return h(
      'tr',
      {
        class: index === content.marked ? 'marked' : null,
        'aria-selected': onRow === undefined ? null : String(index === content.marked),
        tabindex: onRow === undefined ? null : 0,
        'data-focus': `row-${index}`,
        ...(onRow === undefined
          ? {}
          : {
              onclick: () => onRow(index),
              ondblclick: () => onOpen?.(index),
              onkeydown: (event: Event) => {
                if (!(event instanceof KeyboardEvent) || event.key !== 'Enter') return;
                if (index === content.marked && onOpen !== undefined) onOpen(index);
                else onRow(index);
              },
            }),
      },
      ...cells.map((cell, column) => h('td', { class: cellClass(column) }, cell)),
    );
  });
  return h(
    'table',
    {},
    h('caption', {}, content.caption),
    h('thead', {}, h('tr', {}, ...content.columns.map((column, index) => header(column, cellClass(index))))),
    h('tbody', {}, ...rows),
  );
}

function header({ title, sort }: Column, className: string | null): HTMLElement {
  if (sort === undefined) return h('th', { scope: 'col', class: className }, title);
  const { descending, press } = sort;
  const order = descending === null ? null : descending ? 'descending' : 'ascending';
  const button = h(
    'button',
    { class: 'sort', type: 'button', 'data-focus': `sort-${title}`, onclick: press },
    h('span', {}, title),
    icon('down'),
  );
  return h('th', { scope: 'col', class: className, 'aria-sort': order }, button);
}

function pager(page: Page, pageSize: number, turn: (first: number) => void): HTMLElement {
  const lastFirst = Math.floor((page.total - 1) / pageSize) * pageSize;
  return h(
    'div',
    { class: 'pager' },
    iconButton({ icon: 'chevron', label: t('Previous page'), onClick: () => turn(Math.max(0, page.first - pageSize)) }),
    h('span', {}, t('{0} to {1} of {2}', formatCount(page.first + 1), formatCount(page.end), formatCount(page.total))),
    iconButton({ icon: 'chevron', label: t('Next page'), onClick: () => turn(Math.min(lastFirst, page.first + pageSize)) }),
  );
}

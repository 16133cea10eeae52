import { formatCount } from '../../../src/core/format';
import { h } from '../../base/dom';
import { t } from '../../base/strings';
import { findField, iconButton } from '../../base/ui';
import { findRows, nextMatch, parseQuery } from './find';
import { at, operationAt, type Operation, type Operations } from '../../base/operations';

/** Props of the find bar. */
interface FindBarProps {
  readonly operations: () => Operations | null;
  /** Whether it searches a schedule file, whose stages lie on ranks. */
  readonly ofFile: boolean;
  /** Row to search behind; -1 from the start. */
  readonly after: () => number;
  readonly found: (operation: Operation) => void;
  readonly left: () => void;
}

/**
 * A bar over the timeline that takes `stage 3 micro-batch 0 slice 4` and counts what matches; Enter moves to the next match, Shift+Enter to
 * the one before.
 */
export function makeFindBar(props: FindBarProps): { readonly element: HTMLElement; readonly open: () => void } {
  const answer = h('span', { class: 'find-answer', 'aria-live': 'polite' });
  let text = '';
  let known: { readonly of: Operations; readonly text: string; readonly rows: Uint32Array | null } | null = null;
  /** Rows that match; null where nothing in the text is understood. */
  const matches = (): Uint32Array | null => {
    const operations = props.operations();
    if (operations === null) return null;
    if (known?.of !== operations || known.text !== text) {
      const query = parseQuery(text, props.ofFile);
      known = { of: operations, text, rows: query === null ? null : findRows(operations, query) };
    }
    return known.rows;
  };
  const show = (index: number | null): void => {
    const rows = matches();
    const count = rows?.length ?? 0;
    answer.textContent =
      text.trim() === ''
        ? ''
        : rows === null
          ? props.ofFile
            ? t('Type rank, micro-batch and stage numbers')
            : t('Type stage, micro-batch and slice numbers')
          : count === 0
            ? t('No match')
            : index === null
              ? t('{0} found', formatCount(count))
              : t('{0} of {1}', formatCount(index + 1), formatCount(count));
    for (const each of [previous, next]) each.toggleAttribute('disabled', count === 0);
  };
  const go = (direction: 1 | -1): void => {
    const [operations, rows] = [props.operations(), matches()];
    const index = rows === null ? -1 : nextMatch(rows, props.after(), direction);
    show(index < 0 ? null : index);
    if (operations !== null && rows !== null && index >= 0) props.found(operationAt(operations, at(rows, index)));
  };
  const close = (): void => {
    element.hidden = true;
    props.left();
  };
  const field = findField(props.ofFile ? t('rank 1 micro-batch 0 stage 3') : t('stage 3 micro-batch 0 slice 4'), {
    onType: (typed) => {
      text = typed;
      show(null);
    },
    onSubmit: go,
    onLeave: close,
  });
  const previous = iconButton({ icon: 'up', label: t('Previous match (Shift+Enter)'), onClick: () => go(-1) });
  const next = iconButton({ icon: 'down', label: t('Next match (Enter)'), onClick: () => go(1) });
  const element = h(
    'div',
    { class: 'find-bar', role: 'search', hidden: true },
    field,
    answer,
    previous,
    next,
    iconButton({ icon: 'cross', label: t('Close find'), onClick: close }),
  );
  const open = (): void => {
    element.hidden = false;
    show(null);
    field.focus();
  };
  return { element, open };
}

import { h } from '../../base/dom';
import { t } from '../../base/strings';
import { iconButton, textField } from '../../base/ui';
import { findNext, parseQuery } from './find';
import type { Operation, Operations } from '../../base/operations';

/** Props of the find bar. */
export interface FindBarProps {
  readonly operations: () => Operations | null;
  /** Whether it searches a schedule file, whose stages lie on ranks. */
  readonly ofFile: boolean;
  /** Row to search behind; -1 from the start. */
  readonly after: () => number;
  readonly found: (operation: Operation) => void;
  readonly left: () => void;
}

/** A bar over the timeline that takes `stage 3 micro-batch 0 slice 4`; Enter goes on to the next match. */
export function makeFindBar(props: FindBarProps): { readonly element: HTMLElement; readonly open: () => void } {
  const answer = h('span', { class: 'find-answer', 'aria-live': 'polite' });
  const close = (): void => {
    element.hidden = true;
    props.left();
  };
  const field = textField(
    props.ofFile ? t('rank 1 micro-batch 0 stage 3') : t('stage 3 micro-batch 0 slice 4'),
    (text) => {
      const operations = props.operations();
      const query = parseQuery(text, props.ofFile);
      const found = operations === null || query === null ? null : findNext(operations, query, props.after());
      answer.textContent =
        query === null
          ? props.ofFile
            ? t('Type rank, micro-batch and stage numbers')
            : t('Type stage, micro-batch and slice numbers')
          : found === null
            ? t('No such operation')
            : '';
      if (found !== null) props.found(found);
    },
    close,
  );
  const element = h(
    'div',
    { class: 'find-bar', role: 'search', hidden: true },
    field,
    answer,
    iconButton({ icon: 'cross', label: t('Close find'), onClick: close }),
  );
  const open = (): void => {
    element.hidden = false;
    answer.textContent = '';
    field.focus();
  };
  return { element, open };
}

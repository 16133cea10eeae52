import type { IconName } from '../../base/dom';
import type { Store } from '../../base/store';
import { t } from '../../base/strings';
import { iconButton, setPressed } from '../../base/ui';

/** What the buttons of a timeline do. */
export interface TimelineActionProps {
  readonly fit: () => void;
  readonly find: () => void;
  readonly help: () => void;
  /** Left out where no node is known. */
  readonly nodes?: {
    readonly toggle: () => void;
    /** Whether each is one row; null where none holds several stages. */
    readonly areCollapsed: () => boolean | null;
  };
}

/** Makes the buttons of a timeline; `update` takes whether there is one to act on. */
export function makeTimelineActions(
  store: Store,
  { fit, find, nodes, help }: TimelineActionProps,
): { readonly elements: readonly HTMLElement[]; readonly update: (hasTimeline: boolean) => void } {
  const toggle = (icon: IconName, label: string, flag: 'table' | 'criticalPath'): HTMLElement =>
    iconButton({ icon, label, onClick: () => store.setView({ [flag]: !store.view()[flag] }) });
  const path = toggle('path', t('Outline the critical path'), 'criticalPath');
  const table = toggle('table', t('Show operations as a table'), 'table');
  const collapse = iconButton({ icon: 'nodes', label: t('Collapse the stages of each node'), onClick: () => nodes?.toggle() });
  const elements = [
    iconButton({ icon: 'fit', label: t('Zoom to fit'), onClick: fit }),
    iconButton({ icon: 'search', label: t('Find an operation'), onClick: find }),
    collapse,
    path,
    table,
    iconButton({ icon: 'keyboard', label: t('Keys'), onClick: help }),
  ];
  return {
    elements,
    update: (hasTimeline) => {
      setPressed(path, store.view().criticalPath);
      setPressed(table, store.view().table);
      for (const element of elements) element.hidden = !hasTimeline;
      const areCollapsed = nodes?.areCollapsed() ?? null;
      collapse.hidden ||= areCollapsed === null;
      setPressed(collapse, areCollapsed === true);
    },
  };
}

import type { IconName } from '../../base/dom';
import type { Store } from '../../base/store';
import { t } from '../../base/strings';
import { iconButton, setPressed } from '../../base/ui';

/** Makes the buttons of a timeline; `update` says whether there is one to act on. */
export function makeTimelineActions(
  store: Store,
  { fit, find, help }: { readonly fit: () => void; readonly find: () => void; readonly help: () => void },
): { readonly elements: readonly HTMLElement[]; readonly update: (hasTimeline: boolean) => void } {
  const toggle = (icon: IconName, label: string, flag: 'table' | 'criticalPath'): HTMLElement =>
    iconButton({ icon, label, onClick: () => store.setView({ [flag]: !store.view()[flag] }) });
  const path = toggle('path', t('Outline the critical path'), 'criticalPath');
  const table = toggle('table', t('Show operations as a table'), 'table');
  const elements = [
    iconButton({ icon: 'fit', label: t('Zoom to fit'), onClick: fit }),
    iconButton({ icon: 'search', label: t('Find an operation'), onClick: find }),
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
    },
  };
}

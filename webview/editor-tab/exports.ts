import type { ExportFormat } from '../../src/protocol/page';
import { readRows } from '../base/paged-table';
import type { MenuItem } from '../shared/menu';
import { t } from '../base/strings';
import { shownCandidate, shownDrawn, type Store } from '../base/store';
import { operationsAsTsv } from '../tabs/timeline/table';
import { fileName, tablesAsCsv, tablesAsMarkdown, type Cells } from '../shared/table-text';

/** What the export menu offers. `announce` reports in words how copying went. */
export function exportItems(store: Store, announce: (message: string) => void, ofFile = false): readonly MenuItem[] {
  const { host } = store;
  // A run that is planned only as an elastic one has no candidate.
  const isOffered = (): boolean => ofFile || store.state().plan !== null;
  const exportItem = (label: string, format: ExportFormat): MenuItem => ({
    label,
    ...(format === 'html' ? {} : { isOffered }),
    run: () => {
      const { plan } = store.state();
      host.post({ type: 'export', format, candidate: plan === null ? null : shownCandidate(plan, store.view()).id });
    },
  });
  return [
    ...shownItems(store, announce),
    { label: t('Timeline as SVG'), isOffered, run: () => void saveTimeline(store) },
    ...(ofFile
      ? []
      : [
          { label: t('Plan as JSON'), run: () => host.post({ type: 'command', command: 'terapipe.exportPlan' }) },
          exportItem(t('Report as HTML'), 'html'),
          // A page in a browser writes no folders.
          ...(document.body.dataset['host'] === 'browser' ? [] : [exportItem(t('PyTorch run as a folder'), 'torchrun')]),
          exportItem(t('Schedule as PyTorch CSV'), 'pytorch-csv'),
          exportItem(t('PyTorch 2.15 CSV with sends'), 'pytorch-csv-comms'),
          exportItem(t('PyTorch 2.14 CSV with sends'), 'pytorch-csv-comms-2.14'),
          exportItem(t('Chrome trace for Perfetto'), 'chrome-trace'),
        ]),
    {
      label: t('Copy operations as table'),
      isOffered,
      run: () => {
        const operations = shownDrawn(store.state(), store.view())?.operations ?? null;
        if (operations === null) return;
        const text = operationsAsTsv(operations);
        navigator.clipboard.writeText(text).then(
          () => announce(t('Copied')),
          () => host.post({ type: 'save', name: `${fileName(documentTitle(store))}.tsv`, mime: 'text/tab-separated-values', text }),
        );
      },
    },
  ];
}

/** What can be exported of the tab on screen: a picture of it, and its tables. */
function shownItems(store: Store, announce: (message: string) => void): readonly MenuItem[] {
  const { host } = store;
  const shown = (): HTMLElement | null => {
    const panels = document.querySelectorAll<HTMLElement>('.panels > .panel:not([hidden]), .schedule-main');
    return [...panels].find((panel) => panel.getClientRects().length > 0) ?? null;
  };
  const name = (ending: string): string => `${fileName(`${documentTitle(store)}-${tabName(store)}`)}.${ending}`;
  const withPanel = (run: (panel: HTMLElement) => void) => (): void => {
    const panel = shown();
    if (panel !== null) run(panel);
  };
  const withTables = (run: (tables: readonly Cells[]) => void): (() => void) =>
    withPanel((panel) => {
      const tables = tablesIn(panel);
      if (tables.length === 0) announce(t('No table is on screen. Show one first.'));
      else run(tables);
    });
  return [
    { label: t('Picture as PNG'), run: withPanel((panel) => void savePicture(store, panel, 'png', name('png'))) },
    { label: t('Picture as SVG'), run: withPanel((panel) => void savePicture(store, panel, 'svg', name('svg'))) },
    {
      label: t('Tables as CSV'),
      run: withTables((tables) => host.post({ type: 'save', name: name('csv'), mime: 'text/csv', text: tablesAsCsv(tables) })),
    },
    {
      label: t('Copy tables as Markdown'),
      run: withTables((tables) => {
        const text = tablesAsMarkdown(tables);
        navigator.clipboard.writeText(text).then(
          () => announce(t('Copied')),
          () => host.post({ type: 'save', name: name('md'), mime: 'text/markdown', text }),
        );
      }),
    },
  ];
}

/** Loads what makes pictures, which few people ask for, and saves the timeline that is shown. */
async function saveTimeline(store: Store): Promise<void> {
  const { saveTimelineSvg } = await import('./picture');
  saveTimelineSvg(store, documentTitle(store));
}

/** The same with what is on screen. */
async function savePicture({ host }: Store, panel: HTMLElement, kind: 'png' | 'svg', name: string): Promise<void> {
  const { pictureAsPng, pictureAsSvg, takePicture } = await import('./picture');
  const picture = takePicture(panel);
  if (kind === 'png') host.post({ type: 'save', name, mime: 'image/png', text: pictureAsPng(picture) });
  else host.post({ type: 'save', name, mime: 'image/svg+xml', text: pictureAsSvg(picture) });
}

/** The tab on screen: a run that is planned only as an elastic one has that one, whichever was picked before. */
function tabName(store: Store): string {
  const { plan, schedule, elastic } = store.state();
  return plan === null && schedule === null && elastic !== null ? 'elastic' : store.view().tab;
}

/** What a page is of. */
function documentTitle(store: Store): string {
  const { plan, elastic, schedule } = store.state();
  return schedule?.timeline.name ?? plan?.request.title ?? elastic?.plan.request.title ?? '';
}

/** The tables that are on screen or folded under an element, the first of them first, with all of their rows. */
function tablesIn(root: HTMLElement): Cells[] {
  return [...root.querySelectorAll('table')]
    .filter((table) => (table.closest('details') ?? table).getClientRects().length > 0)
    .map((table) => readRows(table, (row) => [...row.cells].map((cell) => cell.innerText.replace(/\s+/g, ' ').trim())))
    .filter((cells) => cells.length > 0);
}

import { formatCount, formatNumber } from '../../../src/core/format';
import { fill, h } from '../../base/dom';
import { partAttributes } from '../../base/parts';
import { makePagedTable } from '../../base/paged-table';
import { t } from '../../base/strings';
import type { Store } from '../../base/store';
import { fileName } from '../../shared/table-text';
import { button } from '../../base/ui';
import { makeControls } from './controls';
import { makeFourCharts, type Selected } from './charts';
import { profileDetails, profileFigures, profileHead } from './head';
import { makeEmptyProfile, makeRunningStrip } from './actions';
import { profileNotices } from './notices';
import { directions, profilePoints, profileRatios, type Ratio } from './points';
import { shownProfile, type ShownProfile } from './shown';
import { hasBatches, sampleRows, samplesAsTsv, type SampleRow } from './rows';
import { sampleTable } from './table';
import { pointLines } from './labels';

/** The Profile tab: measured slice times against their fit, how good the fit is, and how they were measured. */
export function makeProfileView(store: Store): { readonly element: HTMLElement; readonly update: () => void } {
  let shown: ShownProfile | null = null;
  let rows: readonly SampleRow[] = [];
  let selected: Selected | null = null;
  const status = h('div', { class: 'visually-hidden', role: 'status' });
  const select = (next: Selected | null): void => {
    selected = next;
    showSelection();
  };
  const charts = makeFourCharts(store, { shown: () => shown, selected: () => selected, select });
  const controls = makeControls(store);
  const running = makeRunningStrip(store.host);
  const head = h('div', { class: 'profile-head' });
  const notices = h('div', { class: 'profile-notices' });
  const table = makePagedTable();
  const details = h('details', { class: 'disclosure profile-details' }, h('summary', {}, t('How it was measured')), h('div'));
  const ratioTable = h('div', { class: 'profile-ratios' });
  charts.ratioSection.append(ratioTable);
  const twin = h(
    'section',
    { ...partAttributes, class: 'table-twin', 'aria-label': t('Measured slices') },
    table.element,
    h('div', { class: 'profile-copy' }, button({ label: t('Copy as table'), appearance: 'secondary', onClick: () => copy() })),
  );
  const full = h('div', { class: 'profile-full' }, running.element, head, notices, controls.element, charts.element, details, twin);
  const empty = makeEmptyProfile(store.host);
  const element = h('div', { class: 'profile-view' }, empty.element, full, status);

  const copy = (): void => {
    const text = samplesAsTsv(rows);
    const name = fileName(shown?.known?.name.replace(/\.json$/, '') ?? 'profile');
    navigator.clipboard.writeText(text).then(
      () => (status.textContent = t('Copied')),
      () => store.host.post({ type: 'save', name: `${name}.tsv`, mime: 'text/tab-separated-values', text }),
    );
  };

  function showSelection(): void {
    if (shown === null) return;
    charts.redraw();
    twin.hidden = rows.length === 0;
    twin.classList.toggle('profile-batches', hasBatches(rows));
    table.show(sampleTable(rows, selected?.index ?? null, (index) => select({ direction: selected?.direction ?? 'forward', index })));
    const point =
      selected === null ? undefined : profilePoints(shown.profile, shown.part)[2 * selected.index + directions.indexOf(selected.direction)];
    const words = point === undefined ? '' : pointLines(point).join('. ');
    if (status.textContent !== words) status.textContent = words;
  }

  const update = (): void => {
    const state = store.state();
    const { profile: profiles = null } = state;
    const next = shownProfile(profiles, store.view());
    full.hidden = next === null;
    empty.element.hidden = next !== null;
    if (next === null || profiles === null) {
      shown = null;
      empty.update(state);
      return;
    }
    const isOther = shown?.known?.file !== next.known?.file || shown?.part !== next.part;
    if (isOther) selected = null;
    shown = next;
    rows = sampleRows(next.profile, next.part);
    const { known, profile } = next;
    running.update(profiles.running);
    fill(
      head,
      profileHead(profile, {
        status: known === null ? 'measuring' : known.file === profiles.used ? 'used' : 'other',
        onShowFile:
          known === null ? null : () => store.host.post({ type: 'reveal', place: { file: known.file, range: { start: 0, end: 0 } } }),
      }),
      profileFigures(profile),
    );
    fill(notices, ...profileNotices(profiles, profile, known?.refusal ?? null, store.host));
    controls.update(state, next);
    charts.update();
    const { compared } = next;
    fill(ratioTable, compared === null ? null : ratiosTable(profileRatios(profile, compared.profile)));
    const [, body] = details.children;
    if (body !== undefined) fill(body, profileDetails(profile));
    showSelection();
  };
  return { element, update };
}

function ratiosTable(ratios: readonly Ratio[]): HTMLElement | null {
  if (ratios.length === 0) return null;
  const cell = (value: string): HTMLElement => h('td', { class: 'numeric' }, value);
  const title = (value: string): HTMLElement => h('th', { class: 'numeric', scope: 'col' }, value);
  return h(
    'table',
    {},
    h('caption', {}, t('Time over that of the profile above, without context')),
    h('thead', {}, h('tr', {}, title(t('Tokens')), title(t('Forward')), title(t('Backward')))),
    h(
      'tbody',
      {},
      ...ratios.map(({ tokens, forward, backward }) =>
        h('tr', {}, cell(formatCount(tokens)), cell(`${formatNumber(forward)}x`), cell(`${formatNumber(backward)}x`)),
      ),
    ),
  );
}

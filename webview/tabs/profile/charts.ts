import { fill, h } from '../../base/dom';
import { t } from '../../base/strings';
import type { Store } from '../../base/store';
import { onThemeChange, theme } from '../../base/theme';
import { checkbox, setChecked } from '../../base/ui';
import { makeChart, type Chart } from '../../charts/chart';
import type { Dot } from '../../charts/content';
import { errorContent, goalPercent, judgedPoints, ratioContent, throughputContent, timeContent } from './content';
import { directions, partFit, findKnee, pointId, valueRange, profileRatios, type Direction } from './points';
import { profileLog, type ShownProfile } from './shown';
import { errorSentence, kneeSentence, ratioSentence } from './labels';

/** A point picked in a chart or the table: a sample of the part shown, and one of its passes. */
export interface Selected {
  readonly direction: Direction;
  readonly index: number;
}

/** What the charts need of the tab. */
interface ChartsProps {
  readonly shown: () => ShownProfile | null;
  readonly selected: () => Selected | null;
  readonly select: (selected: Selected | null) => void;
}

/** Times, throughput, errors, and the ratio to another profile. */
interface Charts {
  readonly element: HTMLElement;
  readonly ratioSection: HTMLElement;
  /** After another profile, part or scale. */
  readonly update: () => void;
  /** After another selection. */
  readonly redraw: () => void;
}

/** Makes the four drawings; they share the selected point, the last one has its own. */
export function makeFourCharts(store: Store, props: ChartsProps): Charts {
  let ratioSelected: string | null = null;
  const own = (name: 'time' | 'throughput' | 'error', label: () => string): Chart =>
    makeChart({
      className: `profile-${name}`,
      label: () => `${label()} ${t('Arrow keys move between points.')}`,
      selected: () => selectedId(props.selected()),
      pick: (dot) => props.select(toSelected(dot)),
    });
  const logarithmic = checkbox(t('Logarithmic axes'), (checked) => store.set(profileLog, checked));
  const time = section(
    t('Time of a slice'),
    own('time', () => t('Time of a slice against its tokens, measured and fitted.')),
    logarithmic,
  );
  const throughput = section(
    t('Throughput, tokens/s'),
    own('throughput', () => t('Tokens a second against the tokens of a slice.')),
  );
  const error = section(
    t('Error of the fit'),
    own('error', () => t('Error of the fit by the length of the slice.')),
  );
  const ratio = section(
    t('Compared'),
    makeChart({
      className: 'profile-ratio',
      label: () => `${t('Time relative to the other profile, by tokens of a slice.')} ${t('Arrow keys move between points.')}`,
      selected: () => ratioSelected,
      pick: (dot) => {
        ratioSelected = dot?.id ?? null;
        ratio.chart.update();
      },
    }),
  );
  const all = [time, throughput, error, ratio];
  const update = (): void => {
    const shown = props.shown();
    if (shown === null) return;
    const { profile, part, compared } = shown;
    const isLog = store.get(profileLog);
    time.chart.show(timeContent(profile, part, isLog ? 'log' : 'linear'));
    throughput.chart.show(throughputContent(profile, part));
    error.chart.show(errorContent(profile, part));
    ratio.chart.show(compared === null ? null : ratioContent(profile, compared.profile));
    setChecked(logarithmic, isLog);
    fill(time.note, ...timeNote(shown));
    fill(throughput.note, throughputNote(shown));
    fill(error.note, errorNote(shown));
    ratio.element.hidden = compared === null;
    if (compared !== null) {
      ratio.title.textContent = t('Compared with {0}', compared.name);
      fill(ratio.note, ratioNote(shown));
    }
  };
  onThemeChange(update);
  return {
    element: h('div', { class: 'profile-charts' }, ...all.map(({ element }) => element)),
    ratioSection: ratio.element,
    update,
    redraw: () => all.forEach(({ chart }) => chart.update()),
  };
}

interface Section {
  readonly element: HTMLElement;
  readonly title: HTMLElement;
  readonly note: HTMLElement;
  readonly chart: Chart;
}

function section(name: string, chart: Chart, control: HTMLElement | null = null): Section {
  const title = h('h2', {}, name);
  const note = h('p', { class: 'profile-note hint' });
  const element = h('section', { class: 'profile-chart' }, h('div', { class: 'profile-chart-head' }, title, control), note, chart.element);
  return { element, title, note, chart };
}

function selectedId(selected: Selected | null): string | null {
  return selected === null ? null : pointId(selected);
}

function toSelected(dot: Dot | null): Selected | null {
  if (dot === null) return null;
  const direction = directions.find((known) => known === dot.tone) ?? 'forward';
  return { direction, index: Number(dot.id.slice(direction.length + 1)) };
}

function timeNote({ profile, part }: ShownProfile): HTMLElement[] {
  const samples = profile.samples[part];
  const key = (glyph: string, tone: string, text: string): HTMLElement =>
    h('span', { class: 'profile-key' }, h('span', { class: `profile-glyph profile-glyph-${tone}`, 'aria-hidden': 'true' }, glyph), text);
  if (samples.length === 0) return [h('span', {}, t('No sample yet.'))];
  return [
    key('●', 'forward', t('forward')),
    key('◆', 'backward', t('backward')),
    ...(samples.some(({ holdOut }) => holdOut) ? [key('○', 'plain', t('kept out of the fit'))] : []),
    ...(partFit(profile, part) === null ? [key('', 'none', t('no fit yet'))] : [key('—', 'plain', t('fit'))]),
    ...(!theme().highContrast && samples.some(({ context }) => context > 0)
      ? [h('span', { class: 'profile-key' }, t('fainter: longer context'))]
      : []),
    ...(samples.some(({ batch }) => batch > 1) ? [h('span', { class: 'profile-key' }, t('tokens counted over the batch'))] : []),
  ];
}

function throughputNote({ profile, part }: ShownProfile): string {
  const fit = partFit(profile, part);
  const lengths = valueRange(
    profile.samples[part].filter(({ context, batch }) => context === 0 && batch === 1).map(({ tokens }) => tokens),
  );
  if (lengths === null) return t('No sample without context yet.');
  const knee = fit === null ? null : findKnee(fit, lengths.least, lengths.greatest);
  return knee === null ? t('Tokens a second, one slice after another.') : kneeSentence(knee);
}

function errorNote({ profile, part }: ShownProfile): string {
  const points = judgedPoints(profile, part);
  return points.length === 0 ? t('Known when there is a fit and something to judge it on.') : errorSentence(points, goalPercent);
}

function ratioNote({ profile, compared }: ShownProfile): string {
  if (compared === null) return '';
  const ratios = profileRatios(profile, compared.profile);
  if (ratios.length === 0) return t('The two have no slice length in common.');
  const differs = [
    JSON.stringify(profile.shape) === JSON.stringify(compared.profile.shape) ? '' : t('layer shape'),
    profile.precision === compared.profile.precision ? '' : t('precision'),
    profile.tensor === compared.profile.tensor ? '' : t('tensor parallel size'),
  ].filter((difference) => difference !== '');
  const sentence = ratioSentence(compared.profile.device.name, ratios);
  return differs.length === 0 ? sentence : `${sentence} ${t('They differ in {0}.', differs.join(', '))}`;
}

import { plural } from '../../src/core/format';
import type { Profile } from '../../src/core/profile/profile';
import type { PageState, ProfileState } from '../../src/protocol/page';
import { h, icon, setAttributes, type Child } from '../dom';
import type { Host } from '../host';
import { sentence } from '../shared/notices';
import { t } from '../strings';
import { button } from '../ui';
import { sampleCount } from './words';

/** The button that starts to measure; off in a restricted workspace. `focusKey` keeps the focus over a redraw. */
export function profileButton(trusted: boolean, host: Host, appearance: 'primary' | 'secondary' = 'primary'): HTMLElement {
  const element = button({
    label: t('Profile on this GPU'),
    appearance,
    focusKey: 'profile',
    onClick: () => {
      if (trusted) host.post({ type: 'command', command: 'terapipe.profile' });
    },
  });
  setAttributes(element, { disabled: !trusted, title: trusted ? null : restrictedSentence() });
  return element;
}

function restrictedSentence(): string {
  return t('Measuring runs a program on this machine, which a restricted workspace does not allow: trust the workspace to profile.');
}

/** Why the button is off, in words; null when it is not. */
export function restrictedHint(trusted: boolean): HTMLElement | null {
  return trusted ? null : h('p', { class: 'hint' }, restrictedSentence());
}

/** Imports times measured elsewhere; allowed everywhere, since it only reads a file. */
export function importLink(host: Host): HTMLElement {
  return h(
    'button',
    {
      class: 'link',
      type: 'button',
      'data-focus': 'import',
      onclick: () => host.post({ type: 'command', command: 'terapipe.importProfile' }),
    },
    t('Import measured times'),
  );
}

/** What the tab shows while nothing was measured: what profiling is and one button. */
export function emptyProfile(state: PageState, host: Host): HTMLElement {
  const error = state.profile?.error ?? null;
  return h(
    'div',
    { class: 'empty profile-empty' },
    error === null ? null : stoppedNotice(error, null, host),
    h(
      'p',
      {},
      t(
        'Measures how long one layer of this model takes on this machine, for slices of different length, and plans with that instead of an analytic model. Takes a few minutes and keeps the GPU busy.',
      ),
    ),
    profileButton(state.trusted, host),
    restrictedHint(state.trusted),
    importLink(host),
  );
}

/** A measurement under way: a thin bar, what it does and how to stop it. */
export function runningStrip(running: NonNullable<ProfileState['running']>, host: Host): HTMLElement {
  const bar = h('progress', { class: 'progress', max: 1, 'aria-label': t('Measuring') });
  if (running.fraction > 0) bar.value = Math.min(1, running.fraction);
  return h(
    'div',
    { class: 'profile-running' },
    bar,
    h(
      'div',
      { class: 'profile-running-row' },
      h('p', { class: 'profile-doing' }, sentence(running.doing)),
      button({
        label: t('Cancel'),
        appearance: 'secondary',
        focusKey: 'cancel-profile',
        onClick: () => host.post({ type: 'command', command: 'terapipe.cancelProfile' }),
      }),
    ),
  );
}

/** What is wrong about the profile on screen: why measuring stopped, why the plan refuses it, what to distrust. */
export function profileNotices(state: ProfileState, shown: Profile, refusal: string | null, host: Host): HTMLElement[] {
  const stopped =
    state.running === null && state.error !== null ? stoppedNotice(state.error, shown.status === 'partial' ? shown : null, host) : null;
  const partial = stopped === null && state.running === null && shown.status === 'partial' ? partialNotice(shown) : null;
  return [stopped, partial, refusal === null ? null : refusedNotice(refusal), distrustNotice(shown)].filter((found) => found !== null);
}

function notice(tone: 'error' | 'warning' | 'information', what: string, ...more: readonly Child[]): HTMLElement {
  return h(
    'div',
    { class: tone === 'error' ? 'notice notice-error' : 'notice', role: tone === 'error' ? 'alert' : null },
    icon(tone),
    h('div', { class: 'notice-text' }, h('p', { class: 'notice-what' }, sentence(what)), ...more),
  );
}

function stoppedNotice(
  { message, remedy, place, placeText }: NonNullable<ProfileState['error']>,
  kept: Profile | null,
  host: Host,
): HTMLElement {
  return notice(
    'error',
    message,
    h('p', { class: 'notice-remedy' }, sentence(remedy)),
    kept === null ? null : h('p', { class: 'notice-remedy' }, keptSentence(kept)),
    h(
      'div',
      { class: 'notice-actions' },
      place === null
        ? null
        : button({ label: t('Show in the file'), focusKey: 'show-profile-error', onClick: () => host.post({ type: 'reveal', place }) }),
      button({
        label: t('Show log'),
        appearance: 'secondary',
        focusKey: 'show-profile-log',
        onClick: () => host.post({ type: 'command', command: 'terapipe.showLog' }),
      }),
      placeText === null ? null : h('span', { class: 'notice-place' }, placeText),
    ),
  );
}

function partialNotice(profile: Profile): HTMLElement {
  return notice(
    'warning',
    profile.error === null ? t('Measuring stopped early') : t('Measuring stopped early: {0}', profile.error),
    h('p', { class: 'notice-remedy' }, keptSentence(profile)),
  );
}

function keptSentence(profile: Profile): string {
  const count = sampleCount(profile);
  if (count === 0) return t('No sample was kept.');
  const kept = plural(count, t('sample was kept'), t('samples were kept'));
  return profile.fit === null ? t('{0}: too few for a fit.', kept) : t('{0} and fitted.', kept);
}

function refusedNotice(refusal: string): HTMLElement {
  return notice('warning', t('This plan does not use the profile'), h('p', { class: 'notice-remedy' }, sentence(refusal)));
}

function distrustNotice({ device, warnings }: Profile): HTMLElement | null {
  const isSoftware = device.kind === 'software';
  if (!isSoftware && warnings.length === 0) return null;
  return notice(
    'warning',
    isSoftware ? t('A software adapter, drawn by the CPU: its times mean nothing for a GPU') : t('Take these times with care'),
    warnings.length === 0 ? null : h('ul', { class: 'profile-warnings' }, ...warnings.map((warning) => h('li', {}, sentence(warning)))),
  );
}

import { plural } from '../../../src/core/format';
import type { Profile } from '../../../src/core/domain/profile';
import type { ProfileState } from '../../../src/protocol/page';
import { h, icon, type Child } from '../../base/dom';
import type { Host } from '../../base/host';
import { messageText, sentence } from '../../shared/sentence';
import { t } from '../../base/strings';
import { button } from '../../base/ui';
import { sampleCount } from './labels';
import type { Sentence } from '../../../src/core/sentence';

/** What is wrong about the profile on screen: why measuring stopped, why the plan refuses it, what to distrust. */
export function profileNotices(state: ProfileState, shown: Profile, refusal: Sentence | null, host: Host): HTMLElement[] {
  const stopped =
    state.running === null && state.error !== null ? stoppedNotice(state.error, shown.status === 'partial' ? shown : null, host) : null;
  const partial = stopped === null && state.running === null && shown.status === 'partial' ? partialNotice(shown) : null;
  return [stopped, partial, refusal === null ? null : refusedNotice(refusal), distrustNotice(shown)].filter((found) => found !== null);
}

/** @param what whole: with its capital letter and full stop */
function notice(tone: 'error' | 'warning' | 'information', what: string, ...more: readonly Child[]): HTMLElement {
  return h(
    'div',
    { class: tone === 'error' ? 'notice notice-error' : 'notice', role: tone === 'error' ? 'alert' : null },
    icon(tone),
    h('div', { class: 'notice-text' }, h('p', { class: 'notice-what' }, what), ...more),
  );
}

/** Why a measurement stopped, and what was kept of it. */
export function stoppedNotice(
  { message, remedy, place, placeText }: NonNullable<ProfileState['error']>,
  kept: Profile | null,
  host: Host,
): HTMLElement {
  return notice(
    'error',
    messageText(message),
    h('p', { class: 'notice-remedy' }, messageText(remedy)),
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
    sentence(profile.error === null ? t('Measuring stopped early') : t('Measuring stopped early: {0}', profile.error)),
    h('p', { class: 'notice-remedy' }, keptSentence(profile)),
  );
}

function keptSentence(profile: Profile): string {
  const count = sampleCount(profile);
  if (count === 0) return t('No sample was kept.');
  const kept = plural(count, t('sample was kept'), t('samples were kept'));
  return profile.fit === null ? t('{0}: too few for a fit.', kept) : t('{0} and fitted.', kept);
}

function refusedNotice(refusal: Sentence): HTMLElement {
  return notice('warning', t('This plan does not use the profile.'), h('p', { class: 'notice-remedy' }, messageText(refusal)));
}

function distrustNotice({ device, warnings }: Profile): HTMLElement | null {
  const isSoftware = device.kind === 'software';
  if (!isSoftware && warnings.length === 0) return null;
  return notice(
    'warning',
    isSoftware ? t('A software adapter that runs on the CPU: its times mean nothing for a GPU.') : t('Treat these times with care.'),
    warnings.length === 0 ? null : h('ul', { class: 'profile-warnings' }, ...warnings.map((warning) => h('li', {}, sentence(warning)))),
  );
}

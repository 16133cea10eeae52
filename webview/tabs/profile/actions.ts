import type { PageState, ProfileState } from '../../../src/protocol/page';
import { fill, h, setAttributes } from '../../base/dom';
import type { Host } from '../../base/host';
import { sentence } from '../../shared/sentence';
import { picture } from '../../shared/picture';
import { t } from '../../base/strings';
import { button } from '../../base/ui';
import { stoppedNotice } from './notices';

/*
 * Updates keep the elements made here: messages may come ten times a second, and a button that is replaced while it is pressed gets no
 * click.
 */

/** The button that starts to measure; off in a restricted workspace, and its tooltip explains why. */
export function makeProfileButton(
  host: Host,
  appearance: 'primary' | 'secondary' = 'primary',
): { readonly element: HTMLElement; readonly update: (trusted: boolean) => void } {
  let allowed = false;
  const element = button({
    label: t('Profile on this GPU'),
    appearance,
    onClick: () => {
      if (allowed) host.post({ type: 'command', command: 'terapipe.profile' });
    },
  });
  return {
    element,
    update: (trusted) => {
      allowed = trusted;
      setAttributes(element, { disabled: !trusted, title: trusted ? null : restrictedSentence() });
    },
  };
}

function restrictedSentence(): string {
  return t('A restricted workspace does not run programs: trust the workspace to profile.');
}

/** Why the button is off, in words. */
export function restrictedHint(): HTMLElement {
  return h('p', { class: 'hint profile-hint' }, restrictedSentence());
}

/** Imports times measured elsewhere; allowed everywhere, since it only reads a file. */
function importLink(host: Host): HTMLElement {
  return h(
    'button',
    { class: 'link', type: 'button', onclick: () => host.post({ type: 'command', command: 'terapipe.importProfile' }) },
    t('Import measured times'),
  );
}

/** Other ways to a profile: with the trainer's own kernels, where there is PyTorch, and from times measured elsewhere. */
export function otherWays(host: Host): { readonly element: HTMLElement; readonly update: (trusted: boolean) => void } {
  const torch = h(
    'button',
    { class: 'link', type: 'button', onclick: () => host.post({ type: 'command', command: 'terapipe.runHere', what: 'profile' }) },
    t('Profile with PyTorch'),
  );
  return { element: h('div', { class: 'profile-ways' }, torch, importLink(host)), update: (trusted) => (torch.hidden = !trusted) };
}

/** What a profile is, and what one of a CPU serves. */
function whatItMeasures(mayHaveGpu: boolean, precision: string): string {
  if (mayHaveGpu) return t('Measures slices of one layer on this machine and plans with them. Keeps the GPU busy for minutes.');
  const cpu = t('This machine has no GPU. A profile of its CPU takes minutes and serves only plans in fp32.');
  return precision === 'fp32' ? cpu : `${cpu} ${t('This plan is in {0}: profile where its GPU is, and import the times here.', precision)}`;
}

/** The tab before any measurement: what profiling is and one button. */
export function makeEmptyProfile(host: Host): { readonly element: HTMLElement; readonly update: (state: PageState) => void } {
  const error = h('div');
  const start = makeProfileButton(host);
  const hint = restrictedHint();
  const what = h('p');
  const ways = otherWays(host);
  const content = h('div', { class: 'empty profile-empty' }, error, picture('profile'), what, start.element, hint, ways.element);
  const element = h('div', { class: 'profile-none' }, content);
  return {
    element,
    update: ({ profile, plan, trusted }) => {
      what.textContent = whatItMeasures(profile?.mayHaveGpu ?? true, plan?.request.training.precision ?? 'fp32');
      const stopped = profile?.error ?? null;
      error.hidden = stopped === null;
      fill(error, stopped === null ? null : stoppedNotice(stopped, null, host));
      start.update(trusted);
      ways.update(trusted);
      hint.hidden = trusted;
    },
  };
}

/** A running measurement: a thin bar, what it does and a button to stop it. */
export function makeRunningStrip(host: Host): {
  readonly element: HTMLElement;
  readonly update: (running: ProfileState['running']) => void;
} {
  const bar = h('progress', { class: 'progress', max: 1, 'aria-label': t('Measuring') });
  const doing = h('p', { class: 'profile-doing' });
  const cancel = button({
    label: t('Cancel'),
    appearance: 'secondary',
    onClick: () => host.post({ type: 'command', command: 'terapipe.cancelProfile' }),
  });
  const element = h('div', { class: 'profile-running' }, bar, h('div', { class: 'profile-running-row' }, doing, cancel));
  return {
    element,
    update: (running) => {
      element.hidden = running === null;
      if (running === null) return;
      if (running.fraction > 0) bar.value = Math.min(1, running.fraction);
      else bar.removeAttribute('value');
      doing.textContent = sentence(running.doing);
      doing.title = doing.textContent;
    },
  };
}

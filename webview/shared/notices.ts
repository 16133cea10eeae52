import { plural } from '../../src/core/format';
import { knownModelNames, knownModels } from '../../src/protocol/known-models';
import type { PageState } from '../../src/protocol/page';
import type { PageError } from '../../src/protocol/page-error';
import { h, icon } from '../base/dom';
import type { Host } from '../base/host';
import { messageText } from './sentence';
import { t } from '../base/strings';
import { button } from '../base/ui';
import { incumbentText } from './incumbent';
import { picture } from './picture';

/** A thin bar while a new plan is solved, whose tooltip shows how good the best slices so far are; the old plan stays on screen. */
export function progressBar({ progress, incumbent }: Pick<PageState, 'progress' | 'incumbent'>): HTMLElement {
  const bar = h('progress', {
    class: 'progress',
    max: 1,
    'aria-label': t('Planning'),
    title: incumbentText(incumbent),
    hidden: progress === null,
  });
  if (progress !== null && progress > 0) bar.value = Math.min(1, progress);
  return bar;
}

/** Problems with what is shown: an error, a restricted workspace. Empty when there are none. */
export function notices({ error, trusted }: PageState, host: Host): HTMLElement[] {
  return [error === null ? null : errorNotice(error, host), trusted ? null : restrictedNotice()].filter((notice) => notice !== null);
}

/** The text of an error, with the buttons that help. */
export function errorNotice(error: PageError, host: Host): HTMLElement {
  const { place } = error;
  return h(
    'div',
    { class: 'notice notice-error', role: 'alert' },
    icon('error'),
    h(
      'div',
      { class: 'notice-text' },
      h('p', { class: 'notice-what' }, messageText(error.message)),
      h('p', { class: 'notice-remedy' }, messageText(error.remedy)),
      h(
        'div',
        { class: 'notice-actions' },
        place === null
          ? null
          : button({
              label: t('Show in the file'),
              focusKey: 'show-error',
              onClick: () => host.post({ type: 'reveal', place }),
            }),
        // What is wrong in a file is shown here as a whole.
        place !== null
          ? null
          : button({
              label: t('Show log'),
              appearance: 'secondary',
              focusKey: 'show-log',
              onClick: () => host.post({ type: 'command', command: 'terapipe.showLog' }),
            }),
        error.placeText === null ? null : h('span', { class: 'notice-place' }, error.placeText),
      ),
    ),
  );
}

/** A note that the view is older than the file; null when it is current, and where the verdict shows how old it is. */
export function staleness({ plan, schedule, elastic, staleEdits, error }: PageState): HTMLElement | null {
  if ((plan === null && schedule === null && elastic === null) || staleEdits === 0) return null;
  if (error !== null && schedule === null) return null;
  return h('span', { class: 'stale', role: 'status' }, t('from {0} ago', plural(staleEdits, t('edit'), t('edits'))));
}

function restrictedNotice(): HTMLElement {
  return h(
    'div',
    { class: 'notice notice-quiet' },
    icon('information'),
    h('p', { class: 'notice-text' }, t('Restricted workspace: planning works, measuring on a GPU does not.')),
  );
}

/**
 * What is on screen before there is a plan: what it shows, known models and the samples, or what stops it with the `findings` that explain
 * it.
 */
export function emptyPage(state: PageState, host: Host, findings: HTMLElement | null): HTMLElement {
  const heading = h('h1', { class: 'visually-hidden' }, state.file ?? 'TeraPipe');
  if (state.error !== null) return h('div', { class: 'empty' }, heading, ...notices(state, host), findings);
  if (state.progress !== null || state.file !== null)
    return h(
      'div',
      { class: 'empty' },
      heading,
      h('p', {}, t('Planning {0}', state.file ?? '')),
      progressBar({ progress: state.progress ?? 0, incumbent: state.incumbent }),
      h('p', { class: 'hint' }, incumbentText(state.incumbent)),
    );
  return h(
    'div',
    { class: 'empty' },
    heading,
    picture('pipeline'),
    h('p', {}, t('Open a model config to see its pipeline schedule and memory.')),
    h('p', { class: 'hint' }, t('A Hugging Face config.json, a terapipe.json, or a Megatron, NeMo, TorchTitan or DeepSpeed launcher.')),
    h('h2', {}, t('Or start with a known model')),
    h(
      'ul',
      { class: 'known-models' },
      ...knownModels.map((model) => {
        const start = (): void => host.post({ type: 'startModel', model });
        return h(
          'li',
          {},
          h('button', { class: 'link', type: 'button', 'data-focus': `known-${model}`, onclick: start }, knownModelNames[model]),
        );
      }),
    ),
    button({ label: t('Open sample workspace'), onClick: () => host.post({ type: 'command', command: 'terapipe.openSample' }) }),
  );
}

import { formatCount, plural } from '../../../src/core/format';
import type { LayoutAnswer } from '../../../src/protocol/layout';
import type { PageState } from '../../../src/protocol/page';
import { h, type Child } from '../../base/dom';
import type { Host } from '../../base/host';
import { capitalised, sentence } from '../../shared/sentence';
import type { makeDisclosures } from '../../shared/disclosures';
import { assumptionList } from '../../shared/reasons';
import { t } from '../../base/strings';
import { countsSentence, keyName, measuredSentence, proofSentence } from './labels';
import { say } from '../../../src/core/sentence';

type Disclosure = ReturnType<typeof makeDisclosures>;

/** Improvements that are listed before the others are asked for. */
const listedImprovements = 3;

/** What would help; folded: what is too large or not run by the runtime, what was searched, fixed and assumed. */
export function layoutFacts(answer: LayoutAnswer, state: PageState, host: Host, disclosure: Disclosure): Child[] {
  const { improvements, gainsOver, notFitting, needs, fixed, measured, assumed, cost, keptFree } = answer;
  const { running = null } = state.layout ?? {};
  const folded = (key: string, title: string, content: HTMLElement | null): HTMLElement | null =>
    content === null ? null : disclosure(key, title, content, false);
  const assumptions = assumptionList({ request: { assumptions: assumed } }, state, host);
  return [
    improvements.length === 0 && running === null
      ? null
      : section(
          t('What would help most'),
          gainsOver === null ? null : h('p', { class: 'hint' }, sentence(capitalised(say(gainsOver, t)))),
          list(improvements.slice(0, listedImprovements).map(({ summary }) => say(summary, t))) ??
            h('p', { class: 'hint' }, t('In progress.')),
          folded('improvements', t('Others'), list(improvements.slice(listedImprovements).map(({ summary }) => say(summary, t)))),
        ),
    h(
      'div',
      { class: 'layout-fact' },
      folded(
        'too-large',
        t('Faster, but too large'),
        list(notFitting.map(({ layout, why }) => `${capitalised(say(layout, t))}: ${say(why, t)}`)),
      ),
      folded('needs', t('Not run by {0}', answer.runtime), list(needs.map((need) => say(need, t)))),
      folded(
        'searched',
        t('Searched'),
        h(
          'div',
          {},
          h('p', {}, searchedSentence(answer)),
          h('p', {}, `${capitalised(say(answer.rule, t))}.`),
          h('p', {}, countsSentence(answer)),
          h('p', {}, proofSentence(answer)),
          keptFree === null ? null : h('p', {}, sentence(capitalised(say(keptFree, t)))),
          h('p', { class: 'hint' }, sentence(say(cost.description, t))),
        ),
      ),
      folded(
        'fixed',
        t('Fixed and assumed'),
        h(
          'div',
          {},
          h(
            'p',
            {},
            fixed.length === 0 ? t('Nothing is fixed by the files.') : t('Fixed by the files: {0}.', fixed.map(keyName).join(', ')),
          ),
          measured === null ? null : h('p', {}, measuredSentence(measured)),
          assumptions === null ? null : h('details', { class: 'disclosure' }, h('summary', {}, t('Set by no file')), assumptions),
        ),
      ),
    ),
  ];
}

function searchedSentence({ layers, globalBatch, sequences, gpus, gpuName }: LayoutAnswer): string {
  return t(
    '{0}, {1} of {2} per step, on {3} {4}.',
    plural(layers, t('layer'), t('layers')),
    plural(globalBatch, t('sequence'), t('sequences')),
    say(sequences, t),
    formatCount(gpus),
    gpuName,
  );
}

function section(title: string, ...content: readonly Child[]): HTMLElement {
  return h('section', { class: 'layout-fact' }, h('h2', {}, title), ...content);
}

function list(lines: readonly string[]): HTMLElement | null {
  return lines.length === 0 ? null : h('ol', { class: 'layout-lines' }, ...lines.map((line) => h('li', {}, capitalised(line))));
}

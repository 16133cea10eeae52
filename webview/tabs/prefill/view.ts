import type { PrefillAnswer, ServedEngine } from '../../../src/features/prefill/core/answer';
import type { PrefillState } from '../../../src/features/prefill/protocol';
import {
  bytesOfQuantity,
  column,
  durationQuantity,
  formatBytes,
  formatCount,
  formatPercent,
  formatTokens,
  plural,
} from '../../../src/core/format';
import { slowdownText } from '../../../src/core/planner/explain/slower';
import { joinClauses, say } from '../../../src/core/sentence';
import { fill, h, icon } from '../../base/dom';
import { partAttributes } from '../../base/parts';
import { makePagedTable } from '../../base/paged-table';
import type { Store } from '../../base/store';
import { t } from '../../base/strings';
import { button } from '../../base/ui';
import { figure } from '../../shared/figures';
import { capitalised, messageText, sentence } from '../../shared/sentence';
import { makeStepPane } from '../../charts/lanes/step-pane';
import { namedCuts, cutTimeline, type NamedChunks } from './cuts';

/** The prefill tab: when the first token is ready, the chunks on their way down the stages, and what other chunk lengths lose. */
export function makePrefillView(store: Store): { readonly element: HTMLElement; readonly update: () => void } {
  let shown: PrefillAnswer | null = null;
  let cuts: readonly NamedChunks[] = [];
  let picked = 0;
  const plan = (label: string): HTMLElement =>
    button({ label, appearance: 'secondary', onClick: () => store.host.post({ type: 'command', command: 'terapipe.planPrefill' }) });
  const notice = h('p', { class: 'hint', role: 'status' });
  const head = h('div', { class: 'prefill-head' });
  const pane = makeStepPane(({ unit, stage }) => t('Chunk {0} of {1} on stage {2}', unit.slice, formatTokens(unit.tokens), stage));
  const title = h('h2', {});
  const rules = makePagedTable();
  const chunks = makePagedTable();
  const launches = h('section', { class: 'prefill-launches', 'aria-label': t('Launches') });
  const content = h(
    'div',
    { class: 'prefill-content' },
    head,
    h('section', { class: 'prefill-timeline', 'aria-label': t('Chunks on the stages') }, title, pane.element),
    h('section', { ...partAttributes, class: 'table-twin', 'aria-label': t('Chunk lengths by rule') }, rules.element),
    h('section', { ...partAttributes, class: 'table-twin', 'aria-label': t('Chunks') }, chunks.element),
    launches,
  );
  const empty = h(
    'div',
    { class: 'empty' },
    h('p', {}, t('Servers run a prompt through the pipeline in chunks, whose lengths decide the time to first token.')),
    plan(t('Plan prefill')),
  );
  const element = h('div', { class: 'prefill-view' }, notice, content, empty);

  const showCut = (): void => {
    const cut = cuts[picked];
    if (cut === undefined || shown === null) return;
    title.textContent = t('{0}: {1}', capitalised(cut.name), plural(cut.chunks.length, t('chunk'), t('chunks')));
    pane.show(cutTimeline(cut, shown.prefill.stages));
    showRules(rules, cuts, picked, (row) => {
      picked = row;
      showCut();
    });
    showChunks(chunks, cut);
  };
  const update = (): void => {
    const { prefill = null } = store.state();
    const answer = prefill?.answer ?? null;
    notice.textContent = prefillNotice(prefill);
    notice.hidden = notice.textContent === '';
    content.hidden = answer === null;
    empty.hidden = answer !== null || prefill?.isRunning === true;
    if (answer === null || answer === shown) return;
    shown = answer;
    cuts = namedCuts(answer);
    picked = 0;
    fill(head, ...answerHead(answer), plan(t('Change prompt or stages')));
    fill(launches, h('h2', {}, t('What launches it')), ...answer.engines.map(launchBlock));
    showCut();
  };
  return { element, update };
}

function prefillNotice(prefill: PrefillState | null): string {
  if (prefill === null) return '';
  if (prefill.error !== null) return messageText(joinClauses([prefill.error.message, prefill.error.remedy]));
  if (prefill.isRunning) return t('Planning…');
  return prefill.isStale ? t('From before the last edits.') : '';
}

function answerHead({ asked, tensor, gpu, measuredOn, prefill, remedy }: PrefillAnswer): HTMLElement[] {
  const { timeToFirstTokenMs, lowerBoundMs, exact, unit, chunks, memory } = prefill;
  const [row] = prefill.decode.rows;
  const { used, capacity, unit: bytesUnit } = bytesOfQuantity(memory.weightsBytes + memory.keyValueBytes, memory.usableBytes);
  const source = measuredOn === null ? t('From the roofline model') : t('Measured on {0}, forward only', measuredOn);
  const proof = exact ? t('Proved optimal') : t('Within {0} of the optimum', formatPercent(1 - lowerBoundMs / timeToFirstTokenMs));
  const parts = t('{0} of weights, {1} of keys and values', formatBytes(memory.weightsBytes), formatBytes(memory.keyValueBytes));
  return [
    h(
      'p',
      { class: 'lead' },
      t('Prompt of {0} over {1} of {2} × {3}', formatTokens(asked.tokens), plural(prefill.stages, t('stage'), t('stages')), tensor, gpu),
    ),
    h(
      'dl',
      { class: 'figures' },
      figure(durationQuantity(timeToFirstTokenMs), t('to the first token'), null, source, 'plain'),
      figure({ value: formatCount(chunks.length), unit: '' }, t('chunks'), null, t('In multiples of {0}', formatTokens(unit)), 'plain'),
      figure(
        { value: used, unit: `/ ${capacity} ${bytesUnit}` },
        t('weights, keys and values'),
        null,
        parts,
        memory.fits ? 'plain' : 'error',
      ),
      ...(row === undefined ? [] : [figure(durationQuantity(row.tokenMs.usual), t('a token'), null, decodeHint(prefill.decode), 'plain')]),
    ),
    h('p', { class: 'hint prefill-proof' }, icon(exact ? 'check' : 'information'), ` ${sentence(proof)} ${sentence(source)}`),
    ...(remedy === null ? [] : [h('p', { role: 'alert' }, sentence(t('Does not fit: {0}', say(remedy, t))))]),
  ];
}

/** What a server holds of sequences in addition to this prompt. */
function decodeHint({ capacityTokens, longestContext }: PrefillAnswer['prefill']['decode']): string {
  const [capacity, longest] = [formatTokens(capacityTokens), formatTokens(longestContext)];
  return t('Decoding one sequence; keys and values of {0} fit, a sequence may have {1}', capacity, longest);
}

function showRules(
  table: ReturnType<typeof makePagedTable>,
  cuts: readonly NamedChunks[],
  marked: number,
  pick: (row: number) => void,
): void {
  table.show({
    caption: t('Chunk lengths by rule, fastest first'),
    columns: [
      { title: t('Rule'), numeric: false },
      { title: t('Chunks'), numeric: true },
      { title: t('First token'), numeric: true },
      { title: t('Longer by'), numeric: true },
    ],
    total: cuts.length,
    rows: ({ first, end }) =>
      cuts
        .slice(first, end)
        .map(({ name, chunks, timeToFirstTokenMs, regret }) => [
          name,
          formatCount(chunks.length),
          column.duration(timeToFirstTokenMs),
          formatPercent(regret),
        ]),
    marked,
    onRow: pick,
  });
}

function showChunks(table: ReturnType<typeof makePagedTable>, { name, chunks, chunkMs }: NamedChunks): void {
  const contexts = chunks.map((_, index) => chunks.slice(0, index).reduce((sum, tokens) => sum + tokens, 0));
  table.show({
    caption: t('Chunks: {0}', name),
    columns: [t('Chunk'), t('Tokens'), t('Context'), t('Time, ms')].map((heading) => ({ title: heading, numeric: true })),
    total: chunks.length,
    rows: ({ first, end }) =>
      chunks
        .slice(first, end)
        .map((tokens, index) => [
          String(first + index),
          formatCount(tokens),
          formatCount(contexts[first + index] ?? 0),
          column.number(chunkMs[first + index] ?? 0),
        ]),
    marked: null,
  });
}

function launchBlock({ title, command, notes, regret }: ServedEngine): HTMLElement {
  return h(
    'div',
    { class: 'prefill-launch' },
    h('h3', {}, t('{0}: {1}', title, say(slowdownText(regret), t))),
    h('pre', { tabindex: 0, role: 'group', 'aria-label': t('Launch of {0}', title) }, h('code', {}, command)),
    ...notes.map((note) => h('p', { class: 'hint' }, messageText(note))),
  );
}

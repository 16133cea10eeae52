import { formatDuration } from '../../../src/core/format';
import type { Candidate, Plan } from '../../../src/core/planner/plan';
import { slowdownText } from '../../../src/core/planner/explain/slower';
import { say } from '../../../src/core/sentence';
import { fill, h } from '../../base/dom';
import type { Store } from '../../base/store';
import { t } from '../../base/strings';
import { button } from '../../base/ui';
import { picture } from '../../shared/picture';
import { openedLayout } from '../../shared/opened-layout';
import { cutAlike, equalLengths, slicedSchedule, tryScheme } from './trial';

/** Slices of the first try. */
const slicesTried = 4;

/** Where nothing is sliced: what slices are, a try of them on these stages, and a button that plans with them. */
export function makeInvitation(store: Store): {
  readonly element: HTMLElement;
  readonly update: (plan: Plan, candidate: Candidate) => void;
} {
  const answer = h('p', { class: 'cut-answer', 'aria-live': 'polite' });
  const actions = h('div', { class: 'invitation-actions' });
  const element = h(
    'div',
    { class: 'invitation' },
    picture('slices'),
    h('p', {}, t('Sequences are whole. Token slices reach the next stage sooner, but each launches its own kernels.')),
    actions,
    answer,
  );
  const update = (plan: Plan, candidate: Candidate): void => {
    const schedule = slicedSchedule(candidate.schedule);
    answer.textContent = '';
    const attempt = (): void => {
      const { sequenceLength } = plan.request.training;
      const lengths = equalLengths(sequenceLength, slicesTried, plan.request.slicing.unit ?? 1);
      const made = tryScheme(plan, schedule, cutAlike(candidate.scheme, lengths));
      if (made === null) {
        answer.textContent = t('{0} cannot run on this layout.', schedule);
        return;
      }
      const slower = made.iterationMs / candidate.iterationMs - 1;
      const found = t(
        '{0} with {1} equal slices: {2} per step, {3}',
        schedule,
        lengths.length,
        formatDuration(made.iterationMs),
        say(slowdownText(slower), t),
      );
      const isFaster = slower < 0 && made.fits;
      const isLarger = !made.fits && candidate.fits;
      answer.textContent = isFaster
        ? t('{0}.', found)
        : isLarger
          ? t('{0}, and it does not fit: keep the current plan.', found)
          : t('{0}: keep the current plan.', found);
      fill(actions, isFaster && openedLayout(store.state()) === null ? use : null);
    };
    const use = button({
      label: t('Plan with {0}', schedule),
      onClick: () => store.host.post({ type: 'change', change: { key: 'schedule', value: schedule } }),
    });
    fill(actions, button({ label: t('Try {0} slices', slicesTried), onClick: attempt }));
  };
  return { element, update };
}

import { formatCount } from '../../src/core/format';
import { type Plan, candidateIds } from '../../src/core/planner/plan';
import { scheduleDescriptions, type ScheduleDescription } from '../../src/core/schedules/descriptions';
import type { ControlChange, PageState } from '../../src/protocol/page';
import { h } from '../base/dom';
import { partAttributes } from '../base/parts';
import { tabs } from '../tabs/registry';
import { openedLayout } from '../tabs/layout/opened';
import { makeHistory } from './history';
import { makeWhatIf } from './what-if';
import { capitalised } from '../shared/sentence';
import { t } from '../base/strings';
import { comparedCandidate, shownCandidate, type Store } from '../base/store';
import { dropdown, type Choice, type DropdownControl } from '../base/ui';
import { say } from '../../src/core/sentence';

const automatic = '';
/** Compare with something outside this plan. */
const elsewhere = 'elsewhere';

/** Makes the controls of the plan; their changes go to the host, which edits the file; below them the preview of sizes. */
export function makeToolbar(store: Store): { readonly elements: readonly HTMLElement[]; readonly update: () => void } {
  const change =
    (key: ControlChange['key'], isNumber: boolean) =>
    (value: string): void =>
      store.host.post({ type: 'change', change: { key, value: value === automatic ? null : isNumber ? Number(value) : value } });
  const controls = planControls().map((control) => ({
    ...control,
    dropdown: dropdown(control.label, change(control.key, control.isNumber)),
  }));
  const compare = dropdown(t('Compare with'), (value) => {
    if (value === elsewhere) {
      store.host.post({ type: 'command', command: 'terapipe.compareWith' });
      showCompared();
      return;
    }
    store.setView({
      compareWith: candidateIds.find((id) => id === value) ?? null,
      ...(tabs[store.view().tab]?.showsCompared === true ? {} : { tab: 'timeline' }),
    });
  });
  const whatIf = makeWhatIf(store);
  const history = makeHistory(store);
  const group = h('div', { class: 'toolbar-group' }, ...controls.map((control) => labelled(control.label, control.dropdown)));
  const kept = h(
    'p',
    { class: 'toolbar-kept hint' },
    t('The search chose schedule, slices, micro-batch and recompute. To choose them yourself, go back to the config.'),
  );
  const element = h(
    'div',
    { class: 'toolbar', ...partAttributes, role: 'toolbar', 'aria-label': t('Plan') },
    group,
    kept,
    whatIf.element,
    h('div', { class: 'toolbar-group toolbar-compare' }, labelled(t('Compare with'), compare)),
    history.element,
  );
  const showCompared = (): void => {
    const { plan } = store.state();
    const view = store.view();
    if (plan === null) return;
    const shown = shownCandidate(plan, view);
    compare.show(
      [
        { value: automatic, text: t('Nothing') },
        ...plan.candidates.filter(({ id }) => id !== shown.id).map(({ id, name }) => ({ value: id, text: capitalised(say(name, t)) })),
        { value: elsewhere, text: t('Another config or a run…') },
      ],
      comparedCandidate(plan, view)?.id ?? automatic,
    );
  };
  const update = (): void => {
    const { plan } = store.state();
    element.hidden = plan === null;
    if (plan === null) return;
    // The controls edit the config; a found layout is not in it.
    const isFound = openedLayout(store.state()) !== null;
    group.hidden = isFound;
    kept.hidden = !isFound;
    for (const { dropdown: control, choices, value } of controls) control.show(choices(plan), value(plan, store.state()));
    showCompared();
    whatIf.update();
    history.update();
  };
  return { elements: [element, whatIf.answer], update };
}

function labelled(label: string, { element }: DropdownControl): HTMLElement {
  return h('div', { class: 'control' }, h('span', { class: 'control-label', 'aria-hidden': 'true' }, label), element);
}

interface PlanControl {
  readonly key: ControlChange['key'];
  readonly label: string;
  readonly isNumber: boolean;
  readonly choices: (plan: Plan) => readonly Choice[];
  readonly value: (plan: Plan, state: PageState) => string;
}

function planControls(): readonly PlanControl[] {
  const isChosen = (plan: Plan, key: string): boolean => plan.request.assumptions.some((assumption) => assumption.key === key);
  return [
    {
      key: 'schedule',
      label: t('Schedule'),
      isNumber: false,
      choices: (plan) => [
        { value: automatic, text: plan.request.schedule === null ? t('Auto: {0}', chosenSchedule(plan)) : t('Auto') },
        ...runnable(plan).map(([name, { text }]) => ({ value: name, text: name, title: say(text, t) })),
      ],
      value: ({ request }) => request.schedule ?? automatic,
    },
    {
      key: 'slicing.unit',
      label: t('Slice unit'),
      isNumber: true,
      choices: ({ request }) => [
        { value: automatic, text: t('Auto') },
        ...withValue([8, 16, 32, 64, 128, 256], request.slicing.unit).map((unit) => ({
          value: String(unit),
          text: t('{0} tokens', formatCount(unit)),
        })),
      ],
      value: ({ request }) => (request.slicing.unit === null ? automatic : String(request.slicing.unit)),
    },
    {
      key: 'training.recompute',
      label: t('Recompute'),
      isNumber: false,
      choices: (plan) => [
        {
          value: automatic,
          text: isChosen(plan, 'training.recompute') ? t('Auto: {0}', plan.request.training.recompute) : t('Auto'),
        },
        { value: 'none', text: t('none') },
        { value: 'selective', text: t('selective') },
        { value: 'full', text: t('full') },
      ],
      value: (plan) => (isChosen(plan, 'training.recompute') ? automatic : plan.request.training.recompute),
    },
  ];
}

/** Every schedule that can run on the layout, and the one asked for. */
function runnable({ candidates, notCompared, request }: Plan): readonly (readonly [string, ScheduleDescription])[] {
  const names = new Set<string | null>([...candidates.map(({ schedule }) => schedule), ...notCompared, request.schedule]);
  return Object.entries(scheduleDescriptions).filter(([name]) => names.has(name));
}

function chosenSchedule(plan: Plan): string {
  return plan.candidates.find(({ id }) => id === plan.chosen)?.schedule ?? '';
}

function withValue(values: readonly number[], value: number | null): number[] {
  return value === null || values.includes(value) ? [...values] : [...values, value].sort((a, b) => a - b);
}

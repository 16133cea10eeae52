import { formatCount } from '../../src/core/format';
import type { WhatIfChoice, WhatIfChosen } from '../../src/core/layout-search/what-if';
import type { Plan } from '../../src/core/planner/plan';
import { scheduleDescriptions, type ScheduleDescription } from '../../src/core/schedules/descriptions';
import { say } from '../../src/core/sentence';
import { t } from '../base/strings';
import type { Choice } from '../base/ui';

/** The choice that leaves a setting to the planner. */
export const automatic = '';

/** A setting of the plan that is chosen from a list. */
export interface PlanControl {
  readonly key: WhatIfChoice;
  readonly label: string;
  /** @param leavesOpen whether the config can leave it to the planner. */
  readonly choices: (plan: Plan, leavesOpen: boolean) => readonly Choice[];
  /** The choice that is planned. */
  readonly value: (plan: Plan) => string;
  /** What a choice sets. */
  readonly chosen: (value: string) => WhatIfChosen;
}

export function planControls(): readonly PlanControl[] {
  const isChosen = (plan: Plan, key: string): boolean => plan.request.assumptions.some((assumption) => assumption.key === key);
  return [
    {
      key: 'schedule',
      label: t('Schedule'),
      choices: (plan) => [
        { value: automatic, text: plan.request.schedule === null ? t('Auto: {0}', chosenSchedule(plan)) : t('Auto') },
        ...runnable(plan).map(([name, { text }]) => ({ value: name, text: name, title: say(text, t) })),
      ],
      value: ({ request }) => request.schedule ?? automatic,
      chosen: (value) => ['schedule', value === automatic ? null : value],
    },
    {
      key: 'slicing.unit',
      label: t('Slice unit'),
      choices: ({ request }) => [
        { value: automatic, text: t('Auto') },
        ...withValue([8, 16, 32, 64, 128, 256], request.slicing.unit).map((unit) => ({
          value: String(unit),
          text: t('{0} tokens', formatCount(unit)),
        })),
      ],
      value: ({ request }) => (request.slicing.unit === null ? automatic : String(request.slicing.unit)),
      chosen: (value) => ['slicing.unit', value === automatic ? null : Number(value)],
    },
    {
      key: 'training.recompute',
      label: t('Recompute'),
      choices: (plan, leavesOpen) => [
        isChosen(plan, 'training.recompute')
          ? { value: automatic, text: t('Auto: {0}', plan.request.training.recompute) }
          : { value: automatic, text: t('Auto'), ...(leavesOpen ? {} : { disabled: true, title: setByLauncherText() }) },
        { value: 'none', text: t('none') },
        { value: 'selective', text: t('selective') },
        { value: 'full', text: t('full') },
      ],
      value: (plan) => (isChosen(plan, 'training.recompute') ? automatic : plan.request.training.recompute),
      chosen: (value) => ['training.recompute', value === automatic ? null : value],
    },
  ];
}

/** Why a setting of a launcher's file cannot be left to the planner. */
export function setByLauncherText(): string {
  return t('A launcher file sets this itself; a terapipe.json can leave it to the planner');
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

import type { Page } from 'playwright-core';
import { scheduledStageLayers } from '../../src/core/partition/chunks';
import { memoryVerdict, verdictSentence } from '../../src/core/memory-model/verdict';
import { chosenCandidate } from '../../src/core/planner/plan';
import { lowerFirst, sentence } from '../../src/core/sentence';
import { emptyPage, type PageKind, type PageState } from '../../src/protocol/page';
import { planFigures } from '../../src/protocol/what-if';
import { comparedState, comparisonOf, plansCompared, traceCompared } from './comparisons';
import { elasticOf, elasticState } from './elastic';
import { findings, planOf, stateOf } from './fixtures';
import { layoutOf, layoutState, usualSearch } from './layouts';
import { prefillState } from './prefill';
import { known, profileOf, profilesOf } from './profiles';
import { interleaved } from './schedule';

/** Something that people look at, at the widths it is looked at. */
export interface Surface {
  readonly name: string;
  readonly kind: 'side' | 'tab';
  readonly state: () => PageState;
  readonly savedState?: unknown;
  /** Where the usual ones would add nothing. */
  readonly widths?: readonly number[];
  /** What a person does before looking. */
  readonly act?: (page: Page) => Promise<void>;
}

export const widths = { side: [220, 280, 400], tab: [500, 1500, 2400] } as const;
export const heights = { side: 900, tab: 1000 } as const;

const gpt3 = () => planOf({ unit: 56 });

/** A plan that does not fit, with the planner's finding. */
function over(page: PageKind): PageState {
  const plan = planOf({ stages: 24, tensor: 8, nodes: 24 });
  const title = sentence`Recompute attention: fits, 3 % slower`;
  const [message, remedy] = [verdictSentence(memoryVerdict(chosenCandidate(plan).memory)), lowerFirst(title)];
  const fixes = [{ title, preferred: true, edits: [] }];
  return stateOf(page, plan, { findings: findings.slice(0, 1).map((finding) => ({ ...finding, message, remedy, fixes })) });
}

/** A plan with its sizes as steppers, and two that there were before it. */
function worked(): PageState {
  const plan = gpt3();
  const figures = planFigures(plan);
  const past = { figures, changes: [], isSaved: true, isPinned: true };
  const slower = { ...figures, iterationMs: figures.iterationMs * 1.08 };
  return stateOf('tab', plan, {
    findings: findings.slice(1),
    profile: profilesOf([known(profileOf())]),
    whatIf: {
      edits: 0,
      chunks: 'several',
      leavesOpen: true,
      cut: scheduledStageLayers(plan.request, chosenCandidate(plan).schedule),
      sets: [],
      tried: null,
      error: null,
    },
    history: {
      plans: [
        { ...past, id: 2, isSaved: false, isPinned: false },
        { ...past, id: 1, figures: slower },
      ],
      mostPinned: 6,
      canUndo: true,
    },
  });
}

const tabs = (name: string, state: () => PageState = worked): Surface => ({
  name,
  kind: 'tab',
  state,
  savedState: { tab: name.split('-')[0] },
});

/** The plan of two edits ago, after which the file cannot be read. */
const broken: Partial<PageState> = {
  staleEdits: 2,
  error: {
    code: 'config-json',
    message: sentence`Expected a comma or "}"`,
    remedy: sentence`separate the keys by commas`,
    place: findings[0]?.place ?? null,
    placeText: 'gpt3-175b/terapipe.json:7:3',
  },
};

/** The same while the plan of the second edit is made. */
const stale: Partial<PageState> = { staleEdits: 2, progress: 0.4 };

const states = (kind: Surface['kind']): readonly Surface[] => {
  const of = { kind, savedState: { tab: 'timeline' } };
  return [
    { ...of, name: `${kind}-error`, state: () => stateOf(kind, gpt3(), broken) },
    { ...of, name: `${kind}-only-error`, state: () => stateOf(kind, null, { ...broken, staleEdits: 0 }) },
    { ...of, name: `${kind}-stale`, state: () => stateOf(kind, gpt3(), stale) },
  ];
};

/** Every surface of both pages. */
export const surfaces: readonly Surface[] = [
  { name: 'side', kind: 'side', state: () => stateOf('side', gpt3(), { findings: findings.slice(1) }) },
  { name: 'side-over', kind: 'side', state: () => over('side') },
  {
    name: 'side-with-tab',
    kind: 'side',
    state: () => ({ ...worked(), page: 'side', tabInView: true, findings: over('side').findings }),
  },
  { name: 'side-elastic', kind: 'side', state: () => stateOf('side', null, { elastic: elasticOf() }) },
  { name: 'side-empty', kind: 'side', state: () => emptyPage('side', true) },
  tabs('timeline'),
  { ...tabs('timeline-selected'), act: (page) => page.locator('.lanes-region:visible').press('Home') },
  { ...tabs('timeline-zoomed'), act: zoomed },
  {
    ...tabs('timeline-rows'),
    savedState: { tab: 'timeline', criticalPath: true, timelineRows: { pinned: [0, 61], collapsed: true, except: [3, 30] } },
  },
  tabs('timeline-over', () => over('tab')),
  tabs('memory'),
  tabs('slices'),
  tabs('slices-whole', () => stateOf('tab', planOf({ schedule: '1F1B', training: { globalBatch: 96 } }))),
  tabs('compare'),
  tabs('compare-plans', () => comparedState(comparisonOf(plansCompared()))),
  tabs('compare-trace', () => comparedState(comparisonOf(traceCompared()))),
  {
    ...tabs('layout', () => layoutState(layoutOf(usualSearch()))),
    act: (page) => page.locator('.layout-canvas').last().press('ArrowLeft'),
  },
  tabs('layout-none', () => layoutState(layoutOf(usualSearch(), { answer: null }))),
  tabs('profile'),
  tabs('profile-none', () => stateOf('tab', gpt3(), { profile: profilesOf([]) })),
  tabs('prefill', () => prefillState()),
  { ...tabs('elastic', () => elasticState(elasticOf())), act: (page) => page.locator('.epoch-chart').press('PageDown') },
  tabs('elastic-none'),
  { name: 'schedule', kind: 'tab', state: interleaved },
  { name: 'empty', kind: 'tab', state: () => emptyPage('tab', true) },
  ...states('side'),
  ...states('tab'),
  {
    ...tabs('timeline-export'),
    widths: [500, 1500],
    act: async (page) => {
      const more = page.getByRole('button', { name: 'More actions' });
      if (await more.isVisible()) await more.click();
      await page.getByRole('button', { name: 'Export' }).locator('visible=true').click();
    },
  },
  { ...tabs('timeline-try'), savedState: { tab: 'timeline', tries: 'first' } },
  {
    ...tabs('timeline-history'),
    widths: [500, 1500],
    savedState: { tab: 'timeline', tries: 'first' },
    act: (page) => page.locator('.history-summary').click(),
  },
  { ...tabs('timeline-memory'), widths: [500, 1500, 2400], act: pointedMemory },
];

/** Zooms into the ramp of the forwards, on a few stages. */
async function zoomed(page: Page): Promise<void> {
  const box = await page.locator('.lanes-overlay:visible').first().boundingBox();
  if (box === null) throw new Error('no lanes');
  await page.mouse.move(box.x + box.width * 0.4, box.y + box.height * 0.5);
  await page.keyboard.down('Control');
  await page.mouse.wheel(0, -1500);
  await page.keyboard.up('Control');
  await page.mouse.move(-1, -1);
}

/** Points at a time in the memory lane. */
async function pointedMemory(page: Page): Promise<void> {
  const box = await page.locator('.memory-lane-curve').boundingBox();
  if (box === null) throw new Error('no memory lane');
  await page.mouse.move(box.x + box.width * 0.4, box.y + box.height * 0.6);
}

/** One look of a surface: those that are compared with approved pictures, a few in each theme. */
export interface Look {
  readonly surface: Surface;
  readonly width: number;
}

function lookAt(name: string, width: number): Look {
  const surface = surfaces.find((each) => each.name === name);
  if (surface === undefined) throw new Error(`no surface ${name}`);
  return { surface, width };
}

export const approvedLooks: readonly Look[] = [
  lookAt('side', 280),
  lookAt('side-over', 220),
  lookAt('timeline', 1500),
  lookAt('memory', 500),
  lookAt('compare-plans', 500),
];

export function nameOf({ surface, width }: Look): string {
  return `${surface.name}-${width}`;
}

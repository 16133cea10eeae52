import * as v from 'valibot';
import { whatIfChoices, whatIfKeys } from '../core/layout-search/what-if';
import { candidateIds } from '../core/planner/plan';
import { knownModels } from './known-models';
import { pageFocuses } from './page-keys';

/*
 * Messages of a page to the host, declared once: `page.ts` takes its types from here. Pages run only our scripts, but they show texts
 * of others: what arrives is checked to the last field.
 * A file of its own, since pages need only the types.
 */

/** Commands a page may ask for; the host refuses others. */
export const pageCommands = [
  'terapipe.openTimeline',
  'terapipe.openElastic',
  'terapipe.beginElastic',
  'terapipe.openSample',
  'terapipe.createConfig',
  'terapipe.chooseCluster',
  'terapipe.changeScenario',
  'terapipe.exportPlan',
  'terapipe.showLog',
  'terapipe.plan',
  'terapipe.profile',
  'terapipe.cancelProfile',
  'terapipe.importProfile',
  'terapipe.runHere',
  'terapipe.searchLayout',
  'terapipe.cancelSearch',
  'terapipe.compareWith',
  'terapipe.planPrefill',
  'terapipe.changeKeys',
] as const;

/** The setting of a scenario that a page asks to change. */
export const scenarioPart = v.picklist(['gpus', 'sequence', 'batch']);

const offset = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const text = (longest: number) => v.pipe(v.string(), v.maxLength(longest));
const place = v.object({ file: text(8192), range: v.object({ start: offset, end: offset }) });
const candidate = v.picklist(candidateIds);

/** A plan of one answer of a search: its id, and the index into its plans. */
export const layoutPoint = v.object({ answer: text(200), index: offset });

/**
 * A control of the tab's toolbar: written into terapipe.json by the host as an undoable edit. Null removes the key: "chosen by the
 * planner".
 */
export const controlChange = v.object({
  key: v.picklist([
    'schedule',
    'training.recompute',
    'training.microBatch',
    'slicing.unit',
    'elastic.alpha',
    'elastic.pipelineLength',
    'elastic.microBatches',
  ]),
  value: v.union([text(200), v.pipe(v.number(), v.finite()), v.null()]),
});

const size = v.pipe(v.number(), v.safeInteger(), v.minValue(1));
const stageLayers = v.pipe(v.array(offset), v.minLength(2), v.maxLength(100_000), v.readonly());

/** Sizes and settings to try, by their keys of terapipe.json; null leaves one to the planner. */
export const whatIfSets = v.pipe(
  v.array(
    v.union([
      v.pipe(v.tuple([v.picklist(whatIfKeys), v.nullable(size)]), v.readonly()),
      v.pipe(v.tuple([v.literal('training.globalBatch'), size]), v.readonly()),
      v.pipe(v.tuple([v.literal('layout.stageLayers'), stageLayers]), v.readonly()),
      v.pipe(v.tuple([v.picklist(['schedule', 'training.recompute']), v.nullable(text(200))]), v.readonly()),
      v.pipe(v.tuple([v.literal('slicing.unit'), v.nullable(size)]), v.readonly()),
    ]),
  ),
  v.maxLength(whatIfKeys.length + 2 + whatIfChoices.length),
  v.readonly(),
);

/**
 * What the host makes of a candidate: the report of the plan; the folder that trains it; its schedule for PyTorch (passes only, or with
 * communication, for 2.15 or older), or for Perfetto.
 */
export const exportFormat = v.picklist(['html', 'torchrun', 'pytorch-csv', 'pytorch-csv-comms', 'pytorch-csv-comms-2.14', 'chrome-trace']);

/** What a page may do to its comparison. */
export const comparisonAct = v.picklist(['swap', 'again', 'cancel', 'close']);

export const pageMessage = v.variant('type', [
  v.object({ type: v.literal('ready') }),
  // The part of the page that has the keyboard focus.
  v.object({ type: v.literal('focus'), on: v.picklist(pageFocuses) }),
  // Open a first plan of a known model.
  v.object({ type: v.literal('startModel'), model: v.picklist(knownModels) }),
  // `about`: which setting of the scenario to change, for `terapipe.changeScenario`; `what`: what to run, for `terapipe.runHere`.
  v.object({
    type: v.literal('command'),
    command: v.picklist(pageCommands),
    about: v.optional(scenarioPart),
    what: v.optional(v.literal('profile')),
  }),
  v.object({ type: v.literal('reveal'), place }),
  v.object({ type: v.literal('change'), change: controlChange }),
  // Make the edits of a finding's quick fix, by its English title.
  v.object({ type: v.literal('fix'), code: text(100), title: text(1000) }),
  // Null where a run is planned only as an elastic one, which has a report.
  v.object({ type: v.literal('export'), format: exportFormat, candidate: v.nullable(candidate) }),
  v.object({ type: v.literal('draw'), candidates: v.pipe(v.array(candidate), v.maxLength(candidateIds.length), v.readonly()) }),
  // Plan this layout whole and show it in the tab (`state` with `layout.opened`, then `show` the timeline); null: the config's own again.
  v.object({ type: v.literal('openLayout'), point: v.nullable(layoutPoint) }),
  // Show this layout as a change of the config, before anything is written.
  v.object({ type: v.literal('applyLayout'), point: layoutPoint }),
  // Write this layout as a new launcher's file or flags; the host asks which.
  v.object({ type: v.literal('exportLayout'), point: layoutPoint }),
  // Plan the config with other sizes and show the figures (`whatIf`); none: forget what was tried.
  v.object({ type: v.literal('try'), sets: whatIfSets }),
  // Write what was tried into the config, as an edit that can be undone.
  v.object({ type: v.literal('write'), sets: whatIfSets }),
  // Take back the last edit that a page asked for.
  v.object({ type: v.literal('undo') }),
  // A plan of the history: keep it, or compare the current one with it.
  v.object({ type: v.literal('past'), act: v.picklist(['pin', 'unpin', 'compare']), id: offset }),
  v.object({ type: v.literal('comparison'), act: comparisonAct }),
  // A tab by its folder in `webview/tabs`.
  v.object({ type: v.literal('openTab'), tab: v.pipe(v.string(), v.regex(/^[a-z-]{1,40}$/)), candidate: v.nullable(candidate) }),
  v.object({
    type: v.literal('save'),
    name: v.pipe(text(200), v.minLength(1)),
    mime: v.picklist(['image/svg+xml', 'image/png', 'application/json', 'text/tab-separated-values', 'text/csv', 'text/markdown']),
    // Of a PNG its bytes in base64.
    text: text(100_000_000),
  }),
  v.object({ type: v.literal('log'), level: v.picklist(['error', 'info']), message: text(10_000) }),
]);

/** A message from a page, or null for anything else. */
export function parsePageMessage(value: unknown): v.InferOutput<typeof pageMessage> | null {
  const result = v.safeParse(pageMessage, value);
  return result.success ? result.output : null;
}

import type { ExpectedError } from '../../core/errors';
import type { Run } from '../../core/formats/run';
import type { Located, Place } from '../../core/spec/located';
import type { ElasticAnswer } from '../../core/elastic/answer';
import {
  emptyPage,
  noTabParts,
  type PageElastic,
  type PageKind,
  type PageState,
  type TabParts,
  type TrainingCost,
} from '../../protocol/page';
import type { PageError } from '../../protocol/page-error';
import type { Finding } from '../../core/findings';
import { lineColumnAt } from '../../core/text';
import type { CandidateId, Plan } from '../../core/planner/plan';
import type { SessionState } from './session-state';

/** What a page needs beside the session. */
export interface PageContext {
  readonly page: PageKind;
  readonly trusted: boolean;
  /** A file's path as people name it: relative to the workspace. */
  readonly displayPath: (file: string) => string;
  /** What tabs show beside the plan; the side view does without. */
  readonly parts?: TabParts;
  /** What a search of layouts says of the files, beside the session's own findings. */
  readonly layoutFindings?: readonly Finding[];
  readonly trainingCost?: TrainingCost;
  /** Candidates whose timelines the page asked for. */
  readonly drawn?: readonly CandidateId[];
}

/** Timelines of so many operations together travel to a page in a fraction of a second; a million take 35 MB. */
const affordableOperations = 400_000;

/** The whole state of a page; `session` null when no config is shown. Arrays are shared with the session. */
export function pageStateOf(
  session: SessionState | null,
  { page, trusted, displayPath, parts = noTabParts, layoutFindings = [], drawn = [], trainingCost }: PageContext,
): PageState {
  if (session === null) return { ...emptyPage(page, trusted), document: null };
  const { error } = session;
  const withheld = session.plan === null ? [] : withheldTimelines(session.plan, page === 'side' ? 0 : affordableOperations, drawn);
  const errorPlace = error === null ? null : (error.place ?? session.findings.find(({ severity }) => severity === 'error')?.place ?? null);
  return {
    page,
    document: session.file,
    trusted,
    file: displayPath(session.file),
    plan: session.plan === null ? null : withoutTimelines(session.plan, withheld),
    withheld: page === 'tab' ? withheld : [],
    schedule: page === 'tab' ? session.schedule : null,
    elastic: session.elastic === null ? null : pageElasticOf(session.elastic, page),
    progress: session.progress,
    incumbent: session.incumbent,
    staleEdits: session.staleEdits,
    error: error === null ? null : pageErrorOf(error, errorPlace, session.texts, displayPath),
    findings: pageFindingsOf(session, layoutFindings, displayPath),
    ...(trainingCost === undefined ? {} : { trainingCost }),
    places: session.run === null ? {} : placesOf(session.run),
    ...(page === 'tab' ? parts : noTabParts),
  };
}

/** An error as a page shows it, at a place of one of `texts`. */
export function pageErrorOf(
  { code, what: message, remedy }: Pick<ExpectedError, 'code' | 'what' | 'remedy'>,
  place: Place | null,
  texts: ReadonlyMap<string, string>,
  displayPath: (file: string) => string,
): PageError {
  return { code, message, remedy, place, placeText: place === null ? null : placeTextOf(place, texts, displayPath) };
}

/** All that there is to say about the files of a session: what a search of layouts says comes last. */
export function pageFindingsOf(
  { findings, texts }: SessionState,
  layoutFindings: readonly Finding[],
  displayPath: (file: string) => string,
): PageState['findings'] {
  return [...findings, ...layoutFindings].map((finding) => ({ ...finding, placeText: placeTextOf(finding.place, texts, displayPath) }));
}

/** Without what pages do not draw: logs and profiles, which may be large, and all that is told by spans. */
export function pageElasticOf({ plan, spans, steps, study }: ElasticAnswer, page: PageKind): PageElastic {
  const { request, parameters, freezing, variants, totalMs, speedup, cost, reasons } = plan;
  const alpha = 'alpha' in request.freezing ? request.freezing.alpha : null;
  const shown = { ...request, freezing: undefined, profile: undefined, alpha };
  return {
    plan: { request: shown, parameters, freezing, variants, totalMs, speedup, cost, reasons },
    spans: page === 'side' ? spans.map((span) => ({ ...span, step: null })) : spans,
    steps: page === 'side' ? [] : steps,
    study: page === 'side' ? { alphas: [], lengths: [], microBatches: [] } : study,
  };
}

/** Whether a page that shows `before` needs no more than the progress of `now`: the plan and all that points into the file are the same. */
export function differsInProgressOnly(now: SessionState, before: SessionState | null): boolean {
  if (before === null) return false;
  const told: readonly (keyof SessionState)[] = ['progress', 'incumbent', 'staleEdits', 'edits'];
  return (Object.keys(now) as (keyof SessionState)[]).every((key) => told.includes(key) || now[key] === before[key]);
}

/** `file:line:column`, from 1; the file alone when its text was not read. */
export function placeTextOf(place: Place, texts: ReadonlyMap<string, string>, displayPath: (file: string) => string): string {
  const text = texts.get(place.file);
  if (text === undefined) return displayPath(place.file);
  const { line, column } = lineColumnAt(text, place.range.start);
  return `${displayPath(place.file)}:${line}:${column}`;
}

/** Where each value that a file gives stands, under the key that `terapipe.json` uses; `''` is the run itself. */
function placesOf(run: Run): Readonly<Record<string, Place>> {
  const places: Record<string, Place> = { '': run.place };
  for (const [key, { source }] of locatedValues(run)) if (source.kind === 'file') places[key] = source.place;
  return places;
}

/** Every value of a run with the key that `terapipe.json` uses for it: `training.microBatch`. */
export function locatedValues(run: Run): (readonly [key: string, located: Located<unknown>])[] {
  const groups: readonly (readonly [prefix: string, fields: object])[] = [
    ['model.', run.model],
    ['training.', run.training],
    ['layout.', run.layout],
    ['cost.', run.constants],
    ['elastic.', run.elastic ?? {}],
  ];
  const values: [string, Located<unknown>][] = groups.flatMap(([prefix, fields]) =>
    Object.entries(fields as Record<string, Located<unknown> | undefined>).flatMap(([key, located]): [string, Located<unknown>][] =>
      located === undefined ? [] : [[prefix + key, located]],
    ),
  );
  const single: readonly (readonly [key: string, located: Located<unknown> | undefined])[] = [
    ['cluster.gpu', run.gpu],
    ['cluster.links', run.links],
    ['cluster.nodes', run.nodes],
    ['cluster.gpusPerNode', run.gpusPerNode],
    ['cluster.groups', run.groups],
    ['schedule', run.schedule],
    ['slicing.unit', run.unit],
    ['slicing.scheme', run.scheme],
    ['cost.table', run.costTable],
  ];
  for (const [key, located] of single) if (located !== undefined) values.push([key, located]);
  return values;
}

/**
 * Candidates whose timelines stay here: neither chosen nor asked for, and more than `affordable` operations together with all before them.
 */
function withheldTimelines({ candidates, chosen }: Plan, affordable: number, drawn: readonly CandidateId[]): CandidateId[] {
  let left = affordable;
  return candidates.flatMap(({ id, timeline }) => {
    if (timeline === null) return [];
    left -= timeline.kind.length;
    return left >= 0 || id === chosen || drawn.includes(id) ? [] : [id];
  });
}

function withoutTimelines(plan: Plan, withheld: readonly CandidateId[]): Plan {
  if (withheld.length === 0) return plan;
  return { ...plan, candidates: plan.candidates.map((each) => (withheld.includes(each.id) ? { ...each, timeline: null } : each)) };
}

import type { ExpectedError } from '../../core/errors';
import type { Run } from '../../core/run/run';
import type { Located, Place } from '../../core/domain/located';
import type { ElasticAnswer } from '../../features/elastic/core/answer';
import {
  emptyPage,
  type PageElastic,
  type PageKind,
  type PageState,
  type TabParts,
  type TrainingCost,
  type WithheldTimeline,
} from '../../protocol/page';
import type { PageError } from '../../protocol/page-error';
import { mostSevereFirst, type Finding } from '../../core/findings';
import { lineColumnAt } from '../../core/text';
import { chosenCandidate, type Candidate, type CandidateId, type Plan } from '../../core/planner/plan';
import type { SessionState } from '../sessions/session-state';

/** What a page needs in addition to the session. */
export interface PageContext {
  readonly page: PageKind;
  readonly trusted: boolean;
  /** A file's path as people name it: relative to the workspace. */
  readonly displayPath: (file: string) => string;
  /** What tabs show in addition to the plan; the side view has only `layout` and `history`. */
  readonly parts?: TabParts;
  /** Of the side view: whether the tab of the config is in view too. */
  readonly tabInView?: boolean;
  /** Findings of a layout search on the files, in addition to the session's own. */
  readonly layoutFindings?: readonly Finding[];
  readonly trainingCost?: TrainingCost;
  /** Candidates whose timelines go with the plan. */
  readonly timelines?: readonly CandidateId[];
}

/** The whole state of a page; `session` null when no config is shown. Arrays are shared with the session. */
export function toPageState(
  session: SessionState | null,
  { page, trusted, displayPath, parts = {}, layoutFindings = [], timelines = [], trainingCost, tabInView = false }: PageContext,
): PageState {
  if (session === null) return { ...emptyPage(page, trusted), document: null };
  const { error } = session;
  const withheld = session.plan === null || page === 'side' ? [] : withheldTimelines(session.plan, timelines);
  const errorPlace = error === null ? null : (error.place ?? session.findings.find(({ severity }) => severity === 'error')?.place ?? null);
  return {
    page,
    document: session.file,
    trusted,
    ...(page === 'side' ? { tabInView } : {}),
    file: displayPath(session.file),
    plan: session.plan === null ? null : page === 'side' ? withoutOthers(session.plan) : withoutTimelines(session.plan, withheld),
    withheld,
    schedule: page === 'tab' ? session.schedule : null,
    elastic: session.elastic === null ? null : toPageElastic(session.elastic, page),
    progress: session.progress,
    incumbent: session.incumbent,
    staleEdits: session.staleEdits,
    error: error === null ? null : toPageError(error, errorPlace, session.texts, displayPath),
    findings: toPageFindings(session, layoutFindings, displayPath),
    ...(trainingCost === undefined ? {} : { trainingCost }),
    places: session.run === null ? {} : settingPlaces(session.run),
    ...parts,
  };
}

/** An error as a page shows it, at a place of one of `texts`. */
export function toPageError(
  { code, what: message, remedy }: Pick<ExpectedError, 'code' | 'what' | 'remedy'>,
  place: Place | null,
  texts: ReadonlyMap<string, string>,
  displayPath: (file: string) => string,
): PageError {
  return { code, message, remedy, place, placeText: place === null ? null : describePlace(place, texts, displayPath) };
}

/**
 * All findings on the files of a session, errors first; those of one severity by where they are in the file, and those of a layout search
 * last.
 */
function toPageFindings(
  { findings, texts }: SessionState,
  layoutFindings: readonly Finding[],
  displayPath: (file: string) => string,
): PageState['findings'] {
  const files = [...new Set(findings.map(({ place }) => place.file))];
  const inOrder = findings.toSorted(
    ({ place: a }, { place: b }) => files.indexOf(a.file) - files.indexOf(b.file) || a.range.start - b.range.start,
  );
  return mostSevereFirst([...inOrder, ...layoutFindings]).map((finding) => ({
    ...finding,
    placeText: describePlace(finding.place, texts, displayPath),
  }));
}

/** Without what pages do not draw: logs and profiles, which may be large, and what is in the spans. */
export function toPageElastic({ plan, spans, steps, study }: ElasticAnswer, page: PageKind): PageElastic {
  const { request, parameters, freezing, variants, totalMs, speedup, cost, reasons } = plan;
  const alpha = 'alpha' in request.freezing ? request.freezing.alpha : null;
  const shown = { ...request, freezing: undefined, profile: undefined, alpha };
  return {
    plan: { request: shown, parameters, freezing, variants, totalMs, speedup, cost, reasons },
    spans: page === 'side' ? spans.map((span) => ({ ...span, step: null })) : spans,
    steps: page === 'side' ? [] : steps,
    study: page === 'side' ? { ...study, alphas: [], lengths: [], microBatches: [] } : study,
  };
}

/** `file:line:column`, from 1; only the file when its text was not read. */
export function describePlace(place: Place, texts: ReadonlyMap<string, string>, displayPath: (file: string) => string): string {
  const text = texts.get(place.file);
  if (text === undefined) return displayPath(place.file);
  const { line, column } = lineColumnAt(text, place.range.start);
  return `${displayPath(place.file)}:${line}:${column}`;
}

/** Where each value that a file gives is, under the key that `terapipe.json` uses; `''` is the run itself. */
function settingPlaces(run: Run): Readonly<Record<string, Place>> {
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

/** Timelines that stay here. */
function withheldTimelines({ candidates }: Plan, sent: readonly CandidateId[]): WithheldTimeline[] {
  return candidates.flatMap(({ id, timeline }) =>
    timeline === null || sent.includes(id) ? [] : [{ id, operations: timeline.kind.length }],
  );
}

/** With them goes what is drawn only over them, the bytes of units in flight. */
function withoutTimelines(plan: Plan, withheld: readonly WithheldTimeline[]): Plan {
  const isWithheld = ({ id }: Candidate): boolean => withheld.some((one) => one.id === id);
  const candidates = plan.candidates.map((each) =>
    isWithheld(each) ? { ...each, timeline: null, memory: { ...each.memory, chunks: [] } } : each,
  );
  return { ...plan, candidates };
}

/** The side view shows one candidate. */
function withoutOthers(plan: Plan): Plan {
  return { ...plan, candidates: [chosenCandidate(plan)] };
}

import type * as v from 'valibot';
import type { PageError } from './page-error';
import type { comparisonAct, controlChange, exportFormat, pageMessage, scenarioPart } from './page-schema';
import type { ElasticAnswer } from '../features/elastic/core/answer';
import type { ElasticPlan } from '../features/elastic/core/plan';
import type { ElasticRequest } from '../features/elastic/core/request';
import type { Finding } from '../core/findings';
import type { CandidateId, Plan } from '../core/planner/plan';
import type { Profile } from '../core/domain/profile';
import type { Place } from '../core/domain/located';
import type { SteppedSchedule } from '../core/schedules/pytorch-csv/schedule-file';
import type { IncumbentTimes } from '../core/slicing/solve';
import type { PageCommandId, PageFocus } from './page-keys';
import type { Sentence } from '../core/sentence';

/** Which page the bundle shows: the narrow live view or the editor tab. */
export type PageKind = 'side' | 'tab';

/** A tab by its folder in `webview/tabs`. A page that knows no such tab shows its first. */
export type TabId = string;

/** A profile file and what becomes of it in this plan. */
export interface KnownProfile {
  /** URI of the file. */
  readonly file: string;
  /** Its name for the eye. */
  readonly name: string;
  readonly profile: Profile;
  /** Why it cannot serve this plan; null when it can. */
  readonly refusal: Sentence | null;
}

/** Measured slice times as the Profile tab shows them. */
export interface ProfileState {
  /** Profiles found for the config's workspace, newest first. */
  readonly known: readonly KnownProfile[];
  /** The one the plan used, by file; null: none. */
  readonly used: string | null;
  /** A measurement under way: what there is so far, what it does now in words, and how far it is, 0..1. */
  readonly running: { readonly profile: Profile; readonly doing: string; readonly fraction: number } | null;
  /** Why the last measurement stopped; null when it ended well or none was made. */
  readonly error: PageError | null;
  /** False where this machine is known to have no GPU. */
  readonly mayHaveGpu?: boolean;
}

/** A run that freezes layers, stated once for epochs that run alike. */
export interface PageElastic extends Pick<ElasticAnswer, 'spans' | 'steps' | 'study'> {
  readonly plan: Omit<ElasticPlan, 'request' | 'epochs' | 'balances'> & {
    readonly request: Omit<ElasticRequest, 'freezing' | 'profile'> & { readonly alpha: number | null };
  };
}

/** What a person wants to know the cost of. */
export interface TrainingCost {
  /** To train on; null where not set. */
  readonly tokens: number | null;
  /** Of one GPU for an hour, in `currency`; null where not set. */
  readonly gpuHourPrice: number | null;
  readonly currency: string;
}

/**
 * What tabs show in addition to the plan; a part is undefined before the host has sent it. The file that declares the state of a tab adds
 * its part to this interface; its source is a row of `parts` in `src/extension/build.ts`. The side view has only `layout` and `history`.
 */
export interface TabParts {
  /** Null while the host has not looked for profiles. */
  readonly profile?: ProfileState | null;
}

/** A candidate whose timeline the page does not have. */
export interface WithheldTimeline {
  readonly id: CandidateId;
  /** How many it draws. */
  readonly operations: number;
}

/** Everything a page shows. Sent whole where much changed: a hidden page may have missed any earlier one. */
export interface PageState extends TabParts {
  readonly page: PageKind;
  /**
   * Identity (URI) of the config shown. A page keeps it in its own state (`setState({ document, ... })`), so that a restored tab finds it
   * again.
   */
  readonly document?: string | null;
  /** Whether the tab of the config is in view too, so that the side view need not repeat it; only in the side view. */
  readonly tabInView?: boolean;
  readonly trusted: boolean;
  /** Display path of the config, null when nothing is open. */
  readonly file: string | null;
  /** In the side view only with the chosen candidate. */
  readonly plan: Plan | null;
  /** Timelines that were left out; a page that wants to draw one asks (`draw`). */
  readonly withheld?: readonly WithheldTimeline[];
  /** A schedule file instead of a config: what it does in steps; null for configs, and while it could never run. */
  readonly schedule: SteppedSchedule | null;
  /** Without its `steps` in the side view. */
  readonly elastic: PageElastic | null;
  /** Solving now; 0..1, or null when idle. The old plan stays on screen. */
  readonly progress: number | null;
  /** The best slices so far, and what none is faster than, while they are solved for; else null. */
  readonly incumbent: IncumbentTimes | null;
  /** Edits since `plan`, `schedule` and `elastic` were made: 0 when they are current. */
  readonly staleEdits: number;
  readonly error: PageError | null;
  readonly findings: readonly (Finding & { readonly placeText: string })[];
  readonly trainingCost?: TrainingCost;
  /** Where each assumption or value can be edited: key to place. */
  readonly places: Readonly<Record<string, Place>>;
}

/** What a page shows before it knows of any config. */
export function emptyPage(page: PageKind, trusted: boolean): PageState {
  return {
    page,
    trusted,
    file: null,
    plan: null,
    schedule: null,
    elastic: null,
    progress: null,
    incumbent: null,
    staleEdits: 0,
    error: null,
    findings: [],
    places: {},
  };
}

/**
 * Host to page. `update` changes a few fields of the last state, which may be large. `show` follows the first state when somebody asked for
 * one tab or candidate; a page that knows neither ignores it. `act` has the page do a command; `focus` is the part of a page that had the
 * focus then, as far as the host knew.
 */
export type HostMessage =
  | { readonly type: 'state'; readonly state: PageState }
  | { readonly type: 'update'; readonly fields: Partial<PageState> }
  | { readonly type: 'show'; readonly tab: TabId; readonly candidate: CandidateId | null }
  | ActMessage;

/** A command for the page, which is as small as a key: it is not packed, and waits for no plan in transit. */
export interface ActMessage {
  readonly type: 'act';
  readonly command: PageCommandId;
  readonly focus: PageFocus;
}

/** Page to host: their contents are in `page-schema.ts`. */
export type PageMessage = v.InferOutput<typeof pageMessage>;
export type ComparisonAct = v.InferOutput<typeof comparisonAct>;
export type ScenarioPart = v.InferOutput<typeof scenarioPart>;
export type ControlChange = v.InferOutput<typeof controlChange>;
export type ExportFormat = v.InferOutput<typeof exportFormat>;

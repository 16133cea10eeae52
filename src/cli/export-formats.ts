import { chromeTrace } from '../core/export/chrome-trace';
import { timelineSvg } from '../core/export/svg';
import { ExpectedError } from '../core/errors';
import { formatCount } from '../core/format';
import { liveCurve } from '../core/memory/curve';
import { chosenOf, type Candidate, type Plan } from '../core/planner/plan';
import { maximumTimelineOperations } from '../core/planner/predict';
import { writeScheduleCsv } from '../core/schedule/pytorch/write';
import type { Timeline } from '../core/schedule/schedule';

/** A file made of a plan. */
export interface Exported {
  readonly text: string;
}

/** One thing that `export --to` writes. */
export interface ExportFormat {
  readonly about: string;
  /**
   * Of the plan's chosen candidate.
   * @throws ExpectedError where this plan cannot be written so.
   */
  readonly create: (plan: Plan) => Exported;
}

/** Everything that `export --to` writes, by name. */
export const exportFormats = {
  'pytorch-csv': ofTimeline("the order as PyTorch's CSV, passes alone", (timeline) => writeScheduleCsv(timeline, 'compute_only')),
  'pytorch-csv-comms': ofTimeline('the same with sends and receives', (timeline) => writeScheduleCsv(timeline, 'compute_comms')),
  'chrome-trace': ofTimeline('the timeline for Perfetto, with memory', trace),
  svg: ofTimeline('the timeline as a picture', picture),
};

export type ExportName = keyof typeof exportFormats;

export const exportNames = Object.keys(exportFormats) as ExportName[];

function ofTimeline(about: string, write: (timeline: Timeline, candidate: Candidate, plan: Plan) => string): ExportFormat {
  const create = (plan: Plan): Exported => {
    const candidate = chosenOf(plan);
    if (candidate.timeline === null)
      throw new ExpectedError(
        'export-no-timeline',
        `This schedule has more than ${formatCount(maximumTimelineOperations)} operations, too many to write one by one`,
        'raise training.microBatch or lower training.globalBatch',
      );
    return { text: write(candidate.timeline, candidate, plan) };
  };
  return { about, create };
}

function titleOf(plan: Plan, { name }: Candidate): string {
  return `${plan.request.title}: ${name}`;
}

function trace(timeline: Timeline, candidate: Candidate, plan: Plan): string {
  const { chunks, stages } = candidate.memory;
  const memory = stages.map(({ stage, staticBytes }) => liveCurve(timeline, chunks, stage, staticBytes));
  return [...chromeTrace(timeline, { title: titleOf(plan, candidate), memory })].join('');
}

/** Light, as for a page of paper. */
const colors = {
  ...{ background: '#ffffff', foreground: '#1b1f24', dim: '#57606a', line: '#d0d7de' },
  ...{ forward: '#2f6fd0', backward: '#c46a12', backwardWeight: '#8a7a66' },
};

function picture(timeline: Timeline, candidate: Candidate, plan: Plan): string {
  return timelineSvg(timeline, { title: titleOf(plan, candidate), widthPx: 1200, colors });
}

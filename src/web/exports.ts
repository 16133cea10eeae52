import { ExpectedError } from '../core/errors';
import { candidateTrace } from '../core/export/chrome-trace';
import { planHtml } from '../core/export/html/report';
import { planJson } from '../core/export/plan-json';
import { startErrors } from '../core/findings';
import { writeScheduleCsv } from '../core/schedules/pytorch-csv/write';
import { say, sentence } from '../core/sentence';
import { elasticHtml } from '../features/elastic/core/report';
import { elasticJson } from '../features/elastic/json';
import { reportFindings } from '../host/report-findings';
import type { SessionState } from '../host/sessions/session-state';
import type { ExportFormat } from '../protocol/page';
import { download } from './download';
import { displayPath } from './files';

/** As `terapipe plan --json` prints it. */
export function exportJson({ plan, elastic, findings }: SessionState): void {
  if (plan !== null) {
    const starts = startErrors(findings).length === 0;
    download(`${plan.request.title} plan.json`, 'application/json', `${JSON.stringify({ ...planJson(plan), starts }, null, 2)}\n`);
  } else if (elastic !== null)
    download(
      `${elastic.plan.request.title} elastic plan.json`,
      'application/json',
      `${JSON.stringify(elasticJson(elastic.plan, elastic.study), null, 2)}\n`,
    );
}

/** Saves a candidate of a plan, as people load it elsewhere. @throws ExpectedError `no-plan`, `export-no-timeline`. */
export function exportShown(state: SessionState, format: ExportFormat, id: string | null): void {
  const { plan, elastic } = state;
  if (plan === null && elastic !== null && format === 'html') {
    download(`${elastic.plan.request.title} elastic plan.html`, 'text/html', elasticHtml(elastic.plan, reportFindings(state, displayPath)));
    return;
  }
  if (plan === null)
    throw new ExpectedError('no-plan', sentence`There is no plan yet`, sentence`wait for planning to end, then export again`);
  if (format === 'html') {
    download(`${plan.request.title} plan.html`, 'text/html', planHtml(plan, reportFindings(state, displayPath)));
    return;
  }
  const candidate = plan.candidates.find((each) => each.id === id);
  const timeline = candidate?.timeline ?? null;
  if (candidate === undefined || timeline === null || format === 'torchrun')
    throw new ExpectedError('export-no-timeline', sentence`There is no timeline to write`, sentence`pick a plan whose timeline is drawn`);
  const name = `${plan.request.title} ${say(candidate.name)}`;
  if (format === 'chrome-trace') download(`${name} trace.json`, 'application/json', joined(candidateTrace(candidate, timeline, name)));
  else {
    const kind = format === 'pytorch-csv' ? 'compute_only' : 'compute_comms';
    download(`${name}.csv`, 'text/csv', joined(writeScheduleCsv(timeline, kind, format === 'pytorch-csv-comms-2.14' ? '2.14' : '2.15')));
  }
}

/** A text that is written whole or in pieces. */
function joined(text: string | Iterable<string>): string {
  return typeof text === 'string' ? text : Array.from(text).join('');
}

import { handOverOf } from '../core/export/launchers/hand-over';
import type { EditableFormat, Remark } from '../core/export/launchers/edit-launcher';
import { newLauncher, type NewFormat } from '../core/export/launchers/new-launcher';
import { planHtml } from '../core/export/html/report';
import { timelineSvg } from '../core/export/svg';
import { ExpectedError } from '../core/errors';
import { chosenOf, type Plan } from '../core/planner/plan';
import type { PrintedFinding } from './answer';

/** A file made of a plan. */
export interface Exported {
  readonly text: string;
  /** What the format has no word for. */
  readonly gaps: readonly Remark[];
}

/** One thing that `export --to` writes. */
export interface ExportFormat {
  readonly about: string;
  /** @throws ExpectedError where this plan cannot be written so. */
  readonly create: (plan: Plan, findings: readonly PrintedFinding[]) => Exported;
  /** Files that `--into` takes for it; empty: none. */
  readonly into: readonly EditableFormat[];
}

/** Everything that `export --to` writes, by name. */
export const exportFormats = {
  megatron: launcher('a launch script of Megatron-LM', 'megatron-shell', ['megatron-shell', 'megatron-yaml']),
  nemo: launcher('YAML overrides of Megatron-Bridge (NeMo)', 'megatron-bridge', ['megatron-bridge', 'nemo']),
  torchtitan: launcher('a TorchTitan TOML', 'torchtitan', ['torchtitan']),
  deepspeed: launcher('a DeepSpeed JSON', 'deepspeed', ['deepspeed']),
  html: shown('a report to send around, in one page', report),
  svg: shown('the timeline as a picture', picture),
};

export type ExportName = keyof typeof exportFormats;

export const exportNames = Object.keys(exportFormats) as ExportName[];

function launcher(about: string, format: NewFormat, into: readonly EditableFormat[]): ExportFormat {
  return { about, create: (plan) => newLauncher(handOverOf(plan), format), into };
}

function shown(about: string, create: ExportFormat['create']): ExportFormat {
  return { about, create, into: [] };
}

function report(plan: Plan, findings: readonly PrintedFinding[]): Exported {
  const shown = findings.map((finding) => ({ ...finding, where: `${finding.file}:${finding.line}:${finding.column}` }));
  return { text: planHtml(plan, shown), gaps: [] };
}

/** Light, as for a page of paper; the report follows the reader's theme. */
const colors = {
  background: '#ffffff',
  foreground: '#1b1f24',
  dim: '#57606a',
  line: '#d0d7de',
  forward: '#2f6fd0',
  backward: '#c46a12',
  backwardWeight: '#2e7d4f',
};

function picture(plan: Plan): Exported {
  const { timeline, name } = chosenOf(plan);
  if (timeline === null)
    throw new ExpectedError('export-no-timeline', 'This schedule has too many operations to be drawn', 'export html for its numbers');
  return { text: timelineSvg(timeline, { title: `${plan.request.title}: ${name}`, widthPx: 1200, colors }), gaps: [] };
}

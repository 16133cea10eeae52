import type { Finding } from '../../../core/findings';
import { formatCount, plural } from '../../../core/format';
import { printable } from '../../../core/text';
import { findingLine, printedFinding, type Answer, type Texts } from '../../../cli/answer';
import { indented, table } from '../../../cli/table';
import { changeEffects, effects, isReported, type ConfigChange } from '../core/change';
import type { SideChanges, Sides } from './compare-sides';
import { markdownDiff } from './markdown';
import { changeRows, figures, fileText, type PlacedChange } from './rows';

/** How a diff is printed. */
interface DiffPrinting {
  /** Every cause and information. */
  readonly all: boolean;
  readonly asMarkdown: boolean;
}

/** `terapipe diff`. @param compared what changed between each pair of `sides`. */
export function diffAnswer(sides: readonly Sides[], compared: readonly SideChanges[], { all, asMarkdown }: DiffPrinting): Answer {
  const changes = compared.flatMap(({ changes: ofPair, texts }) => ofPair.map((change) => ({ change, texts })));
  const reported = changes.filter(({ change }) => isReported(change));
  const configs = compared.reduce((count, { configs: ofPair }) => count + ofPair, 0);
  const summary = diffSummary(
    reported.map(({ change }) => change),
    configs,
  );
  const [first] = sides;
  return {
    json: {
      version: 1,
      base: first?.base.name ?? null,
      head: first?.head.name ?? null,
      compared: configs,
      summary,
      configs: reported.map(changeJson),
    },
    text: asMarkdown ? markdownDiff(reported, summary) : [...reported.map((placed) => changeText(placed, all)), summary].join('\n\n'),
    exitCode: changes.some(({ change }) => isWorse(change)) ? 1 : 0,
  };
}

function isWorse(change: ConfigChange): boolean {
  const found = changeEffects(change);
  return found.includes('newErrors') || found.includes('noLongerFits');
}

/** `2 of 22 configs changed: 1 slower, 1 changes convergence`. */
function diffSummary(reported: readonly ConfigChange[], configs: number): string {
  if (reported.length === 0) return `No reported change in ${plural(configs, 'config')}`;
  const found = reported.flatMap(changeEffects);
  const counts = Object.entries(effects).flatMap(([effect, [one, several]]) => {
    const count = found.filter((each) => each === effect).length;
    return count === 0 ? [] : [`${formatCount(count)} ${count === 1 ? one : several}`];
  });
  const list = counts.length === 0 ? '' : `: ${counts.join(', ')}`;
  return `${formatCount(reported.length)} of ${plural(configs, 'config')} changed${list}`;
}

function changeJson({ change, texts }: PlacedChange): object {
  const { file, status, base, head, comparison, convergence, added, resolved } = change;
  return {
    file,
    renamedFrom: change.renamedFrom ?? null,
    status,
    effects: changeEffects(change),
    changesConvergence: convergence.length > 0,
    base: figures(base),
    head: figures(head),
    speedup: comparison?.speedup ?? null,
    settings: comparison?.requestDiff.map(({ key, a, b }) => ({ key, base: a, head: b })) ?? [],
    added: added.map((finding) => printedFinding(finding, texts.head)),
    resolved: resolved.map((finding) => printedFinding(finding, texts.base)),
  };
}

/** Causes of a change that are shown unless all are asked for. */
const shownCauses = 4;

function changeText({ change, texts }: PlacedChange, all: boolean): string {
  const { added, resolved } = change;
  const isShown = ({ severity }: Finding): boolean => all || severity !== 'information';
  const lines = (findings: readonly Finding[], sign: string, ofSide: Texts): string[] =>
    findings.filter(isShown).map((finding) => `${sign} ${findingLine(printedFinding(finding, ofSide))}`);
  const rows = changeRows(change, all ? Infinity : shownCauses);
  return [
    printable(fileText(change)),
    ...(rows.length === 0 ? [] : [indented(table(rows, [1]))]),
    ...[...lines(added, '+', texts.head), ...lines(resolved, '-', texts.base)].map((line) => indented(line)),
  ].join('\n');
}

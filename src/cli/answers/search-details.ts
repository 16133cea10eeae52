import { notInFile } from '../../core/domain/capabilities';
import { runtimeProfile } from '../../core/domain/runtime';
import { column, formatCount, formatNumber, plural } from '../../core/format';
import { gainsOver, keptFreeText, layoutText, ruleOfBest, stageLayersText } from '../../core/layout-search/labels';
import { runtimesNeeded } from '../../core/layout-search/runtimes-needed';
import { launchedAgainstBest } from '../../core/layout-search/launched';
import { assumedBy } from '../../core/layout-search/plans';
import type { FoundPlan, SearchResult } from '../../core/layout-search/result';
import { isRun } from '../../core/schedules/runtimes';
import { say, sentence } from '../../core/sentence';
import { printable } from '../../core/text';
import { section, table } from '../table';

/** Rows of the front, and of what would help, that are shown. */
const shownFront = 12;
const shownImprovements = 6;

/** What `plan --search --all` prints after the answer. */
export function searchDetails(result: SearchResult): string[] {
  const { request, paretoFront, perSchedule, runnersUp, notFitting, improvements, cost, fixed } = result;
  const shown = improvements.slice(0, shownImprovements).map(({ summary }) => say(summary));
  const over = gainsOver(result);
  const against = launchedAgainstBest(result);
  const outside = request.capabilities === undefined ? [] : notInFile(request.capabilities);
  const assumed = assumedBy(result).map(({ key, value, reason }) => [printable(key), printable(value), printable(say(reason))]);
  return [
    ...section('Why', whyText(result)),
    ...section('As launched', against === null ? '' : say(against.summary)),
    ...section('Step time against memory', planTable(paretoFront.slice(0, shownFront), 'numbered')),
    ...section('Best of each schedule', planTable(perSchedule)),
    ...section(
      `Not run by ${runtimeProfile(result.request.training).shortName}`,
      runtimesNeeded(result)
        .map((needs) => say(needs))
        .join('\n'),
    ),
    ...section('Runners-up', runnersUp.map(({ plan, why }) => say(sentence`${layoutText(plan.point)}, ${plan.name}: ${why}`)).join('\n')),
    ...section('Faster, but too large', notFitting.map(({ layout, why }) => `${say(layout)}: ${say(why)}`).join('\n')),
    ...section(['What would help, each searched again', ...(over === null ? [] : [say(over)])].join(', '), shown.join('\n')),
    ...section('Searched', searchedText(result)),
    ...section(
      'Times',
      `${printable(say(cost.description))}\n±${formatNumber(cost.errorPercent)} %: ${printable(say(cost.errorBecause))}; those marked ~ are within error of the best`,
    ),
    ...section('Fixed by the files', fixed.filter((key) => !outside.includes(key)).join(', ')),
    ...section(`Not set by files of ${printable(request.capabilities?.name ?? '')}`, outside.join(', ')),
    ...measuredSection(result),
    ...section('Assumed', table(assumed, [1, 2])),
  ];
}

/** What measured times fix beyond the files. */
function measuredSection({ measured }: SearchResult): string[] {
  if (measured === null) return [];
  const { by, keys, mostMicroBatch } = measured;
  const most = mostMicroBatch === null ? [] : [`micro-batches of at most ${plural(mostMicroBatch, 'sequence')}, as measured`];
  const lines = [...(keys.length > 0 ? [keys.join(', ')] : []), ...most];
  return section(`Fixed by the ${by}`, lines.join('\n'));
}

/** By what rule the best was taken, and which schedules were searched. */
function whyText(result: SearchResult): string {
  const { request, fixed } = result;
  const { shortName } = runtimeProfile(request.training);
  const isOfRuntime = !fixed.includes('schedule') && request.runs?.every((name) => isRun(name, request)) === true;
  const searched = `schedules are those that ${shortName} runs; --schedules all searches others too`;
  return [say(ruleOfBest(result)), ...(isOfRuntime ? [searched] : [])].join('\n');
}

/** Plans as rows; where two have the same words, with the layers of their stages, in which they differ. */
function planTable(plans: readonly FoundPlan[], rows: 'numbered' | 'plain' = 'plain'): string {
  const layoutLabel = ({ point, name }: FoundPlan): string => `${say(layoutText(point))}, ${say(name)}`;
  const words = plans.map(layoutLabel);
  const isTwice = (plan: FoundPlan): boolean => words.filter((each) => each === layoutLabel(plan)).length > 1;
  return table(
    plans.map((plan, index) => [
      ...(rows === 'numbered' ? [`${String(index + 1).padStart(2)}.`] : []),
      `${plan.tie ? '~' : ' '} ${column.duration(plan.iterationMs)}`,
      column.bytes(plan.peakBytes),
      column.percent(plan.bubbleRate),
      say(layoutText(plan.point)),
      isTwice(plan) ? `${say(plan.name)}, ${say(stageLayersText(plan.point))}` : say(plan.name),
    ]),
    rows === 'numbered' ? [4, 5] : [3, 4],
  );
}

function searchedText(result: SearchResult): string {
  const { counts, paretoFront } = result;
  const { families, opened, considered, bounded, overMemory, evaluated, planned, tooLarge } = counts;
  const more = paretoFront.length - shownFront;
  const free = keptFreeText(result);
  return [
    `${plural(families, 'layout')}, ${formatCount(opened)} of them cut in ${plural(considered, 'way')}: ${formatCount(overMemory)} ruled out by memory, ${formatCount(bounded)} by time, ${formatCount(evaluated)} simulated${planned > 0 ? `, ${formatCount(planned)} of them with an order planned for their times` : ''}${tooLarge > 0 ? `, ${formatCount(tooLarge)} left out as too large` : ''}`,
    ...(free === null ? [] : [printable(say(free))]),
    ...(more > 0 ? [`${plural(more, 'more plan')} with less memory in --json`] : []),
  ].join('\n');
}

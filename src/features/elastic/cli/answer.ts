import { balanceNames } from '../../../core/run/elastic';
import type { Run } from '../../../core/run/run';
import { readNamedNorms } from '../core/named-norms';
import { epochVerdict } from '../core/stage-bytes';
import { planElastic } from '../core/make-plan';
import { variantNames, type ElasticEpoch, type ElasticPlan, epochLayout } from '../core/plan';
import { studyElastic, type ElasticStudy, type MicroBatchCurve } from '../core/study';
import { resolveElastic } from '../core/resolve';
import { placed } from '../../../core/errors';
import { elasticJson } from '../json';
import { outcomeTexts } from '../core/outcomes-text';
import { elasticHtml } from '../core/report';
import { column, formatCount, formatDuration, formatNumber, plural } from '../../../core/format';
import { reportedAssumptions } from '../../../core/domain/request';
import type { ResolveDefaults } from '../../../core/plan-request/scenario';
import { printable } from '../../../core/text';
import { profilesFolder } from '../../../profiler/folder';
import { readProfiles } from '../../../profiler/store';
import { whereText, type Answer, type PrintedFinding } from '../../../cli/answer';
import { referencedInto } from '../../../cli/read-config';
import { indented, table } from '../../../cli/table';
import { writeOut } from '../../../cli/write-file';
import { say } from '../../../core/sentence';

/** Where the report goes. */
interface ReportFile {
  readonly file: string;
  /** Replace a file that exists. */
  readonly write: boolean;
  readonly findings: readonly PrintedFinding[];
}

/**
 * `terapipe elastic`: a run that freezes layers, epoch by epoch. @param report null: none is written. @throws ExpectedError as
 * `resolveElastic`, `readNamedNorms`, `planElastic` and `writeOut`.
 */
export async function elasticAnswer(
  run: Run,
  defaults: ResolveDefaults,
  texts: Map<string, string>,
  report: ReportFile | null,
): Promise<Answer> {
  const { found } = await readProfiles(profilesFolder(run.file));
  const norms = await readNamedNorms(run, referencedInto(texts));
  // What concerns the run as a whole is at its first key.
  const plan = placed(run.place, () => planElastic(resolveElastic(run, defaults, norms, found)));
  const study = studyElastic(plan);
  const exitCode = plan.epochs.every(({ fits }) => fits) ? 0 : 1;
  if (report === null) return { json: elasticJson(plan, study), text: elasticPlanText(plan, study), exitCode };
  const { file, write } = report;
  const located = report.findings.map((finding) => ({ ...finding, where: whereText(finding) }));
  await writeOut(file, elasticHtml(plan, located), write);
  return {
    json: { ...elasticJson(plan, study), written: file },
    text: `${elasticPlanText(plan, study)}\n\nWrote ${printable(file)}`,
    exitCode,
  };
}

function elasticPlanText(plan: ElasticPlan, study: ElasticStudy): string {
  const { request, epochs, balances, variants, parameters, reasons } = plan;
  const { cluster } = request;
  const section = (title: string, body: string) => `${title}\n${indented(body)}`;
  const heading = ['epoch', 'frozen', 'layout', 'micro-batches', 'steps', 'step', 'epoch time', 'memory', 'cache', 'units of the stages'];
  const compared = variants.map(({ id, totalMs, speedup }) => [
    say(variantNames[id]),
    column.duration(totalMs),
    `${column.number(speedup)} x`,
  ]);
  const gains = epochs.flatMap((epoch, index) => {
    const before = epochs[index - 1];
    if (before?.frozenLayers === epoch.frozenLayers && before.pipelineLength === epoch.pipelineLength) return [];
    const cells = balanceNames.map((name) => {
      const choice = balances[index]?.find((other) => other.name === name);
      return choice === undefined ? 'does not fit' : `${formatDuration(choice.pipelineMs)} (${choice.stageUnits.join(' ')})`;
    });
    return [[String(epoch.epoch), ...cells]];
  });
  return [
    [
      decisionText(plan, study),
      printable(
        `${request.title}: ${plural(request.model.spec.layers, 'layer')}, ${formatCount(parameters)} parameters, ${plural(request.datasetSize, 'sample')} an epoch on ${formatCount(cluster.nodes * cluster.gpusPerNode)} ${cluster.gpu.name}`,
      ),
    ].join('\n'),
    section('What each mechanism gains', table(compared)),
    section(`Epochs, freezing ${say(plan.freezing)}`, table([heading, ...epochs.map((epoch) => epochRow(plan, epoch))], [8, 9])),
    section('Pipeline part of a step by how the units are cut', table([['from epoch', ...balanceNames], ...gains])),
    section('Data and cache, per step', table(dataRows(plan), [5])),
    ...studySections(study).map(([title, rows]) => section(title, table(rows, [3]))),
    section('Why', reasons.map((reason) => printable(say(reason))).join('\n')),
    section('Times', printable(say(plan.cost.description))),
    section(
      'Assumed',
      table(
        reportedAssumptions(request.assumptions).map(({ key, value, reason }) => [
          printable(key),
          printable(value),
          printable(say(reason)),
        ]),
        [1, 2],
      ),
    ),
  ].join('\n\n');
}

/** What to do; the run as it was asked for, with its range; and what moves that most. */
function decisionText({ request, speedup, totalMs, variants }: ElasticPlan, { decision, range }: ElasticStudy): string {
  const { asked, best, headline, gain, freezing } = decision;
  const without = variants.find(({ id }) => id === 'none')?.totalMs ?? NaN;
  const rangeText = (values: readonly [number, number], format: (value: number) => string): string => {
    const [least, most] = [format(values[0]), format(values[1])];
    return least === most ? '' : ` (${least} to ${most})`;
  };
  const changes = [
    `elastic.pipelineLength=${best.pipelineLength}`,
    `elastic.batch=${best.batch}`,
    ...(best.schedule === asked.schedule ? [] : [`elastic.schedule=${best.schedule}`]),
  ];
  return [
    [
      ...[headline, gain, freezing].flatMap((each) => (each === null ? [] : [say(each)])),
      ...(request.throughputs.length > 0 ? ['As modelled: measured rates hold for the pipelines that were measured.'] : []),
    ].join(' '),
    `As set, pipelines of ${plural(request.firstLength, 'GPU')}: ${formatNumber(speedup)}x${rangeText(range.speedup, (x) => `${formatNumber(x)}x`)} over no freezing, ${formatDuration(totalMs)}${rangeText(range.totalMs, formatDuration)} instead of ${formatDuration(without)}${rangeText(range.withoutFreezingMs, formatDuration)}`,
    ...range.inputs.map(
      (input) =>
        `Depends on ${input.keys.join(' and ')}: ${outcomeTexts(input)
          .map((outcome) => say(outcome))
          .join('; ')}`,
    ),
    ...(best === asked ? [] : [`Next: the same command with ${changes.map((change) => `--set ${change}`).join(' ')}`]),
  ].join('\n');
}

/** What each pipeline is given after a change of pipelines, and the arithmetic of the cache. */
function dataRows({ request, epochs }: ElasticPlan): string[][] {
  const rows = epochs.flatMap((epoch, index): string[][] => {
    const before = epochs[index - 1];
    if (before?.frozenLayers === epoch.frozenLayers && before.pipelineLength === epoch.pipelineLength) return [];
    const { forwardMs, movedMs, fillMs, reason } = epoch.cache;
    const samples = `${formatCount(epoch.replicas)} x ${formatCount(Math.ceil(request.datasetSize / epoch.replicas))}`;
    return [[String(epoch.epoch), samples, ...[forwardMs, movedMs, fillMs].map((ms) => column.duration(ms)), printable(say(reason))]];
  });
  return [['from epoch', 'samples of the pipelines', 'computing', 'reading', 'filling', 'cache'], ...rows];
}

/** Those of PipeTransformer's sweep. */
const shownAlphas = [1 / 5, 1 / 4, 1 / 3, 2 / 5, 1 / 2];

/** The curves behind a plan, those with more than one point. */
function studySections({ alphas, lengths, microBatches }: ElasticStudy): [string, string[][]][] {
  const isMeasured = alphas.some(({ measuredAccuracy }) => measuredAccuracy !== null);
  const all: [string, string[][]][] = [
    [
      isMeasured ? 'By alpha, with the accuracy that PipeTransformer measured (91.21 % without freezing)' : 'By alpha',
      alphas
        .filter(({ alpha }) => shownAlphas.some((shown) => Math.abs(shown - alpha) < 1e-3))
        .map(({ alpha, speedup, totalMs, measuredAccuracy }) => [
          column.number(alpha),
          `${column.number(speedup)} x`,
          column.duration(totalMs),
          ...(measuredAccuracy === null ? [] : [`${measuredAccuracy.toFixed(2)} %`]),
        ]),
    ],
    [
      'By GPUs of a pipeline at the start',
      lengths.map(({ pipelineLength, speedup, totalMs, samplesPerSecond, fits }) => [
        String(pipelineLength),
        `${column.number(speedup)} x`,
        column.duration(totalMs),
        `${formatCount(samplesPerSecond)} samples/s at first${fits ? '' : ', does not fit'}`,
      ]),
    ],
    ['By micro-batches, samples/s', [['GPUs', 'frozen', 'fastest', 'K', '2 K', '4 K', '6 K'], ...microBatches.map(microBatchRow)]],
  ];
  return all.filter(([, rows]) => rows.length > 1);
}

/** The fastest number of micro-batches, and the rate with some multiples of the GPUs of a pipeline. */
function microBatchRow({ pipelineLength, frozenLayers, points }: MicroBatchCurve): string[] {
  const fastest = points.reduce((best, point) => (point.samplesPerSecond > best.samplesPerSecond ? point : best));
  const rateAt = (count: number): string => {
    const near = points.reduce((best, point) =>
      Math.abs(point.microBatches - count) < Math.abs(best.microBatches - count) ? point : best,
    );
    return formatCount(near.samplesPerSecond);
  };
  const rates = [1, 2, 4, 6].map((multiple) => rateAt(multiple * pipelineLength));
  return [String(pipelineLength), String(frozenLayers), `${fastest.microBatches}: ${formatCount(fastest.samplesPerSecond)}`, ...rates];
}

function epochRow({ request }: ElasticPlan, epoch: ElasticEpoch): string[] {
  const { cache } = epoch;
  const { fits, peakBytes, usableBytes } = epochVerdict(epoch.stageBytes, request.cluster.gpu);
  return [
    String(epoch.epoch),
    String(epoch.frozenLayers),
    epochLayout(epoch),
    String(epoch.microBatches),
    formatCount(epoch.steps),
    column.duration(epoch.stepMs),
    column.duration(epoch.epochMs),
    `${column.usage(peakBytes, usableBytes)}${fits ? '' : ', does not fit'}`,
    cache.state === 'none' ? '' : cache.state,
    epoch.stageUnits.join(' '),
  ];
}

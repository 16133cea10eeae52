import { balanceNames } from '../../core/formats/terapipe/elastic-names';
import type { Run } from '../../core/formats/run';
import { readNamedNorms } from '../../core/elastic/named-norms';
import { epochVerdict } from '../../core/elastic/memory';
import { planElastic } from '../../core/elastic/make-plan';
import type { ElasticEpoch, ElasticPlan, VariantId } from '../../core/elastic/plan';
import { resolveElastic } from '../../core/elastic/resolve';
import { placed } from '../../core/errors';
import { elasticJson } from '../../core/export/elastic-json';
import { column, formatCount, formatDuration, plural } from '../../core/format';
import { reportedAssumptions } from '../../core/spec/request';
import type { ResolveDefaults } from '../../core/resolve/defaults';
import { printable } from '../../core/text';
import { profilesFolder, readProfiles } from '../../profiler/store';
import type { Answer } from '../answer';
import { referencedInto } from '../read-config';
import { indented, table } from '../table';
import { say } from '../../core/sentence';

/**
 * `terapipe elastic`: a run that freezes layers, epoch by epoch. @throws ExpectedError as `resolveElastic`, `readNamedNorms` and
 * `planElastic`.
 */
export async function elasticAnswer(run: Run, defaults: ResolveDefaults, texts: Map<string, string>): Promise<Answer> {
  const { found } = await readProfiles(profilesFolder(run.file));
  const norms = await readNamedNorms(run, referencedInto(texts));
  // What concerns the run as a whole stands at its first key.
  const plan = placed(run.place, () => planElastic(resolveElastic(run, defaults, norms, found)));
  return { json: elasticJson(plan), text: textOf(plan), exitCode: plan.epochs.every(({ fits }) => fits) ? 0 : 1 };
}

const variantNames: Readonly<Record<VariantId, string>> = {
  none: 'no freezing',
  freezing: 'freezing only',
  pipe: '+ shorter pipelines (AutoPipe)',
  'pipe-cache': '+ shorter pipelines, cache (AutoCache)',
  'pipe-dp': '+ shorter pipelines, replicas (AutoDP)',
  all: 'all',
};

function textOf(plan: ElasticPlan): string {
  const { request, epochs, balances, variants, parameters, reasons } = plan;
  const { cluster } = request;
  const section = (title: string, body: string) => `${title}\n${indented(body)}`;
  const heading = [
    'epoch',
    'frozen',
    'pipelines',
    'micro-batches',
    'steps',
    'step',
    'epoch time',
    'memory',
    'cache',
    'units of the stages',
  ];
  const compared = variants.map(({ id, totalMs, speedup }) => [variantNames[id], column.duration(totalMs), `${column.number(speedup)} x`]);
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
    printable(
      `${request.title}: ${plural(request.model.spec.layers, 'layer')}, ${formatCount(parameters)} parameters, ${plural(request.datasetSize, 'sample')} an epoch on ${formatCount(cluster.nodes * cluster.gpusPerNode)} ${cluster.gpu.name}`,
    ),
    section(`Epochs, freezing ${say(plan.freezing)}`, table([heading, ...epochs.map((epoch) => rowOf(plan, epoch))], [8, 9])),
    section('Compared', table(compared)),
    section('Pipeline part of a step by how the units are cut', table([['from epoch', ...balanceNames], ...gains])),
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

function rowOf({ request }: ElasticPlan, epoch: ElasticEpoch): string[] {
  const { cache } = epoch;
  const { fits, peakBytes, usableBytes } = epochVerdict(epoch.stageBytes, request.cluster.gpu);
  return [
    String(epoch.epoch),
    String(epoch.frozenLayers),
    `${formatCount(epoch.replicas)} x ${plural(epoch.pipelineLength, 'GPU')}`,
    String(epoch.microBatches),
    formatCount(epoch.steps),
    column.duration(epoch.stepMs),
    column.duration(epoch.epochMs),
    `${column.bytesOf(peakBytes, usableBytes)}${fits ? '' : ', does not fit'}`,
    cache.state === 'none' ? '' : cache.state,
    epoch.stageUnits.join(' '),
  ];
}

import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { parse } from 'jsonc-parser';
import { placePipelines } from '../../src/features/elastic/core/auto-dp';
import { elasticContext, frozenForwardMs, modelledStep } from '../../src/features/elastic/core/context';
import { planElastic } from '../../src/features/elastic/core/make-plan';
import type { ElasticPlan, VariantId } from '../../src/features/elastic/core/plan';
import type { ElasticRequest } from '../../src/features/elastic/core/request';
import { resolveElastic } from '../../src/features/elastic/core/resolve';
import type { WrittenElastic } from '../../src/core/run/elastic';
import { loadConfig } from '../../src/core/config-files/load-config';
import { golden, once } from './data';

/** A figure of the PipeTransformer paper, and ours. */
export interface ElasticRow {
  readonly run: string;
  readonly what: string;
  readonly published: number;
  /** With the settings that are assumed as they are likeliest, and the least and the most over all that were tried. */
  readonly planned: number;
  readonly least: number;
  readonly most: number;
}

export const pipeTransformerSamples = path.join(import.meta.dirname, '../../media/samples/pipetransformer');

type Settings = Partial<WrittenElastic>;

interface PublishedRun {
  readonly name: string;
  /** A shipped terapipe.json. */
  readonly file: string;
  readonly known: string;
  readonly assumed: string;
  /** What is assumed: one of each group, the first the likeliest. */
  readonly groups: readonly (readonly Settings[])[];
  readonly speedup: number;
  /** Without freezing. */
  readonly minutes: number;
  readonly parts?: Readonly<Partial<Record<VariantId, number>>>;
  readonly byAlpha?: readonly { readonly alpha: number; readonly speedup: number; readonly accuracy: number }[];
}

interface MicroBatchStudy {
  readonly pipelineLength: number;
  readonly frozenLayers: number;
  readonly rates: readonly (readonly [microBatches: number, samplesPerSecond: number])[];
}

interface PublishedResults {
  readonly runs: readonly PublishedRun[];
  /** Its `model` and `config` are a config.json and a terapipe.json. */
  readonly cifar10Log: { readonly model: object; readonly config: object; readonly seconds: readonly number[] };
  readonly microBatches: { readonly studies: readonly MicroBatchStudy[] };
}

const results = (): PublishedResults => golden('pipetransformer-results') as PublishedResults;

export const publishedRuns = (): readonly PublishedRun[] => results().runs;

const partNames: Readonly<Partial<Record<VariantId, string>>> = {
  freezing: 'only freezing',
  'pipe-cache': 'shorter pipelines, cache',
  'pipe-dp': 'shorter pipelines, replicas',
};

interface TriedPlan {
  readonly settings: Settings;
  readonly plan: ElasticPlan;
}

/** Every figure of the paper, and ours. */
export const elasticRows = once(async (): Promise<readonly ElasticRow[]> => {
  const rows: ElasticRow[] = [];
  for (const run of publishedRuns()) {
    const tried = await plansOf(run);
    const likeliest = tried[0]?.settings.alpha;
    const rowOf = (what: string, published: number, plans: readonly TriedPlan[], value: (plan: ElasticPlan) => number): ElasticRow => {
      const values = plans.map(({ plan }) => value(plan));
      const [planned = NaN] = values;
      return { run: run.name, what, published, planned, least: Math.min(...values), most: Math.max(...values) };
    };
    // The sweep has rows of its own: the other figures of the run are those of its likeliest alpha.
    const ofRun = run.byAlpha === undefined ? tried : tried.filter(({ settings }) => settings.alpha === likeliest);
    rows.push(
      rowOf('all', run.speedup, ofRun, ({ speedup }) => speedup),
      ...Object.entries(run.parts ?? {}).map(([id, speedup]) =>
        rowOf(partNames[id as VariantId] ?? id, speedup, ofRun, ({ variants }) => variants.find((one) => one.id === id)?.speedup ?? NaN),
      ),
      ...(run.byAlpha ?? []).map(({ alpha, speedup, accuracy }) =>
        rowOf(
          `alpha ${fractionOf(alpha)} (measured accuracy ${accuracy.toFixed(1)} %)`,
          speedup,
          tried.filter(({ settings }) => settings.alpha === alpha),
          (plan) => plan.speedup,
        ),
      ),
      rowOf(
        'minutes without freezing',
        run.minutes,
        ofRun,
        ({ variants }) => (variants.find(({ id }) => id === 'none')?.totalMs ?? NaN) / 6e4,
      ),
    );
  }
  return rows;
});

/** The rows of the sweep over alpha, as measured and predicted. */
export function alphaSweep(rows: readonly ElasticRow[]): { readonly measured: number; readonly predicted: number }[] {
  return rows
    .filter(({ what }) => what.startsWith('alpha '))
    .map(({ published, planned }) => ({ measured: published, predicted: planned }));
}

/** An epoch of the CIFAR-10 log, seconds of training. */
export interface LoggedEpoch {
  readonly measured: number;
  readonly predicted: number;
  readonly isSteady: boolean;
}

/** Epochs of the CIFAR-10 log from the rate of its first one and what the repository states about frozen layers, loading and the cache. */
export const loggedEpochs = once(async (): Promise<readonly LoggedEpoch[]> => {
  const { cifar10Log } = results();
  const request = await requestOf(cifar10Log.model, cifar10Log.config);
  const { epochs } = planElastic({ ...request, cache: { ...request.cache, advances: false } });
  return epochs.map(({ trainMs, cache, frozenLayers }, index) => ({
    measured: cifar10Log.seconds[index] ?? NaN,
    predicted: trainMs / 1e3,
    isSteady: cache.state !== 'fill' || epochs[index - 1]?.frozenLayers === frozenLayers,
  }));
});

/** A number of micro-batches: the rate with it over that with the best, as measured and planned. */
export interface MicroBatchRow {
  readonly study: string;
  readonly microBatches: number;
  readonly measured: number;
  readonly predicted: number;
}

/** The studies of micro-batches by pipeline length. Absolute rates are calibrated elsewhere; what is compared is how they fall off. */
export const microBatchRows = once(async (): Promise<readonly MicroBatchRow[]> => {
  const [imageNet] = publishedRuns();
  if (imageNet === undefined) throw new Error('no run of ImageNet');
  const base = await requestOfSample(imageNet.file, { cache: true });
  return results().microBatches.studies.flatMap(({ pipelineLength, frozenLayers, rates }) => {
    const best = Math.max(...rates.map(([, rate]) => rate));
    const planned = rates.map(([count]) => 1 / pipelineStepMs({ ...base, microBatches: count }, pipelineLength, frozenLayers));
    const bestPlanned = Math.max(...planned);
    return rates.map(([microBatches, rate], index) => ({
      study: `K = ${pipelineLength}, ${frozenLayers} frozen, best ${best} images/s`,
      microBatches,
      measured: rate / best,
      predicted: (planned[index] ?? NaN) / bestPlanned,
    }));
  });
});

function pipelineStepMs(request: ElasticRequest, pipelineLength: number, frozenLayers: number): number {
  const context = elasticContext(request);
  const placement = placePipelines(request.cluster, request.firstLength, pipelineLength);
  const { balance, batch } = request;
  const { pipelineMs, allReduceMs, optimizerMs } = modelledStep(context, { ...placement, frozenLayers, balance, batch });
  return frozenForwardMs(context, 0, frozenLayers, batch) + pipelineMs + allReduceMs + optimizerMs;
}

async function plansOf({ file, groups }: PublishedRun): Promise<TriedPlan[]> {
  const plans = [];
  for (const settings of products(groups)) {
    const request = await requestOfSample(file, settings);
    plans.push({ settings, plan: planElastic(request) });
  }
  return plans;
}

/** One of each group, the first of all first. */
function products(groups: readonly (readonly Settings[])[]): Settings[] {
  return groups.reduce<Settings[]>((before, group) => before.flatMap((one) => group.map((other) => ({ ...one, ...other }))), [{}]);
}

/** A shipped file of the paper's runs with other settings of `elastic`. */
async function requestOfSample(file: string, settings: Settings): Promise<ElasticRequest> {
  const text = (name: string): Promise<string> => readFile(path.join(pipeTransformerSamples, name), 'utf8');
  const config = parse(await text(file), [], { allowTrailingComma: true }) as { readonly model: string; readonly elastic: Settings };
  return requestOf(JSON.parse(await text(config.model)) as object, { ...config, elastic: { ...config.elastic, ...settings } });
}

async function requestOf(model: object, config: object): Promise<ElasticRequest> {
  const read = (_: string, file: string) => Promise.resolve({ file, text: JSON.stringify(model) });
  const shell = (): Promise<never> => Promise.reject(new Error('a published run is not a script'));
  const { run } = await loadConfig('terapipe.json', JSON.stringify(config), { read, shell });
  if (run === null) throw new Error('there is nothing to plan');
  return resolveElastic(run, { gpu: 'V100-16GB', nodes: null, gpusPerNode: null }, null);
}

function fractionOf(alpha: number): string {
  const [of = 1] = [2, 3, 4, 5].filter((each) => Math.abs(each * alpha - Math.round(each * alpha)) < 1e-3);
  return `${Math.round(alpha * of)}/${of}`;
}

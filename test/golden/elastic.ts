import { planElastic } from '../../src/core/elastic/make-plan';
import type { ElasticPlan, VariantId } from '../../src/core/elastic/plan';
import { resolveElastic } from '../../src/core/elastic/resolve';
import { loadConfig } from '../../src/core/load/load-config';
import { golden, once } from './data';

/** A run of the PipeTransformer paper: what is known of it, what is assumed, and what was published. */
export interface ElasticRow {
  readonly run: string;
  readonly what: string;
  readonly published: number;
  /** With the settings that are assumed as they are likeliest, and the least and the most over all that were tried. */
  readonly planned: number;
  readonly least: number;
  readonly most: number;
}

interface PublishedRun {
  readonly name: string;
  readonly known: string;
  readonly assumed: string;
  /** As config.json and terapipe.json. */
  readonly model: object;
  readonly config: { readonly elastic: object };
  readonly epochs: readonly number[];
  readonly alphas: readonly number[];
  readonly likeliest: { readonly epochs: number; readonly alpha: number };
  readonly speedup: number;
  readonly parts?: Readonly<Partial<Record<VariantId, number>>>;
  readonly byAlpha?: readonly { readonly alpha: number; readonly speedup: number }[];
}

export const publishedRuns = (): readonly PublishedRun[] =>
  (golden('pipetransformer-results') as { readonly runs: readonly PublishedRun[] }).runs;

const partNames: Readonly<Partial<Record<VariantId, string>>> = {
  freezing: 'freezing alone',
  'pipe-cache': 'shorter pipelines, cache',
  'pipe-dp': 'shorter pipelines, replicas',
};

/** Every speed-up of the paper beside ours. */
export const elasticRows = once(async (): Promise<readonly ElasticRow[]> => {
  const rows: ElasticRow[] = [];
  for (const run of publishedRuns()) {
    const plans = await plansOf(run);
    const rowOf = (
      what: string,
      published: number,
      value: (plan: ElasticPlan) => number,
      wanted: (setting: Setting) => boolean,
    ): ElasticRow => {
      const values = plans.filter(({ setting }) => wanted(setting)).map(({ plan, setting }) => ({ setting, speedup: value(plan) }));
      const all = values.map(({ speedup }) => speedup);
      const likeliest = values.find(
        ({ setting }) => setting.epochs === run.likeliest.epochs && (setting.alpha === run.likeliest.alpha || !wanted(run.likeliest)),
      );
      return { run: run.name, what, published, planned: likeliest?.speedup ?? NaN, least: Math.min(...all), most: Math.max(...all) };
    };
    rows.push(
      rowOf(
        'all',
        run.speedup,
        ({ speedup }) => speedup,
        () => true,
      ),
    );
    for (const [id, speedup] of Object.entries(run.parts ?? {}))
      rows.push(
        rowOf(
          partNames[id as VariantId] ?? id,
          speedup,
          (plan) => plan.variants.find((one) => one.id === id)?.speedup ?? NaN,
          () => true,
        ),
      );
    for (const { alpha, speedup } of run.byAlpha ?? [])
      rows.push(
        rowOf(
          `alpha ${fractionOf(alpha)}`,
          speedup,
          (plan) => plan.speedup,
          (setting) => setting.alpha === alpha,
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

interface Setting {
  readonly epochs: number;
  readonly alpha: number;
}

async function plansOf({
  model,
  config,
  epochs,
  alphas,
}: PublishedRun): Promise<{ readonly setting: Setting; readonly plan: ElasticPlan }[]> {
  const plans = [];
  for (const each of epochs)
    for (const alpha of alphas) {
      const setting = { epochs: each, alpha };
      plans.push({ setting, plan: await planOf(model, { ...config, elastic: { ...config.elastic, ...setting } }) });
    }
  return plans;
}

async function planOf(model: object, config: object): Promise<ElasticPlan> {
  const read = (_: string, file: string) => Promise.resolve({ file, text: JSON.stringify(model) });
  const shell = (): Promise<never> => Promise.reject(new Error('a published run is no script'));
  const { run } = await loadConfig('terapipe.json', JSON.stringify(config), { read, shell });
  if (run === null) throw new Error('there is nothing to plan');
  return planElastic(resolveElastic(run, { gpu: 'V100-16GB', nodes: null, gpusPerNode: null }, null));
}

function fractionOf(alpha: number): string {
  const [of = 1] = [2, 3, 4, 5].filter((each) => Math.abs(each * alpha - Math.round(each * alpha)) < 1e-3);
  return `${Math.round(alpha * of)}/${of}`;
}

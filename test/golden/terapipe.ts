import { readFileSync } from 'node:fs';
import path from 'node:path';
import { scheduleOn } from '../../src/core/schedules/on-layout';
import { resolveRun } from '../../src/core/plan-request/resolve';
import { makePlan } from '../../src/core/planner/make-plan';
import { chosenCandidate, type Candidate, type Plan } from '../../src/core/planner/plan';
import { buildPipeline } from '../../src/core/planner/predict/pipeline';
import { predict } from '../../src/core/planner/predict/predict';
import type { PlanRequest } from '../../src/core/domain/request';
import type { Scheme } from '../../src/core/domain/scheme';
import { loadRun } from '../load-run';
import { goldenRows, once } from './data';
import type { Row } from './rows';

/**
 * One of TeraPipe's ten settings with the measured latencies of the paper's appendix, ms, and the slices it found (null: it cut the batch
 * only). `batch`: sequences of all replicas.
 */
export interface TeraPipeSetting {
  readonly setting: number;
  readonly model: string;
  readonly layers: number;
  readonly hidden: number;
  readonly batch: number;
  readonly data: number;
  readonly pipeline: number;
  readonly tensor: number;
  readonly whole_ms: number;
  readonly sliced_ms: number | null;
  readonly lengths: readonly number[] | null;
  /** Columns that were recalled, not read in the paper. */
  readonly recalled: readonly string[];
}

/** Table 1 and the appendix table of TeraPipe (arXiv 2102.07988). */
export const terapipeSettings = goldenRows('terapipe-settings') as readonly TeraPipeSetting[];

/** The samples of the settings, as a user runs them. */
export const terapipeSamples = path.join(import.meta.dirname, '../../media/samples/terapipe-paper');

/** A sample's request, as `terapipe plan FILE` resolves it. */
async function sampleRequest(name: string): Promise<PlanRequest> {
  const file = path.join(terapipeSamples, `${name}.terapipe.json`);
  const run = await loadRun(file, readFileSync(file, 'utf8'), () => Promise.reject(new Error(`${name} refers to another file`)));
  return resolveRun(run, { gpu: 'A100-80GB', nodes: 1, gpusPerNode: 8 });
}

const longer = [4096, 6144, 8192];
const requests = new Map<string, PlanRequest>();

/** Reads the samples: before anything else of this file is asked for. */
export async function readTeraPipeSamples(): Promise<void> {
  const names = [...terapipeSettings.map(({ setting }) => `setting-${setting}`), ...longer.map((tokens) => `setting-5-${tokens}`)];
  for (const name of names) requests.set(name, await sampleRequest(name));
}

/** The request of a setting's sample; of setting 5 also with longer sequences. */
export function terapipeRequest({ setting }: Pick<TeraPipeSetting, 'setting'>, sequenceLength = 2048): PlanRequest {
  const name = sequenceLength === 2048 ? `setting-${setting}` : `setting-${setting}-${sequenceLength}`;
  const found = requests.get(name);
  if (found === undefined) throw new Error(`the sample ${name} was not read`);
  return found;
}

/** Our prediction of a setting cut in the same slices for every sequence. */
export function predictTeraPipe(row: TeraPipeSetting, lengths: readonly number[]): Candidate {
  const scheme: Scheme = Array.from({ length: row.batch / row.data }, () => ({ batch: 1, tokens: lengths }));
  const wanted = terapipeRequest(row);
  const kind = scheduleOn('TeraPipe', wanted.layout);
  return predict(buildPipeline(wanted), { id: 'given', name: 'as published', kind, scheme, certificate: null });
}

/** A setting and our predictions of it, ms: whole sequences, and the paper's slices where it has some. */
export interface TeraPipeRow {
  readonly setting: TeraPipeSetting;
  readonly whole: Row;
  readonly sliced: Row | null;
}

export const terapipeRows = once((): readonly TeraPipeRow[] =>
  terapipeSettings.map((setting) => {
    const name = `(${setting.setting}) ${setting.model}`;
    const { whole_ms: wholeMs, sliced_ms: slicedMs, lengths } = setting;
    const of = (measured: number, slices: readonly number[]): Row => ({
      name,
      measured,
      predicted: predictTeraPipe(setting, slices).iterationMs,
    });
    return { setting, whole: of(wholeMs, [2048]), sliced: slicedMs === null || lengths === null ? null : of(slicedMs, lengths) };
  }),
);

/**
 * A setting's gain of token slices, as measured and as predicted with the paper's slices: `measured` and `predicted` times that whole
 * sequences take as long. 1 where the paper cut the batch only.
 */
export function speedUps(): readonly (Row & { readonly setting: number })[] {
  return terapipeRows().map(({ setting: { setting }, whole, sliced }) => ({
    name: whole.name,
    setting,
    measured: sliced === null ? 1 : whole.measured / sliced.measured,
    predicted: sliced === null ? 1 : whole.predicted / sliced.predicted,
  }));
}

const plans = terapipeSettings.map((setting) => once(() => makePlan(terapipeRequest(setting))));

/** Our own plan of a setting. */
export function terapipePlan({ setting }: TeraPipeSetting): Plan {
  const plan = plans[terapipeSettings.findIndex((row) => row.setting === setting)];
  if (plan === undefined) throw new Error(`no setting ${setting}`);
  return plan();
}

/** Step time of our own plan of each setting, ms, and what was measured with the slices of the paper. */
export function terapipePlanRows(): readonly Row[] {
  return terapipeRows().map(({ setting, whole, sliced }) => ({
    name: whole.name,
    measured: (sliced ?? whole).measured,
    predicted: chosenCandidate(terapipePlan(setting)).iterationMs,
  }));
}

/** A setting's gain of token slices, as measured and as our own plan has it. */
export function planSpeedUps(): readonly Row[] {
  const plans = terapipePlanRows();
  return terapipeRows().map(({ whole }, index) => ({
    name: whole.name,
    measured: whole.measured / (plans[index]?.measured ?? NaN),
    predicted: whole.predicted / (plans[index]?.predicted ?? NaN),
  }));
}

/** A measured latency of a setting with equal slices, ms: TeraPipe's Fig. 6 and its appendix table. */
interface UniformPoint {
  readonly setting: number;
  readonly slices: number;
  readonly measured_ms: number;
}

/** Settings cut into `slices` equal slices, as measured and as predicted, ms. */
export function uniformRows(): readonly (Row & { readonly setting: number; readonly slices: number })[] {
  return (goldenRows('terapipe-uniform') as readonly UniformPoint[]).map(({ setting, slices, measured_ms: measured }) => {
    const row = terapipeSettings.find((candidate) => candidate.setting === setting);
    if (row === undefined) throw new Error(`no setting ${setting}`);
    const lengths = Array.from({ length: slices }, () => 2048 / slices);
    return { name: `(${setting}) in ${slices}`, setting, slices, measured, predicted: predictTeraPipe(row, lengths).iterationMs };
  });
}

/** Measured latencies of setting 5 with longer sequences, ms: TeraPipe's Fig. 7 and its appendix table. `batch`: sequences of a step. */
interface LongerPoint {
  readonly tokens: number;
  readonly batch: number;
  readonly whole_ms: number;
  readonly sliced_ms: number;
}

/** Longer sequences, ms: whole as measured and as predicted, and the paper's slices as measured and as predicted. */
export const longerRows = once((): readonly { readonly tokens: number; readonly whole: Row; readonly sliced: Row }[] => {
  const setting = terapipeSettings.find((row) => row.setting === 5);
  if (setting === undefined) throw new Error('no setting 5');
  return (goldenRows('terapipe-lengths') as readonly LongerPoint[]).map(({ tokens, batch, whole_ms: wholeMs, sliced_ms: slicedMs }) => {
    const wanted = terapipeRequest(setting, tokens);
    if (wanted.training.globalBatch !== batch) throw new Error(`the sample of ${tokens} tokens has another batch than ${batch}`);
    const plan = makePlan(wanted);
    const name = `${tokens} tokens`;
    const whole = plan.candidates.find(({ id }) => id === 'whole');
    if (whole === undefined) throw new Error('whole sequences are not compared');
    const sliced = { name, measured: slicedMs, predicted: chosenCandidate(plan).iterationMs };
    return { tokens, whole: { name, measured: wholeMs, predicted: whole.iterationMs }, sliced };
  });
});

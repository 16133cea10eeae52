import { numberIn } from './lines';
import type { LogFormat, LogLines } from './run-log';
import { makeRunRecorder, type RunRecorder } from './recorder';

/*
 * Trainer of Transformers, and what builds on it (TRL, LLaMA-Factory, Axolotl): its progress bar (tqdm), the head and the summary of
 * trainer.py. The bar shows whole seconds, so steps are timed over stretches of it.
 */

const bar =
  /(?:^|\s)\d{1,3}%\|[^|]{0,400}\| ?(\d{1,12})\/(\d{1,12}) \[((?:\d{1,4}:)?\d{1,3}:\d\d)<[^\],]{1,20}, {0,3}[\d.]{1,12}(?:s\/it|it\/s)/;
const summary = /'train_runtime': '?([\d.]+)/;
/** Shorter stretches of the bar say little: it shows whole seconds. */
const stretchSeconds = 30;
/** Bars that are distinguished by their totals, and moments of one. */
const mostBars = 64;
const mostMoments = 1_000_000;

interface Moment {
  readonly step: number;
  readonly seconds: number;
}

export const trainerLog: LogFormat = {
  program: 'trainer',
  name: 'Trainer',
  stepLine: new RegExp(`${bar.source}|${summary.source}`),
  anyLine: /%\||'train_runtime'|Running training|batch size|Gradient Accumulation|optimization steps/,
  read: (): LogLines => {
    const run = makeRunRecorder('trainer');
    const bars = new Map<number, Moment[]>();
    let total: number | null = null;
    let runtime: number | null = null;
    return {
      push: (line) => {
        if (line.includes('Running training')) bars.clear();
        readBar(line, bars);
        total = numberIn(line, /Total optimization steps = ([\d,]+)/) ?? total;
        runtime = numberIn(line, summary) ?? runtime;
        readHead(line, run);
      },
      end: () => {
        const moments = total === null ? longest(bars) : (bars.get(total) ?? []);
        for (const step of stretches(moments)) run.step(step);
        if (moments.length < 2 && total !== null && runtime !== null) run.step({ iteration: null, ms: (runtime / total) * 1e3 });
        return run.end();
      },
    };
  },
};

function readBar(line: string, bars: Map<number, Moment[]>): void {
  const [, step, total, elapsed = ''] = line.includes('%|') ? (bar.exec(line) ?? []) : [];
  if (step === undefined) return;
  const moments = bars.get(Number(total)) ?? [];
  const seconds = elapsed.split(':').reduce((sum, part) => 60 * sum + Number(part), 0);
  const last = moments.at(-1);
  if (last !== undefined && Number(step) < last.step) moments.length = 0;
  if (moments.length < mostMoments && Number(step) > (moments.at(-1)?.step ?? -1)) moments.push({ step: Number(step), seconds });
  if (bars.has(Number(total)) || bars.size < mostBars) bars.set(Number(total), moments);
}

/** The bar that ran longest: others load weights and evaluate. */
function longest(bars: ReadonlyMap<number, readonly Moment[]>): readonly Moment[] {
  const momentsSpan = (moments: readonly Moment[]): number => (moments.at(-1)?.seconds ?? 0) - (moments[0]?.seconds ?? 0);
  return [...bars.values()].reduce<readonly Moment[]>((most, each) => (momentsSpan(each) > momentsSpan(most) ? each : most), []);
}

/** Mean steps of stretches of a bar, the rest with the last. */
function stretches(moments: readonly Moment[]): { readonly iteration: number; readonly ms: number }[] {
  const cuts: Moment[] = [];
  for (const moment of moments) {
    const from = cuts.at(-1);
    if (from === undefined || (moment.seconds - from.seconds >= stretchSeconds && moment.step > from.step)) cuts.push(moment);
  }
  const last = moments.at(-1);
  if (last !== undefined && cuts.length < 2 && last !== cuts[0]) cuts.push(last);
  return cuts.slice(1).flatMap((to, at) => {
    const from = cuts[at];
    const ms = from === undefined ? 0 : ((to.seconds - from.seconds) / (to.step - from.step)) * 1e3;
    return ms > 0 ? [{ iteration: to.step, ms }] : [];
  });
}

function readHead(line: string, run: RunRecorder): void {
  run.fact('training.microBatch', numberIn(line, /Instantaneous batch size per device = ([\d,]+)/));
  run.fact('training.globalBatch', numberIn(line, /Total train batch size \(w\. parallel[^)]{0,60}\) = ([\d,]+)/));
  run.fact('accumulation', numberIn(line, /Gradient Accumulation steps = ([\d,]+)/));
}
